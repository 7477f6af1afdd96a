"""What is left of a profile without what is forgotten: its record, and its files on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from seasoned.cascade import Asked, by_keys
from seasoned.errors import StoreError
from seasoned.following import pages
from seasoned.ports import Store
from seasoned.query import Compare, Op, Query
from seasoned.records import Key, Record, text_field
from seasoned.runs.closing import profile_text
from seasoned.runs.lessons import Lesson, lesson_of
from seasoned.runs.policy import RunPolicy
from seasoned.runs.profiles import TITLE, Line, lines_in, read_profile, write_profile
from seasoned.runs.rows import LESSON, RUN, texts

FOLDERS: Final = "folders"
"""The field of a profile's record that names the folders in which its file was written."""

REWRITTEN: Final = "rewritten"
REMOVED: Final = "removed"
KEPT: Final = "kept"

_PAGE: Final = 2_000


class LeftProfile:
    """A profile without what is forgotten; `heads` are run heads as they will be after it."""

    def __init__(self, store: Store, record: Record, asked: Asked, heads: Mapping[Key, Record]) -> None:
        self._record = record
        self._asked = asked
        self._name = record.key.id
        self._folders = [Path(folder) for folder in texts(record.data, FOLDERS)]
        self._lessons = _lessons(store, record.key, asked)
        self._run, self._story = _last_run(store, record, asked, heads)
        self._was = str(record.data.get("markdown") or "")
        self._is = self._text(self._lessons)

    @property
    def nothing_left(self) -> bool:
        """Whether no lesson and no retrospective is left."""
        return not self._lessons and not self._story

    @property
    def changed(self) -> bool:
        """Whether it told of something that is gone; one whose file cannot be reached is kept unless bytes are erased.

        By its record the file's lines are known as ours, so that none of them comes back.
        """
        return self._was != self._is and (self._asked.hard or bool(self._folders))

    def record(self) -> Record:
        """Return its record without what is gone."""
        data = {**self._record.data, "markdown": self._is, "run": self._run}
        return replace(self._record, data=data, sources=self._record.sources if self._story else ())

    def _text(self, lessons: Sequence[Lesson], foreign: Sequence[Line] = ()) -> str:
        added = [_as_lesson(self._record, line) for line in foreign]
        return profile_text([*lessons, *added], self._story, self._run)

    def files(self) -> dict[str, str]:
        """Write its files anew, and say what became of them and of the versions before them.

        A file that does not begin as a profile does is another's, and stays as it is.
        """
        became = dict[str, str]()
        for folder in self._folders:
            path, old = folder / f"{self._name}.md", _versions(folder, self._name)
            if _is_profile(path) and (self._was != self._is or self._asked.hard):
                became[str(path)] = self._file(path)
            became |= {str(each): self._version(each) for each in old if _is_profile(each)}
        return became

    def _file(self, path: Path) -> str:
        ours, here = {line.text for line in lines_in(self._was)}, lines_in(read_profile(path.parent, self._name))
        foreign = [line for line in here if line.text not in ours]
        gone = self.nothing_left and not foreign
        if not self._asked.dry_run:
            keep = 0 if self._asked.hard else RunPolicy().profile_versions
            write_profile(path.parent, self._name, self._text(self._lessons, foreign), keep)
            if gone:
                _remove(path)
        return REMOVED if gone else REWRITTEN

    def _version(self, path: Path) -> str:
        if not self._asked.hard:
            return KEPT
        if not self._asked.dry_run:
            _remove(path)
        return REMOVED


def _lessons(store: Store, profile: Key, asked: Asked) -> list[Lesson]:
    of_profile = Compare("data.profile", Op.EQ, profile.id)
    query = Query(scope=profile.scope, kinds=(LESSON,), where=of_profile, k=_PAGE)
    hits = (hit for page in pages(store, query) for hit in page.hits if hit.record.key not in asked.gone)
    return [made for hit in hits if (made := lesson_of(hit)) is not None]


def _last_run(store: Store, profile: Record, asked: Asked, heads: Mapping[Key, Record]) -> tuple[str, str]:
    """Return the run that a profile tells of last, and its retrospective; "" where that is gone."""
    key = Key(profile.key.scope, RUN, text_field(profile.data, "run") or "-")
    if key in asked.gone:
        return "", ""
    found = [heads[key]] if key in heads else [hit.record for hit in by_keys(store, key.scope, [key])]
    return (key.id, found[0].text) if found and found[0].text else ("", "")


def _as_lesson(profile: Record, line: Line) -> Lesson:
    """Return a line that others wrote to a profile, as it is rendered."""
    against = "an earlier run" if line.contradicted else None
    return Lesson(
        id=line.text, profile=profile.key.id, text=line.text, times=line.times, contradicted_by=against, at=profile.at
    )


def _is_profile(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline().strip() == TITLE
    except OSError:
        return False


def _versions(folder: Path, profile: str) -> list[Path]:
    """Return where the versions before a profile lie, as many as there are in a row."""
    found = list[Path]()
    while (path := folder / f"{profile}.{len(found) + 1}.md").exists():
        found.append(path)
    return found


def _remove(path: Path) -> None:
    try:
        with suppress(FileNotFoundError):
            path.unlink()
    except OSError as error:
        raise StoreError(f"the profile {path.name!r} cannot be removed: {error.strerror or error}") from error
