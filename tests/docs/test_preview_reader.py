"""The ClusterRole for previews reads every kind that Berth renders, Secrets aside, and nothing else of it."""

from __future__ import annotations

from berth.evaluate import evaluate_stack
from berth.manifests.fleet import all_manifests
from berth.yaml_loader import load_table
from tests.stack_files import GKE_STACKS, ROOT

ROLE = load_table(ROOT / "docs" / "preview-reader.yaml")
_PLURALS = {"NetworkPolicy": "networkpolicies", "ValidatingAdmissionPolicy": "validatingadmissionpolicies"}


def _plural(kind: str) -> str:
    name = kind.lower()
    return _PLURALS.get(kind) or (
        f"{name}es" if name.endswith("s") else f"{name[:-1]}ies" if name.endswith("gy") else f"{name}s"
    )


def test_it_reads_every_kind_that_is_rendered() -> None:
    plans = [evaluate_stack(str(file), ROOT).plan for file in GKE_STACKS.values()]
    rendered = {
        (str(each["apiVersion"]).rpartition("/")[0], _plural(str(each["kind"])))
        for plan in plans
        if plan is not None
        for each in all_manifests(plan)
        if each["kind"] != "Secret"
    }
    granted = {(rule["apiGroups"][0], each) for rule in ROLE["rules"] for each in rule["resources"]}
    assert {each for each in rendered if each not in granted and (each[0], "*") not in granted} == set()


def test_it_only_reads_and_reads_no_secret() -> None:
    assert all(rule["verbs"] == ["get", "list", "watch"] for rule in ROLE["rules"])
    assert not any("secrets" in rule["resources"] or "*" in rule["apiGroups"] for rule in ROLE["rules"])
