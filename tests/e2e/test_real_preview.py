"""What `berth preview` shows is what the real engine and the real providers preview."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.real_preview import compare, first_deployments
from tests.e2e.support.project import stack_name

pytestmark = pytest.mark.skipif(
    shutil.which("pulumi") is None,
    reason="no `pulumi` on PATH: install the CLI and its gcp and kubernetes plugins to compare with the real engine",
)


@pytest.mark.parametrize("file", first_deployments(), ids=stack_name)
def test_the_offline_preview_is_what_the_engine_previews(file: Path) -> None:
    """Same URNs, inputs and options; a preview that needs no credentials is worth having only if it is true."""
    assert compare(file).differences == []
