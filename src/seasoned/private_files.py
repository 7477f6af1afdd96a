"""Files and folders that hold what a memory holds: for their owner alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder and those above it where they are not there, itself for its owner alone; leave one that is there.

    Raises:
        OSError: it cannot be made, or is no folder.
    """
    Path(path).mkdir(FOLDER_MODE, parents=True, exist_ok=True)


def write_new(path: str | os.PathLike[str], text: str) -> None:
    """Write a text as UTF-8; a file that is not there yet is made for its owner alone, one that is keeps its mode.

    Raises:
        OSError: it cannot be written.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
