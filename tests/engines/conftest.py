"""Engines that are slow to start or to write: tested where `SEASONED_ENGINES` is set, as `make test-engines` does.

What holds for every engine is tested with the rest, on those that are quick.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

QUICK = ("test_bundles.py", "test_closing.py", "test_isolation.py", "test_table.py")

if not os.environ.get("SEASONED_ENGINES"):
    collect_ignore = [path.name for path in Path(__file__).parent.glob("test_*.py") if path.name not in QUICK]

MEMORY = Path("/dev/shm")  # noqa: S108  # it is a disk here, and each test has a directory of its own


def new_folder() -> Path:
    """A folder in memory where the system has one: what an engine's files hold is tested here, not how a disk syncs."""
    usable = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
    return Path(tempfile.mkdtemp(prefix="seasoned-", dir=MEMORY if usable else None))


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder of a test's own, removed at its end, as there is not much room in memory."""
    folder = new_folder()
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
