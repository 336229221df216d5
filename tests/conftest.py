"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("any-machine", deadline=None)  # how fast the machine is, is no property of the code
settings.load_profile("any-machine")
