# Commands for people and CI. `make` alone lists them.
# Variables:
#   STACK      stack name, example name or path (default dev)
#   STACKS     several stacks (default STACK)
#   SINCE      git revision to compare with (default main)
#   POLICIES   policy files and folders to apply; a target that does not check a stack refuses it
#   RUN        ID of a workflow run
#   WAIT       how long `make down` waits for drained queues (default 30m)
#   CHANGE     checkout of a pull request, inside this folder
#   CASES      recorded Kueue decisions (default: those of the tests)
#   PIN        kueue or jobset, whose newer release VERSION is prepared from the git clones in CLONES
#   PYTHON     Python 3.11 or later (default python3)

SHELL := bash
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

# Values are text, for make and for the shell: `override NAME := $(value NAME)` keeps make from expanding what a caller
# passes, and recipes read the value from the environment, in quotes.
STACK_IS_NAMED := $(filter-out undefined,$(origin STACK))
STACK ?= dev
SINCE ?= main
CASES ?= tests/berth/simulator/cases.yaml
VALUES := STACK STACKS SINCE POLICIES RUN WAIT UNINSTALL CASES CHANGE PIN VERSION CLONES
$(foreach name,$(VALUES),$(eval override $(name) := $$(value $(name))))
override STACKS := $(or $(STACKS),$(STACK))
export $(VALUES)
export BERTH := $(BIN)/berth

# An example is read from stacks/examples, unless it was copied to a stack file of its own.
EXAMPLE = example=stacks/examples/$$STACK.yaml file=Pulumi.$$STACK.yaml

# The Pulumi engine writes into the stack file, so where a Pulumi CLI is installed an example is copied first.
COPY_EXAMPLE = @$(EXAMPLE); if command -v pulumi >/dev/null && [ ! -e "$$file" ] && [ -e "$$example" ]; then \
  cp "$$example" "$$file"; echo "copied $$example to $$file"; fi

# Targets that change a real stack need its name and the Pulumi CLI.
NAMED = @$(if $(STACK_IS_NAMED),true,echo "STACK is missing; write make $@ STACK=dev"; exit 2)
ENGINE = @command -v pulumi >/dev/null || { echo "make $@ needs the pulumi CLI on PATH; make preview does not"; exit 2; }

# What a policy refuses must not happen because a target does not look.
TAKES_POLICIES := preview up diff-comment preview-guarded preview-change deploy
IGNORES_POLICIES := $(if $(strip $(POLICIES)),$(filter-out $(TAKES_POLICIES),$(or $(MAKECMDGOALS),help)))
$(if $(IGNORES_POLICIES),$(error make $(IGNORES_POLICIES) does not use POLICIES; run it without, or make $(TAKES_POLICIES)))

.PHONY: help preview up diff-comment post-comment preview-guarded preview-change deploy down drift test check static lint types format golden facts dates agreement e2e bench pin lock

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; do \
	  printf '  make %-15s %s\n' "$$name" "$$text"; done

preview: $(INSTALLED) ## print what STACK would create; needs no cloud account and no pulumi CLI
	$(COPY_EXAMPLE)
	@$(EXAMPLE); if [ -e "$$file" ] || [ ! -e "$$example" ]; then example=$$STACK; fi; \
	  if [ -n "$$POLICIES" ]; then scripts/check "$$example" || exit; fi; \
	  echo "Running the program for $$example on an in-process engine…" >&2; "$$BERTH" preview "$$example"

up: $(INSTALLED) ## check STACK, then deploy it with pulumi up: make up STACK=dev
	$(NAMED)
	$(ENGINE)
	$(COPY_EXAMPLE)
	scripts/check "$$STACK"
	pulumi up --continue-on-error --stack "$$STACK"

diff-comment: $(INSTALLED) ## write what changed in STACKS since SINCE, as Markdown, to build/comment.md
	@scripts/diff-comment

post-comment: ## post the result of the workflow run RUN as a comment on its pull request
	@$(PYTHON) scripts/comment.py "$${RUN:?is missing; write make post-comment RUN=ID}"

preview-guarded: $(INSTALLED) ## run pulumi preview of STACK and apply the guard to it
	$(NAMED)
	$(ENGINE)
	@scripts/preview-guarded

preview-change: $(INSTALLED) ## preview-guarded of STACK with the stack and team files of the checkout CHANGE, which is deleted
	$(NAMED)
	$(ENGINE)
	@$(BIN)/python scripts/take_stack_files.py
	@scripts/preview-guarded

