"""The in-process engine of `berth preview`: what `pulumi preview` registers, without CLI, credentials or plugins.

A program runs under Pulumi's own Python SDK, with the language host and the engine replaced by a `Recorder` in the same
process. What comes out is what the SDK would send to the real engine, URNs and inherited options included. What only a
provider knows (schema checks, defaults it adds, names it invents) is not here; `tests/e2e/real_preview.py` compares.
"""

from berth.engine.answers import Answers, plausible_outputs
from berth.engine.host import Preview, record_program
from berth.engine.program import read_project_name, run_program
from berth.engine.recorder import Recorder
from berth.engine.records import SECRET, UNKNOWN, Marker, Message, ProgramError, RecordedResource, References

__all__ = [
    "SECRET",
    "UNKNOWN",
    "Answers",
    "Marker",
    "Message",
    "Preview",
    "ProgramError",
    "RecordedResource",
    "Recorder",
    "References",
    "plausible_outputs",
    "read_project_name",
    "record_program",
    "run_program",
]
