"""`berth mcp`: a server of the Model Context Protocol, so that an assistant answers with Berth's numbers."""

from __future__ import annotations

from importlib.util import find_spec

from berth.cli.arguments import exit_with_error

EPILOG = "Example: berth mcp"


def mcp_command() -> None:
    """Serve check, plan, lint, admit, explain and diff to an assistant (MCP).

    Speaks the Model Context Protocol on stdin and stdout, in the folder of the project. It reads files and writes none.
    """
    if find_spec("mcp") is None:
        exit_with_error(
            "the SDK of the Model Context Protocol is not installed; install berth with its extra: berth[mcp]"
        )
    from berth.cli.mcp.server import build_server

    build_server().run()