deploy: preview-guarded ## deploy STACK without a prompt, if the guard allows it
	pulumi up --yes --skip-preview --continue-on-error --stack "$$STACK"

down: $(INSTALLED) ## drain every queue of STACK, wait, then destroy it; UNINSTALL="kueue jobset" also uninstalls controllers
	$(NAMED)
	$(ENGINE)
	@scripts/down

drift: $(INSTALLED) ## fail if the deployed resources differ from STACK
	$(NAMED)
	$(ENGINE)
	pulumi preview --refresh --expect-no-changes --diff --stack "$$STACK"

# Tests start as at a prompt: a script under test would take an exported value for its caller's choice.
test: $(INSTALLED) ## run the tests
	env $(addprefix -u ,$(VALUES) BERTH) $(BIN)/python -m pytest -q -n auto --dist worksteal

check: static test ## everything CI checks: format, lint, types, tests

static: lint types ## everything CI checks except tests: format, lint, types

lint: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(INSTALLED)
	$(BIN)/basedpyright --pythonpath $(BIN)/python

format: $(INSTALLED) ## format the code and fix what lint can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: $(INSTALLED) ## rewrite golden files and generated docs; read the difference before you commit it
	BERTH_GOLDEN=write $(BIN)/python -m pytest -q -k golden

facts: $(INSTALLED) ## fail if a table of facts is older than its life, and say what to read again
	$(BIN)/python scripts/facts.py

dates: $(INSTALLED) ## move the dates of the examples and the day of the tests on to today; run make golden afterwards
	$(BIN)/python scripts/dates.py

agreement: $(INSTALLED) ## compare berth admit with recorded decisions of Kueue: make agreement CASES=FILE
	@"$$BERTH" admit --cases "$$CASES"

e2e: $(INSTALLED) ## deploy the queues of every stack to the cluster in KUBECONFIG, run jobs, and delete everything
	$(ENGINE)
	BERTH_E2E=1 $(BIN)/python -m pytest -rA -q tests/e2e -k for_real

bench: $(INSTALLED) ## measure time and memory of a large fleet and of a simulation with many jobs
	$(BIN)/python -m tests.bench.check_and_render
	$(BIN)/python -m tests.bench.admission
	$(BIN)/python -m tests.bench.simulate
	$(BIN)/python -m tests.bench.assertion_mutations

pin: $(INSTALLED) ## prepare a newer pin: make pin PIN=kueue VERSION=0.20.6 CLONES=folder of git clones
	$(BIN)/python scripts/pin.py "$$PIN" "$$VERSION" "$$CLONES"

lock: ## rewrite requirements*.txt from the ranges in pyproject.toml
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install -q --no-compile .
	build/lock/bin/pip freeze --exclude berth > build/lock/runtime.txt
	build/lock/bin/pip install -q --no-compile '.[dev]'
	build/lock/bin/pip freeze --all --exclude berth --exclude pip > build/lock/all.txt
	@{ echo "# Runtime dependencies, pinned by 'make lock' from the ranges in pyproject.toml."; \
	  cat build/lock/runtime.txt; } > requirements.txt
	@{ echo "# Development dependencies, pinned by 'make lock'."; echo "-r requirements.txt"; \
	  grep -vxFf build/lock/runtime.txt build/lock/all.txt; } > requirements-dev.txt

PACKAGES = $(shell cat requirements.txt requirements-dev.txt | grep -c ==)
SHOW_PROGRESS = /^Collecting/ { if (++n % 10 == 0) { printf "  %d of %d packages fetched\n", n, total; fflush() } } \
  /^Installing collected/ { print "  all fetched, unpacking them"; fflush() }

# Runs again only when a pin or pyproject.toml changed. --no-compile: compiling all of pulumi_gcp would take most of the
# installation time, and Python compiles what it imports.
$(INSTALLED): requirements.txt requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Berth needs Python 3.11 or later, but $(PYTHON) is $$($(PYTHON) -V 2>&1); write make PYTHON=python3.12"; \
	  exit 2; }
	@echo "Installing $(PACKAGES) Python packages in .venv (about 800 MB, some minutes); the next make installs nothing."
	@$(PYTHON) -m venv .venv
	@set -o pipefail; PYTHONUNBUFFERED=1 $(BIN)/pip install --disable-pip-version-check --no-compile --progress-bar off \
	  -r requirements-dev.txt | awk -v total=$(PACKAGES) '$(SHOW_PROGRESS)'
	@echo "  installing Berth itself"
	@$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
