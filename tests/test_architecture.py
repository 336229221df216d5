"""The arrows of the design point one way: imports are read from the source, and verbs run with Pulumi out of reach."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from berth.cli import VERBS
from tests.stack_files import ROOT

FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for top in ("berth", "components", "packages", "stacks")
    for file in sorted(ROOT.glob(f"{top}/**/*.py"))
    if not file.is_relative_to(ROOT / "stacks" / "jobs")
} | {"__main__": ROOT / "__main__.py"}
"""Module name to file. The sample jobs in stacks/jobs are code that runs in pods."""

PULUMI = {"pulumi", "pulumi_gcp", "pulumi_kubernetes"}
PAGE = ROOT / "docs" / "architecture.md"
SHORTHANDS = {
    "google": PULUMI,
    "alibaba": {"pulumi", "pulumi_alicloud", "pulumi_kubernetes"},
    "base": {
        "berth.plan",
        "berth.clock",
        "berth.calendar",
        "berth.names",
        "berth.manifests",
        "berth.diagnostics",
        "berth.text",
    },
    "component": PULUMI
    | {
        "berth.plan",
        "berth.names",
        "berth.manifests",
        "berth.registration",
        "berth.google",
        "berth.parts",
        "components.kubernetes",
        "components.options",
        "components.arguments",
    },
}
"""Words of the page's table that stand for several rooms or packages."""


def _module(cell: str) -> str:
    return cell.removesuffix(".py").replace("/", ".")


def _rooms() -> dict[str, set[str]]:
    """The table of packages in docs/architecture.md: package → what it may import."""
    rows = re.findall(r"(?m)^\| `([^`]+)` \| [^|]+ \|(.*)\|$", PAGE.read_text(encoding="utf-8"))
    named = {_module(room): re.findall(r"`([^`]+)`", cell) for room, cell in rows}
    return {
        room: {name for word in words for name in SHORTHANDS.get(word, {_module(word)})}
        for room, words in named.items()
    }


ROOMS = _rooms()
"""What a room may import besides the standard library, msgspec (frozen values) and itself."""

tree = cache(lambda module: ast.parse(FILES[module].read_text(encoding="utf-8")))
nodes = cache(lambda module: tuple(ast.walk(tree(module))))
"""Every node of a module's syntax tree: walked once, and read by several tests."""


@cache
def imports(module: str) -> tuple[str, ...]:
    """The modules that a module imports, at its top, in functions, or for types only."""
    return tuple(_imports(module))


def _imports(module: str) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = _source(module, node)
            inside = {f"{source}.{alias.name}" for alias in node.names} & FILES.keys()
            yield from inside or {source}


def _source(module: str, node: ast.ImportFrom) -> str:
    """The module that is imported from. Components use dots: where they are installed, they are `berth_components`."""
    if not module.startswith("components."):
        assert node.level == 0, f"{module} imports by dots"
        return str(node.module)
    assert node.level or not str(node.module).startswith("components"), f"{module} imports its own package by name"
    above = module.split(".")[: -node.level] if node.level else []
    return ".".join([*above, str(node.module)])


def within(module: str, room: str) -> bool:
    """Return whether a module is in a package (a module or a folder)."""
    return module == room or module.startswith(f"{room}.")


def room_of(module: str) -> str:
    """The row of the table for a module."""
    return max((room for room in ROOMS if within(module, room)), key=len, default="")


def allowed(module: str, imported: str) -> bool:
    """Whether the table lets a module import another."""
    if imported.split(".")[0] in sys.stdlib_module_names | {"msgspec"}:
        return True
    room = room_of(module)
    return any(within(imported, each) for each in {room, *ROOMS[room]})


