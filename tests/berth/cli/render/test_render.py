"""YAML 1.1 (kubectl) and 1.2 parse the output of `berth render` to the same values."""

from __future__ import annotations

import pytest
import ryaml
import yaml
from hypothesis import given
from hypothesis import strategies as st

from berth.cli.render.output import yaml_document
from berth.manifests.fleet import all_manifests
from tests import stack_files

WORDS = st.text(alphabet="0123456789_.eExob-+:~nytTZ #'\"&*!|>%@`{[,?=\n\té", min_size=1, max_size=8)
RETYPED = st.sampled_from(
    ["no", "on", "y", "off", "1_000", "012", "0x1f", "1e3", "12:30:45", "2026-12-01", "2026-12-01T00:00:00Z", "=", "<<"]
)


@given(st.one_of(WORDS, RETYPED))
def test_text_stays_text(word: str) -> None:
    """A namespace may be called `no`; kubectl must not see a boolean there."""
    manifests: list[dict[str, object]] = [
        {"key": word},
        {"list": [word]},
        {word: "value"},
        {"deep": {"er": [{word: word}]}},
    ]
    for manifest in manifests:
        assert yaml.load(yaml_document(manifest), yaml.SafeLoader) == manifest


@pytest.mark.parametrize("value", [8, -1, True, None, 1.5, {}, []])
def test_other_scalars_keep_their_type(value: object) -> None:
    assert yaml.safe_load(yaml_document({"key": value})) == {"key": value}


@given(st.integers(-(2**63), 2**63 - 1), st.integers())
def test_numbers_and_texts_of_digits_stay_different(number: int, long: int) -> None:
    """Whole numbers are not rechecked after ryaml, so ryaml must quote text that looks like one."""
    manifest: dict[str, object] = {"number": number, "text": f"{number}", "list": [number, f"{long}", f"0{number}"]}
    assert yaml.load(yaml_document(manifest), yaml.SafeLoader) == manifest


@stack_files.every_stack
def test_a_document_equals_ryamls_output_for_the_whole_object(stack: str) -> None:
    """The document is joined from cached entries. Ports, priorities and counts need no PyYAML; dashboards may."""
    for _, plan in stack_files.clusters(stack):
        for manifest in all_manifests(plan):
            document = yaml_document(manifest)
            # ryaml folds a line otherwise after very long text, as that of policies.
            if manifest["kind"] in ("ConfigMap", "ValidatingAdmissionPolicy"):
                assert yaml.load(document, yaml.SafeLoader) == manifest
            else:
                assert document == "---\n" + ryaml.dumps(manifest)  # pyright: ignore[reportPrivateImportUsage]
