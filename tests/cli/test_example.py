"""The chat example runs as its README says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "chat" / "chat.py"


def test_the_chat_example_recalls_what_was_said_weeks_ago(tmp_path, environment):
    """Without a model it prints the context that a model would get."""
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, EXAMPLE, "Which nuts is Lúcia not allowed to eat?"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        assert "walnuts or pecans" in ran.stdout.decode()
