"""Text that is not YAML in a stack file: each kind is named at its own line, with what to write instead."""

from __future__ import annotations

import pytest

from berth.loader.document import parse

SOUND = "config:\n  berth:fleet:\n    region: us-central1\n    pools:\n      a: {nodes: 1}\n      b: {nodes: 2}\n"
TEMPLATE = "is a template of Helm or Jinja, and nothing fills it in; write the value, or render the template first"
BLOCK = "a stack file is YAML: write its values below Berth's own keys, which docs/stack-file.md lists"

# title → (old text, new text, the faults as LINE: message)
CASES: dict[str, tuple[str, str, list[str]]] = {
    "a merge conflict": (
        "      b: {nodes: 2}\n",
        "<<<<<<< HEAD\n      b: {nodes: 2}\n=======\n      b: {nodes: 3}\n>>>>>>> feature\n",
        ["6: unresolved merge conflict, lines 6–10; keep one side, and remove lines 6, 8 and 10"],
    ),
    "a merge conflict with the common ancestor": (
        "      b: {nodes: 2}\n",
        "<<<<<<< HEAD\n      b: 1\n||||||| 1a2b3c4\n      b: 2\n=======\n      b: 3\n>>>>>>> feature\n",
        ["6: unresolved merge conflict, lines 6–12; keep one side, and remove lines 6, 8, 10 and 12"],
    ),
    "two merge conflicts": (
        "      a: {nodes: 1}\n      b: {nodes: 2}\n",
        "<<<<<<< HEAD\n      a: 1\n=======\n      a: 2\n>>>>>>> x\n<<<<<<< HEAD\n=======\n      b: 3\n>>>>>>> x\n",
        [
            "5: unresolved merge conflict, lines 5–9; keep one side, and remove lines 5, 7 and 9",
            "10: unresolved merge conflict, lines 10–13; keep one side, and remove lines 10, 11 and 13",
        ],
    ),
    "the first marker of a conflict": (
        "      b:",
        "<<<<<<< HEAD\n      b:",
        ["6: unresolved merge conflict, line 6; keep one side, and remove line 6"],
    ),
    "the middle of a conflict": (
        "      b:",
        "=======\n      b:",
        ["6: unresolved merge conflict, line 6; keep one side, and remove line 6"],
    ),
    "the end of a conflict": (
        "{nodes: 2}\n",
        "{nodes: 2}\n>>>>>>> 1a2b3c4\n",
        ["7: unresolved merge conflict, line 7; keep one side, and remove line 7"],
    ),
    "a line that a diff adds": (
        "      b:",
        "+      b:",
        ["6: this line begins with '+', as one that a diff adds; remove the '+'"],
    ),
    "lines of a diff": (
        "      a: {nodes: 1}\n      b: {nodes: 2}\n",
        "@@ -4,3 +4,3 @@ pools:\n-      a: {nodes: 1}\n+      a: {nodes: 3}\n+      b: {nodes: 2}\n",
        [
            "5: this is a line of a diff, not of the file; remove it",
            "6: this line begins with '-', as one that a diff removes; remove the line",
            "7: this line begins with '+', as one that a diff adds; remove the '+' (so is line 8)",
        ],
    ),
    "items of a list beside a template": (
        "config:\n  berth:fleet:\n    region: us-central1\n",
        "names:\n- a\n- b\nconfig:\n  berth:fleet:\n    region: {{ region }}-1\n",
        [f"6: '{{{{ region }}}}' {TEMPLATE}"],
    ),
    "a no-break space after a colon": (
        "region: us",
        "region:\xa0us",
        ["3: column 12 has no-break space (U+00A0); write 'region: us-central1'"],
    ),
    "no-break spaces before a key": (
        "    region: us",
        "\xa0\xa0\xa0\xa0region: us",
        ["3: column 1 has no-break space (U+00A0); write 'region: us-central1'"],
    ),
    "an ideographic space": (
        "region: us",
        "region:\u3000us",
        ["3: column 12 has ideographic space (U+3000); write 'region: us-central1'"],
    ),
    "a wide colon": (
        "region: us",
        "region\uff1aus",
        ["3: column 11 has fullwidth colon (U+FF1A); write 'region: us-central1'"],
    ),
    "a wide bracket": (
        "      b: {nodes: 2}",
        "      b: \uff5bnodes: 2}",
        ["6: column 10 has fullwidth left curly bracket (U+FF5B); write 'b: {nodes: 2}'"],
    ),
    "a dash for a list's": (
        "    pools:\n",
        "    zones:\n      \u2013 us-central1-a\n    pools:\n",
        ["5: this item begins with '\u2013', which is not the '-' of a list; write '- ' instead"],
    ),
    "a block of Terraform": (
        "      b:",
        '      placement_policy {\n        type = "COMPACT"\n      }\n      b:',
        [f"6: 'placement_policy {{' opens a block of Terraform, lines 6–8; {BLOCK}"],
    ),
    "an assignment": (
        'region: us-central1',
        'region = "us-central1"',
        ["""3: 'region = "us-central1"' is an assignment of Terraform or a shell; write 'region: "us-central1"'"""],
    ),
    "a template of Helm as a value": (
        "us-central1",
        "{{ .Values.region }}",
        [f"3: '{{{{ .Values.region }}}}' {TEMPLATE}"],
    ),
    "a condition of Helm": (
        "      b: {nodes: 2}\n",
        "      {{- if .Values.b }}\n      b: {nodes: 2}\n      {{- end }}\n",
        [f"6: '{{{{- if .Values.b }}}}' {TEMPLATE}", f"8: '{{{{- end }}}}' {TEMPLATE}"],
    ),
    "a condition of Jinja": (
        "      b: {nodes: 2}\n",
        "      {% if b %}\n      b: {nodes: 2}\n      {% endif %}\n",
        [f"6: '{{% if b %}}' {TEMPLATE}", f"8: '{{% endif %}}' {TEMPLATE}"],
    ),
    "left-out lines": (
        "      b: {nodes: 2}\n",
        "      ...\n      b: {nodes: 2}\n",
        ["6: '...' stands for lines that were left out; write them, or remove it"],
    ),
    "the fences of Markdown": (
        SOUND,
        f"```yaml\n{SOUND}```\n",
        [
            "1: this is the fence of a code block in Markdown; remove the line",
            "8: this is the fence of a code block in Markdown; remove the line",
        ],
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", CASES)
def test_text_of_something_else_is_named_at_its_line(title: str) -> None:
    old, new, expected = CASES[title]
    assert SOUND.count(old) == 1
    document, faults = parse(SOUND.replace(old, new), "f.yaml")
    lines = [f"{fault.place.split(':')[1]}: {fault.message}" for fault in faults]
    assert (document, lines, {fault.code for fault in faults}) == (None, expected, {"bad-yaml"})


@pytest.mark.parametrize(
    "text",
    [
        "a: |\n  x = {\n  <<< here\n  {{ y }}\nb: 1\n",
        "a: '{{ .Values.x }}'\nb: \"x\uff1ay\"\n",
        "# <<<<<<< HEAD\n# a = b\na: 1\n",
        "a: x = y\nb: 容量\uff1a2\n",
        "- a\n- b\n",
    ],
)
def test_valid_yaml_is_left_alone(text: str) -> None:
    document, faults = parse(text, "f.yaml")
    assert document is not None
    assert faults == []


def test_a_script_in_a_block_is_not_blamed_for_a_fault_elsewhere() -> None:
    _, faults = parse("run: |\n  X = 1\n  if {{ y }}\nb: [1\n", "f.yaml")
    assert [fault.message for fault in faults] == ["'[' opens here and is not closed; write ']' at its end"]