def test_a_module_imports_only_what_its_package_may() -> None:
    """A new package needs a row in the table of docs/architecture.md."""
    tops = {"berth", "components", "stacks"}
    assert {module: imports(module) for module in tops if imports(module)} == {}
    assert [module for module in FILES.keys() - tops if not room_of(module)] == [], "no row in the table"
    refused = {
        module: [each for each in imports(module) if not allowed(module, each)] for module in FILES.keys() - tops
    }
    assert {module: names for module, names in refused.items() if names} == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports go one way inside a package too."""
    graph = {module: {each for each in imports(module) if each in FILES} for module in FILES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_every_row_of_the_table_is_a_package() -> None:
    assert [room for room in ROOMS if not any(within(module, room) for module in FILES)] == []
    assert len(ROOMS) > 30


def test_only_the_engine_knows_pulumi_inside_berth() -> None:
    knowing = {m for m in FILES if m.startswith("berth.") and any(i.split(".")[0] in PULUMI for i in imports(m))}
    assert {room_of(module) for module in knowing} == {"berth.engine"}


NETWORK = {
    "urllib.request", "urllib.error", "http.client", "socket", "ssl", "ftplib", "smtplib", "telnetlib", "xmlrpc.client",
 "requests", "httpx", "aiohttp", "urllib3", "websockets", "webbrowser",
}  # fmt: skip
"""Modules that open a connection."""


def test_only_the_opener_opens_a_url() -> None:
    """It refuses redirects to other hosts, tokens without encryption and endless answers, for every caller."""
    assert {m for m in FILES if any(within(i, each) for i in imports(m) for each in NETWORK)} == {"berth.opener"}
    scripts = [
        file
        for file in (ROOT / "scripts").glob("*.py")
        if re.search(r"\b(urllib\.request|http\.client|socket)\b", file.read_text(encoding="utf-8"))
    ]
    assert scripts == []


def test_berth_never_imports_components_or_stacks() -> None:
    """Imports run from the program to the stacks, the components and berth, and never back."""
    order = ["__main__", "packages", "stacks", "components", "berth"]
    tops = {m: {i.split(".")[0] for i in imports(m)} & set(order) for m in FILES}
    back = [(m, t) for m, ts in tops.items() for t in ts if order.index(t) < order.index(m.split(".")[0])]
    assert back == []


OF_BACKENDS = re.compile(
    r"(?<![A-Za-z])(ack|Ack|ACK)(?![a-z])|[Aa]libaba|alicloud|aliyun|[Tt]eam_?[Ss]tack|team's own stack"
)
"""Words that name a fleet on ACK, or a team's own stack."""
OWN_OF_TEAM_STACKS = {
    "berth.diff.workloads",
    "berth.manifests.workloads.objects",
    "berth.outputs",
    "berth.report.team",
    "components.workloads.files",
    "packages.berth.team_workloads",
    "stacks.team",
}
"""Modules of a team's own stack beside those that have it in their name: its objects, its component, its program."""
NAME_BACKENDS = {
    "berth.cli.init": "help of options that only some kinds of stacks have",
    "berth.cli.workload": "help of an argument that means something else on ACK",
    "berth.resource": "a row for each kind of cloud resource",
    "berth.rules.backends": "a column for each backend, in the table of what it can express",
    "berth.spec.messages.examples": "a row for each key of the stack file",
    "berth.spec.schema": "one JSON Schema for stack files of every kind",
}
"""Modules that name a backend without belonging to one, and why."""


def names_and_texts(module: str) -> Iterator[str]:
    """Every name in the code of a module, and every text that is not a docstring."""
    texts = {id(n.value) for n in nodes(module) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}
    yield from imports(module)
    for node in nodes(module):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in texts:
                yield text
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.alias(name=name):
                yield name
            case _:
                pass


def test_only_the_table_of_backends_and_their_own_modules_name_a_backend() -> None:
    """Who has a stack asks the table for its backend, so that a new kind of stack changes no verb."""
    own = {m for m in FILES if {"ack", "alibaba", "team_stack"} & set(m.split(".")) or within(m, "berth.backends")}
    others = FILES.keys() - own - OWN_OF_TEAM_STACKS
    naming = {m: found for m in others if (found := sorted({t for t in names_and_texts(m) if OF_BACKENDS.search(t)}))}
    assert {module: names for module, names in naming.items() if module not in NAME_BACKENDS} == {}
    assert NAME_BACKENDS.keys() - naming.keys() == set(), "a module of the list names none any more"
    assert len(own) > 20


