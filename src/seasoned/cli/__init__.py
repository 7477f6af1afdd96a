"""The command line `seasoned`; needs the extra `cli`, and nothing outside this package imports typer or rich."""

from __future__ import annotations

import sys

from seasoned.errors import MissingExtra


def main() -> None:
    """Run the command line on `sys.argv` and leave the process with its exit code."""
    try:
        from seasoned.cli.app import run
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("typer", "rich"):
            raise
        sys.stderr.write(f"error: {MissingExtra('cli', missing)}\n")
        sys.exit(1)
    run()
