"""Start of the `berth` command: until its modules are loaded, and after, Ctrl-C ends it without a traceback."""

from __future__ import annotations

import signal


def main() -> None:
    """Let Ctrl-C end the process as it ends any program of the shell, then load and run the command."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from berth.cli import run_command

    run_command()


if __name__ == "__main__":
    main()