def test_backends_are_reached_through_the_table() -> None:
    """Only the component package, whose components are of one kind each, imports a backend itself."""
    shared = {"berth.backends", "berth.backends.interface", "berth.backends.table"}
    backends = {m for m in FILES if within(m, "berth.backends")} - shared
    importing = {m for m in FILES if m not in backends and backends & set(imports(m))}
    assert importing == {"packages.berth.team_workloads"}


def test_yaml_is_read_by_one_loader() -> None:
    """The one in C; `yaml.safe_load` takes ten times as long."""
    calls = {
        f"{module}:{node.lineno}"
        for module in FILES
        for node in nodes(module)
        if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("yaml.") and "load" in node.attr.lower()
    }
    assert {call.partition(":")[0] for call in calls} == {"berth.yaml_loader"}, sorted(calls)


def test_package_files_under_components_are_empty_of_imports() -> None:
    """A program of one's own that uses one component loads that one."""
    packages = [m for m, file in FILES.items() if file.name == "__init__.py" and m.startswith("components")]
    assert [m for m in packages if list(imports(m))] == []


def test_no_module_has_a_catch_all_name() -> None:
    words = {"utils", "util", "helpers", "helper", "common", "manager", "misc"}
    assert [module for module in FILES if words & set(module.split("."))] == []


def test_no_two_public_classes_have_one_name() -> None:
    """One word, one meaning: a reader who meets a class name knows which class it is.

    The package's components have the names under which programs know them, also where they wrap one component.
    """
    places: dict[str, list[str]] = {}
    for module in (each for each in FILES if not each.startswith("packages.")):
        for node in tree(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_a_folder_has_at_most_20_modules() -> None:
    folders: dict[Path, int] = {}
    for file in (*FILES.values(), *(ROOT / "tests").rglob("*.py")):
        folders[file.parent] = folders.get(file.parent, 0) + 1
    assert {str(folder): number for folder, number in folders.items() if number > 20} == {}


def test_a_module_is_short_enough_to_read() -> None:
    lengths = {module: len(file.read_text(encoding="utf-8").splitlines()) for module, file in FILES.items()}
    assert {module: lines for module, lines in lengths.items() if lines > 300} == {}


def test_the_program_has_no_decisions() -> None:
    body = tree("__main__").body
    lines = {n.lineno for part in body[1:] for n in ast.walk(part) if isinstance(n, ast.expr | ast.stmt)}
    assert len(lines) < 15
    assert not [n for n in ast.walk(tree("__main__")) if isinstance(n, ast.If | ast.IfExp | ast.Match | ast.Try)]


# --- components -------------------------------------------------------------------------------------------------------


def component_classes() -> list[tuple[str, ast.ClassDef]]:
    """Every class that is a component, with its module."""
    return [
        (module, node)
        for module in FILES
        if module.startswith("components.") and "ComponentResource" in FILES[module].read_text(encoding="utf-8")
        for node in nodes(module)
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).endswith("ComponentResource") for base in node.bases)
    ]


components = pytest.mark.parametrize(("module", "node"), component_classes(), ids=lambda v: getattr(v, "name", ""))


