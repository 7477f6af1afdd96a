"""Profile files: lessons and the last retrospective as Markdown, written at once or not at all, versions kept."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from seasoned.errors import InvalidInput, StoreError, WrongType
from seasoned.private_files import make_folder
from seasoned.records import checked_id
from seasoned.runs.prose import MARK
from seasoned.tokens import estimate

TITLE: Final = "# Notes from earlier runs"
LESSONS: Final = "## Lessons"
LAST: Final = "## The last run"
NOTES_TOKENS: Final = 600
"""Longest notes, where nothing else is said."""

MAX_PROFILE_ID: Final = 100

_SAFE: Final = re.compile(r"\w[\w .@+=-]*")
_VERSION: Final = re.compile(r".*\.\d+")
_WINDOWS: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_LINE: Final = re.compile(r"- (?P<text>.*\S) \((?P<times>\d{1,9}) runs?(?P<against>; a later run found otherwise)?\)")


@dataclass(frozen=True, slots=True)
class Line:
    """A lesson as it stands in a profile."""

    text: str
    times: int
    contradicted: bool


def safe_id(value: object) -> str:
    """Return the id of a profile if it is a safe name of a file.

    Raises:
        InvalidInput: blank, over 100 characters, with a separator, `..`, a leading or trailing dot or space, or an
            ending such as `.1`, which names the earlier versions of another profile.
        WrongType: not a string.
    """
    name = checked_id(value, "a profile's id")
    unsafe = not _SAFE.fullmatch(name) or ".." in name or name[-1] in " ." or _WINDOWS.fullmatch(name)
    if unsafe or _VERSION.fullmatch(name) or len(name) > MAX_PROFILE_ID:
        raise InvalidInput(
            f"a profile's id is the name of a file: letters, digits, spaces and .@+=-_ inside, at most "
            f"{MAX_PROFILE_ID} characters, not ending in a dot and digits; found {name!r:.120}"
        )
    return name


def rendered(lines: Sequence[Line], retrospective: str) -> str:
    """Return a profile as Markdown."""
    parts = [TITLE]
    if lines:
        parts.append("\n".join([LESSONS, "", *(shown(line) for line in lines)]))
    if retrospective.strip():
        demoted = re.sub(r"^#", "###", retrospective.strip(), flags=re.MULTILINE)
        parts.append(f"{LAST}\n\n{demoted}")
    return "\n\n".join(parts) + "\n"


def shown(line: Line) -> str:
    """Return a lesson as a line of a profile."""
    against = "; a later run found otherwise" if line.contradicted else ""
    return f"- {line.text} ({line.times} run{'' if line.times == 1 else 's'}{against})"


def lines_in(text: str) -> list[Line]:
    """Return the lessons of a profile."""
    head, found, rest = text.partition(f"\n{LESSONS}\n")
    if not found or LAST in head:
        return []
    section = rest.split("\n## ", 1)[0]
    matched = [_LINE.fullmatch(line.strip()) for line in section.splitlines()]
    return [Line(one["text"], int(one["times"]), one["against"] is not None) for one in matched if one]


def notes(text: str, budget: int) -> str | None:
    """Return a profile cut to a token budget, line by line; None where there is nothing in it.

    Raises:
        InvalidInput: a budget below 1.
        WrongType: a budget that is not an integer.
    """
    if isinstance(budget, bool) or not isinstance(budget, int):
        raise WrongType(f"a budget is an integer, not {budget!r}")
    if budget < 1:
        raise InvalidInput(f"a budget is at least 1, found {budget}")
    whole = text.strip()
    if not whole:
        return None
    if estimate(whole) <= budget:
        return whole
    kept = list[str]()
    for line in whole.splitlines():
        if estimate("\n".join([*kept, line, MARK])) > budget:
            break
        kept.append(line)
    return "\n".join([*kept, MARK]).strip() if any(line.strip() and not line.startswith("#") for line in kept) else None


def read_profile(folder: Path, profile: str) -> str:
    """Return the text of a profile file, "" where there is none.

    Raises:
        StoreError: it cannot be read.
    """
    path = folder / f"{profile}.md"
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(f"the profile {path.name!r} cannot be read: {error.strerror or error}") from error


def write_profile(folder: Path, profile: str, text: str, versions: int) -> Path:
    """Write a profile file at once or not at all, and keep so many versions before it as `id.1.md` and so on.

    Raises:
        StoreError: it cannot be written; the file is as it was.
    """
    path = folder / f"{profile}.md"
    try:
        make_folder(folder)
        old = path.read_bytes() if path.exists() else None
        if old == text.encode():
            return path
        if old is not None and old.strip():
            _keep(folder, profile, old, versions)
        _replace(path, text.encode())
    except OSError as error:
        raise StoreError(f"the profile {path.name!r} cannot be written: {error.strerror or error}") from error
    return path


def _keep(folder: Path, profile: str, old: bytes, versions: int) -> None:
    for number in range(versions - 1, 0, -1):
        with suppress(FileNotFoundError):
            os.replace(folder / f"{profile}.{number}.md", folder / f"{profile}.{number + 1}.md")
    if versions:
        _replace(folder / f"{profile}.1.md", old)


def _replace(path: Path, data: bytes) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Have the folder's entries on the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def load_prior_run_notes(
    profile_id: str, profiles_dir: str | os.PathLike[str] = "profiles", budget: int = NOTES_TOKENS
) -> str | None:
    """Return what earlier runs left in a profile file, for the next system prompt, in at most `budget` tokens.

    None where there is none yet.

    Raises:
        InvalidInput: an id that is not a safe name of a file, or a budget below 1.
        StoreError: the file cannot be read.
    """
    return notes(read_profile(Path(profiles_dir), safe_id(profile_id)), budget)
