"""What a path holds: a text, the JSON members of a zip archive, a SQLite database, or a folder with such databases.

Texts are read in whatever Unicode encoding. What a folder or archive holds beside, by its name, is passed over.
"""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from seasoned.errors import BundleError
from seasoned.transfer.importers import databases

_ZIP: Final = b"PK\x03\x04"
_SUFFIXES: Final = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One text, which is a file or a member of an archive, or one database. `size` is in bytes, unpacked.

    `left` says why a file that is called like a database is left out, "" where it is not.
    """

    path: Path
    member: str | None
    size: int
    database: bool = False
    left: str = ""

    @property
    def name(self) -> str:
        """How the part is called in messages."""
        name = _readable(self.path.name)
        return name if self.member is None else f"{name}: {self.member}"

    @property
    def stem(self) -> str:
        """The file's name without its suffix, which names a conversation that has no id."""
        return _readable(self.path.stem) if self.member is None else PurePosixPath(self.member).stem


@dataclass(frozen=True, slots=True)
class Opened:
    """An open part: its text, and how far its bytes are read."""

    text: io.TextIOWrapper
    raw: IO[bytes]

    def tell(self) -> int:
        """Return how many bytes are read."""
        return self.raw.tell()


def parts(path: Path) -> list[Part]:
    """Return the texts and databases in a file or folder, in the order of their names.

    Raises:
        BundleError: it cannot be read, is empty, is a damaged or encrypted archive, an archive without JSON, or a
            folder without databases.
    """
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            return _databases(path)
        if not stat.S_ISREG(found.st_mode):
            raise BundleError(f"cannot read {str(path)!r}: it is no regular file, and it has to be read more than once")
        if databases.is_database(path):
            return [Part(path=path, member=None, size=found.st_size, database=True)]
        with path.open("rb") as file:
            packed = file.read(len(_ZIP)) == _ZIP
    except OSError as error:
        raise BundleError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    if not found.st_size:
        raise BundleError(f"{str(path)!r} is empty")
    return _members(path) if packed else [Part(path=path, member=None, size=found.st_size)]


def _databases(folder: Path) -> list[Part]:
    """Return what is called like a database in a folder; what else it holds is left alone."""
    files = [path for path in sorted(folder.iterdir()) if path.suffix.lower() in databases.SUFFIXES and path.is_file()]
    found = [_database(path) for path in files]
    if all(part.left for part in found):
        wanted = ", ".join(databases.SUFFIXES)
        raise BundleError(f"cannot read {str(folder)!r}: it is a folder that holds no SQLite database ({wanted})")
    return found


def _database(path: Path) -> Part:
    if databases.is_database(path):
        return Part(path=path, member=None, size=path.stat().st_size, database=True)
    return Part(path=path, member=None, size=0, left="no SQLite database, or one that cannot be opened")


def _readable(name: str) -> str:
    """Return a file's name as text, also where the locale hands it on as escaped bytes."""
    return os.fsencode(name).decode("utf-8", "replace")


def _members(path: Path) -> list[Part]:
    try:
        with zipfile.ZipFile(path) as archive:
            found = [entry for entry in archive.infolist() if entry.filename.lower().endswith(_SUFFIXES)]
    except (zipfile.BadZipFile, OSError) as error:
        raise BundleError(f"{str(path)!r} is a damaged zip archive: {error}") from error
    if not found:
        raise BundleError(f"the archive {str(path)!r} holds no JSON file")
    if any(entry.flag_bits & 1 for entry in found):
        raise BundleError(f"the archive {str(path)!r} is encrypted; unpack it first")
    return [
        Part(path=path, member=entry.filename, size=entry.file_size)
        for entry in sorted(found, key=lambda entry: entry.filename)
    ]


@contextmanager
def opened(part: Part) -> Iterator[Opened]:
    """Open a part as text, decoded by its byte order mark or zero bytes, else as UTF-8.

    Bytes that are not UTF-8 come as U+DC80 to U+DCFF, which no decoded text holds otherwise.

    Raises:
        BundleError: it cannot be read, or its archive is damaged.
    """
    try:
        with ExitStack() as stack:
            raw = _raw(part, stack)
            encoding = json.detect_encoding(raw.read(4))
            raw.seek(0)
            errors = "surrogateescape" if encoding.startswith("utf-8") else "replace"
            yield Opened(stack.enter_context(io.TextIOWrapper(raw, encoding=encoding, errors=errors)), raw)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise BundleError(f"cannot read {part.name!r}: {error}") from error


def _raw(part: Part, stack: ExitStack) -> IO[bytes]:
    if part.member is None:
        return stack.enter_context(part.path.open("rb"))
    return stack.enter_context(stack.enter_context(zipfile.ZipFile(part.path)).open(part.member))