def initialiser(node: ast.ClassDef) -> ast.FunctionDef:
    """The class's `__init__`."""
    return next(n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")


@components
def test_a_component_registers_its_outputs_last(module: str, node: ast.ClassDef) -> None:
    """Without it the engine never knows that the component is complete."""
    assert ast.unparse(initialiser(node).body[-1]).startswith("self.register_outputs(")


@components
def test_a_type_token_has_folder_and_file(module: str, node: ast.ClassDef) -> None:
    """berth:gke:NodePool lives in components/gke/node_pool.py: who reads a tree knows where to look."""
    top, folder, file = module.split(".")
    first = ast.unparse(initialiser(node).body[0])
    assert first == f"super().__init__('berth:{folder}:{node.name}', name, None, opts)"
    assert (top, file) == ("components", re.sub(r"(?<!^)(?=[A-Z])", "_", node.name).lower())


@components
def test_a_component_is_alone_in_its_file(module: str, node: ast.ClassDef) -> None:
    assert [n.name for n in tree(module).body if isinstance(n, ast.ClassDef)] == [node.name]


@components
def test_providers_arrive_through_the_options(module: str, node: ast.ClassDef) -> None:
    """As is usual in Pulumi; an argument of its own would be needed where a component uses two of one kind."""
    arguments = initialiser(node).args
    parameters = {each.arg: ast.unparse(each.annotation or each) for each in (*arguments.args, *arguments.kwonlyargs)}
    assert [name for name, kind in parameters.items() if "provider" in name or "Provider" in kind] == []
    assert list(parameters)[-1] == "opts"


@components
def test_names_of_children_start_with_the_name_of_the_component(module: str, node: ast.ClassDef) -> None:
    """So that a component can be used twice in one program. Every constructor of a resource in the module is read."""
    names = [
        (ast.unparse(call), starts_with_name(call.args[0], function))
        for function in ast.walk(tree(module))
        if isinstance(function, ast.FunctionDef)
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and constructs_a_resource(call)
    ]
    assert names
    assert [call for call, starts in names if not starts] == []


def constructs_a_resource(call: ast.Call) -> bool:
    """Whether a call has a resource's options: `gcp.compute.Network(..., opts=...)`, not `super().__init__`."""
    is_class = re.search(r"(^|\.)[A-Z]\w*$", ast.unparse(call.func)) is not None
    return is_class and any(keyword.arg == "opts" for keyword in call.keywords)


def starts_with_name(value: ast.expr, function: ast.FunctionDef) -> bool:
    """Whether a text starts with the parameter `name` of its function, through variables and helper functions too.

    In a constructor a dash or more has to follow. A helper takes the name that its own child starts with.
    """
    match value:
        case ast.JoinedStr(values=[ast.FormattedValue(value=ast.Name(id="name")), ast.Constant(value=str(text)), *_]):
            return text.startswith("-")
        case ast.JoinedStr(values=[ast.FormattedValue(value=first), *_]):
            return not is_own_name(first, function) and starts_with_name(first, function)
        case ast.IfExp(body=body):
            return starts_with_name(body, function)
        case ast.Call(func=ast.Name(id="_resource_name"), args=[ast.Name(id="name"), *_]):
            return True
        case ast.Name(id=name):
            return (
                not is_own_name(value, function)
                if name == "name"
                else any(
                    starts_with_name(each.value, function)
                    for each in ast.walk(function)
                    if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == name
                )
            )
        case _:
            return False


def is_own_name(value: ast.expr, function: ast.FunctionDef) -> bool:
    """Whether it is the component's own name, as it came: no child may be called just that."""
    return function.name == "__init__" and ast.unparse(value) == "name"


def test_a_child_without_the_name_prefix_is_reported() -> None:
    def starts(code: str, function: str = "__init__") -> bool:
        body = ast.parse(
            f"def {function}(self, name, plan):\n    names = f'{{name}}-' if plan else plan\n    {code}"
        ).body[0]
        assert isinstance(body, ast.FunctionDef)
        call = next(n for n in ast.walk(body) if isinstance(n, ast.Call) and constructs_a_resource(n))
        return starts_with_name(call.args[0], body)

    assert starts("Network(f'{name}-vpc', opts=1)") and starts("Network(f'{names}{plan.key}', opts=1)")
    assert starts("Network(name, opts=1)", "_network")
    refused = ("'vpc'", "name", "plan.key", "f'{plan.key}-vpc'", "f'{name}vpc'", "f'{plan}{name}'")
    assert [code for code in refused if starts(f"Network({code}, opts=1)")] == []


def test_a_component_reads_no_config_and_no_stack() -> None:
    """No config, no stack's name, no other stack's outputs: what it needs is in its plan or an argument."""
    refused = {"Config", "get_stack", "get_project", "StackReference", "get_organization"}
    modules = [module for module in FILES if module.startswith("components")]
    request = {m: refused & {n.attr for n in nodes(m) if isinstance(n, ast.Attribute)} for m in modules}
    assert len(request) > 20
    assert {module: names for module, names in request.items() if names} == {}


# --- at run time ------------------------------------------------------------------------------------------------------

REFUSE_PULUMI = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0].startswith(("pulumi", "grpc", "google")):
            sys.exit(f"{name} was imported")
