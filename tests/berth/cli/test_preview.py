"""`berth preview` shows every resource once, with the options that affect updates."""

from __future__ import annotations

import json

import pulumi

from berth.cli.preview.tree import preview_as_json, tree
from berth.engine import Preview, record_program

Options = pulumi.ResourceOptions


class Pool(pulumi.ComponentResource):
    """A component with one resource in it."""

    def __init__(self, name: str, opts: Options, inner: Options) -> None:
        super().__init__("berth:gke:NodePool", name, None, opts)
        size = {"size": 1, "labels": {"a.b/c": "x"}, "zones": [], "text": "y" * 300}
        pulumi.CustomResource("cloud:index:Pool", f"{name}-pool", size, Options.merge(Options(parent=self), inner))
        self.register_outputs({})


def made(clouds: int = 1) -> Preview:
    def build() -> None:
        providers = [pulumi.ProviderResource("cloud", f"cloud-{n}") for n in range(clouds)]
        inner = Options(
            protect=True, delete_before_replace=True, replace_on_changes=["size", "zones[0]"], ignore_changes=["n"]
        )
        Pool("b", Options(provider=providers[-1]), inner)
        old = [pulumi.Alias(name="old"), pulumi.Alias(type_="cloud:index:Slice"), pulumi.Alias(parent=providers[0])]
        Pool("a", Options(provider=providers[0]), Options(aliases=list(old), import_="x"))
        pulumi.export("fleet", {"pools": ["a", "b"], "key": pulumi.Output.secret("s")})
        pulumi.log.warn("look here")

    return record_program(build, project="berth", stack="dev", config={})


def test_the_tree_shows_every_resource_under_its_parent_with_its_options() -> None:
    former = "was old cloud:index:Slice pulumi:providers:cloud$cloud:index:Pool::a-pool"
    strict = "protected, deleted before replaced, replaced on size zones[0], ignores n"
    assert tree(made(), inputs=False).splitlines() == [
        "berth-dev  pulumi:pulumi:Stack",
        "├─ a  berth:gke:NodePool",
        f"│  └─ a-pool  cloud:index:Pool  imported as x, {former}",
        "├─ b  berth:gke:NodePool",
        f"│  └─ b-pool  cloud:index:Pool  {strict}",
        "└─ cloud-0  pulumi:providers:cloud",
        "",
        "exports",
        "  fleet.key = [secret]",
        '  fleet.pools[0] = "a"',
        '  fleet.pools[1] = "b"',
        "",
        "warning: look here",
        "",
        "    2  berth:gke:NodePool",
        "    2  cloud:index:Pool",
        "    1  pulumi:providers:cloud",
        "5 resources (2 of them components), 1 protected",
    ]


def test_a_provider_is_named_if_there_is_more_than_one() -> None:
    """With two clusters, the provider decides which one gets a queue."""
    text = tree(made(clouds=2), inputs=False)
    assert "ignores n, via cloud-1" in text
    assert "via cloud-0" in text
    assert "via" not in tree(made(), inputs=False)


def test_the_most_frequent_type_is_counted_first() -> None:
    counts = tree(made(clouds=3), inputs=False).split("\n\n")[-1].splitlines()
    assert counts == [
        "    3  pulumi:providers:cloud",
        "    2  berth:gke:NodePool",
        "    2  cloud:index:Pool",
        "7 resources (2 of them components), 1 protected",
    ]


def test_each_input_is_one_line() -> None:
    lines = tree(made(), inputs=True).splitlines()
    start = lines.index("├─ b  berth:gke:NodePool") + 2
    assert [line.removeprefix("│        ") for line in lines[start : start + 5]] == [
        'labels."a.b/c" = "x"',
        "size = 1",
        f'text = "{"y" * 199}… (302 characters)',
        "zones = []",
        "(provider) cloud-0",
    ]


def test_colour_changes_nothing_but_colour() -> None:
    coloured = tree(made(), inputs=True, colour=True)
    assert "\x1b[" in coloured
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"):
        coloured = coloured.replace(code, "")
    assert coloured == tree(made(), inputs=True, colour=False)


def test_the_json_is_complete_and_in_a_fixed_order() -> None:
    document = json.loads(json.dumps(preview_as_json(made())))
    assert [document["project"], document["stack"]] == ["berth", "dev"]
    assert [one["name"] for one in document["resources"]] == ["a-pool", "b-pool", "a", "b", "cloud-0", "berth-dev"]
    pool = document["resources"][1]
    assert pool["urn"] == "urn:pulumi:dev::berth::berth:gke:NodePool$cloud:index:Pool::b-pool"
    assert pool["parent"] == "urn:pulumi:dev::berth::berth:gke:NodePool::b"
    assert pool["inputs"]["size"] == 1
    assert pool["provider"] == "urn:pulumi:dev::berth::pulumi:providers:cloud::cloud-0"
    assert (pool["deleteBeforeReplace"], pool["replaceOnChanges"]) == (True, ["size", "zones[0]"])
    assert document["exports"] == {"fleet": {"key": "[secret]", "pools": ["a", "b"]}}
    assert document["messages"] == [{"severity": "warning", "text": "look here", "urn": None}]
