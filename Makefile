# Everything a person or CI does with Berth; `make` alone lists it.
# Variables: STACK (a stack's name, an example's name or a path; default dev), PYTHON (3.11 or newer; default python3),
# CASES (recorded decisions of Kueue; default those that the tests use), SINCE (a revision; default main), STACKS (several,
# default STACK), POLICIES (files of rules that fleets are held to), RUN (id of a workflow run), WAIT (how long queues may take to run empty; default 30m).

SHELL := bash
.DEFAULT_GOAL := help
STACK ?= dev
STACKS ?= $(STACK)
SINCE ?= main
CASES ?= tests/berth/simulator/cases.yaml
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

# An example is read where it lies, unless it was copied to a stack file of its own.
EXAMPLE := stacks/examples/$(STACK).yaml
TARGET := $(if $(wildcard Pulumi.$(STACK).yaml),$(STACK),$(or $(wildcard $(EXAMPLE)),$(STACK)))

# The engine writes into the stack file it is given, so on a machine that has it an example is used as a copy.
COPY_EXAMPLE = @if command -v pulumi >/dev/null && [ ! -e "Pulumi.$(STACK).yaml" ] && [ -e "$(EXAMPLE)" ]; then \
  cp "$(EXAMPLE)" "Pulumi.$(STACK).yaml"; echo "copied $(EXAMPLE) to Pulumi.$(STACK).yaml"; fi

# What touches a real stack is told which, and needs the engine.
NAMED = @$(if $(filter file,$(origin STACK)),echo "say which stack: make $@ STACK=dev"; exit 2,true)
ENGINE = @command -v pulumi >/dev/null || { echo "make $@ needs the pulumi CLI on PATH; make preview does not"; exit 2; }

.PHONY: help preview up diff-comment post-comment preview-guarded deploy down drift test check static lint types format golden agreement e2e bench lock

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; do \
	  printf '  make %-15s %s\n' "$$name" "$$text"; done

preview: $(INSTALLED) ## show what STACK would create; needs no cloud account and no pulumi CLI
	$(COPY_EXAMPLE)
	$(BIN)/berth preview $(TARGET)

up: $(INSTALLED) ## check STACK, then deploy it with the real engine: make up STACK=dev
	$(NAMED)
	$(ENGINE)
	$(COPY_EXAMPLE)
	$(BIN)/berth check $(STACK)
	pulumi up --continue-on-error --stack $(STACK)

diff-comment: export BERTH := $(BIN)/berth
diff-comment: export STACKS := $(STACKS)
diff-comment: export SINCE := $(SINCE)
diff-comment preview-guarded: export POLICIES := $(POLICIES)
diff-comment: $(INSTALLED) ## say what STACKS change since SINCE, as Markdown in build/comment.md
	@scripts/diff-comment

post-comment: ## post what the workflow run RUN said of its pull request, as a comment on it
	@$(PYTHON) scripts/comment.py "$${RUN:?say which run: make post-comment RUN=ID}"

preview-guarded: $(INSTALLED) ## ask the engine what it would do with STACK, and hold it to the guard
	$(NAMED)
	$(ENGINE)
	@BERTH=$(BIN)/berth STACK="$(STACK)" scripts/preview-guarded

deploy: preview-guarded ## deploy STACK if the guard lets it, and ask nobody
	pulumi up --yes --skip-preview --continue-on-error --stack "$(STACK)"

down: $(INSTALLED) ## drain every queue of STACK, wait, then destroy it; UNINSTALL="kueue jobset" takes the controllers too
	$(NAMED)
	$(ENGINE)
	@BERTH=$(BIN)/berth STACK="$(STACK)" scripts/down

drift: $(INSTALLED) ## fail if what stands is not what STACK says
	$(NAMED)
	$(ENGINE)
	pulumi preview --refresh --expect-no-changes --diff --stack "$(STACK)"

test: $(INSTALLED) ## run the tests
	$(BIN)/python -m pytest -q -n auto --dist worksteal

check: static test ## everything CI checks: format, lint, types, tests

static: lint types ## the part of check that runs nothing: format, lint, types

lint: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(INSTALLED)
	$(BIN)/basedpyright --pythonpath $(BIN)/python

format: $(INSTALLED) ## format the code and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

golden: $(INSTALLED) ## write tests/golden anew; read the difference before you commit it
	BERTH_GOLDEN=write $(BIN)/python -m pytest -q -k golden

agreement: $(INSTALLED) ## hold berth admit to recorded decisions of Kueue: make agreement CASES=FILE
	@$(BIN)/berth admit --cases "$(CASES)"

e2e: $(INSTALLED) ## deploy every stack's queueing part onto the cluster that KUBECONFIG leads to, with jobs, and take it all back
	$(ENGINE)
	BERTH_E2E=1 $(BIN)/python -m pytest -rA -q tests/e2e -k for_real

bench: $(INSTALLED) ## time a large fleet, and a busy one
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench_admission

lock: ## pin requirements*.txt anew from the ranges in pyproject.toml
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/pip install -q --no-compile .
	build/lock/bin/pip freeze --exclude berth > build/lock/runtime.txt
	build/lock/bin/pip install -q --no-compile '.[dev]'
	build/lock/bin/pip freeze --all --exclude berth --exclude pip > build/lock/all.txt
	@{ echo "# What Berth runs on, pinned by 'make lock' from the ranges in pyproject.toml."; \
	  cat build/lock/runtime.txt; } > requirements.txt
	@{ echo "# What its developers need besides, pinned by 'make lock'."; echo "-r requirements.txt"; \
	  grep -vxFf build/lock/runtime.txt build/lock/all.txt; } > requirements-dev.txt

# Made once, and again only when a pin or pyproject.toml changed. Python compiles what is imported; pip would compile all
# of pulumi_gcp, which is most of the time an installation takes.
$(INSTALLED): requirements.txt requirements-dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Berth needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1); name another: make PYTHON=python3.12"; \
	  exit 2; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --no-compile -r requirements-dev.txt
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	@touch $@