sys.meta_path.insert(0, Refuse())
from berth.cli import run_command
"""
"""The head of a program in which every import of Pulumi ends the process with a line that names the module."""
WITHOUT_PULUMI = f"{REFUSE_PULUMI}run_command()\n"
EACH_WITHOUT_PULUMI = f"""{REFUSE_PULUMI}
import contextlib, io, json
def run(words):
    sys.argv = ["berth", *words.split()]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            status = run_command()
        except SystemExit as exit:
            status = exit.code
    return [status, bool(out.getvalue()), err.getvalue()]
print(json.dumps({{words: run(words) for words in sys.argv[1:]}}))
"""
PURE = (
    "check dev",
    "plan dev",
    "plan dev --json",
    "render dev",
    "report dev",
    "graph dev",
    "graph dev --format svg",
    "workload dev vision train",
    "admit stacks/scenarios/multislice.yaml",
    "schema",
)


def test_a_pure_verb_never_loads_pulumi() -> None:
    """It takes seconds to load, and a verb that answers at once is a verb that people use.

    One process runs all: a module that is refused to the first verb that asks for it is refused to the next one too.
    The last is the proof: `preview` loads Pulumi, and is refused.
    """
    command = [sys.executable, "-c", EACH_WITHOUT_PULUMI, *PURE, "preview dev"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    results = json.loads(done.stdout)
    assert "pulumi was imported" in results.pop("preview dev")[0]
    assert results == {words: [0, True, ""] for words in PURE}


_OF_OTHERS = (
    *("berth.manifests.ack", "berth.plan.ack", "berth.plan.team_stack", "jinja2", "berth.simulator"),
    *("berth.diff", "berth.cost", "berth.jobs", "berth.engine", "berth.planner.ack"),
    *("berth.planner.multikueue.manager_cluster", "berth.validation.ack", "berth.report", "berth.rotate"),
    *(
        "berth.lint",
        "berth.workloads",
        "berth.manifests.rules",
        "berth.adopt",
        "berth.policy",
        "berth.split",
        "berth.outputs",
        "pydantic",
        "rich",
    ),
)
"""What other verbs and other kinds of stacks need."""


def test_check_loads_nothing_that_it_does_not_need() -> None:
    """Loading is most of the time that the check of a small fleet takes."""
    code = "import sys; from berth.cli import app; app(['check', 'dev'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1].split()
    assert "berth.validation" in loaded
    assert [m for m in loaded if any(m == other or m.startswith(f"{other}.") for other in _OF_OTHERS)] == []
    verbs = {m.split(".")[2] for m in loaded if m.startswith("berth.cli.")} & set(VERBS)
    assert verbs == {"check"}


def test_every_source_file_is_in_a_package_of_the_architecture_page() -> None:
    """Outside the packages there are only files that tools require, scripts of Make, and policies shown in docs."""
    tops = {file.relative_to(ROOT).parts[0] for file in ROOT.rglob("*.py") if not hidden(file)}
    assert tops <= {"__main__.py", "berth", "components", "docs", "packages", "scripts", "setup.py", "stacks", "tests"}


def hidden(file: Path) -> bool:
    """In a folder that tools keep for themselves."""
    parts = file.relative_to(ROOT).parts
    return any(part.startswith(".") for part in parts) or parts[0] in ("build", "dist", "venv")
