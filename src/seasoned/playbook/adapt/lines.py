"""A file of JSON lines that only grows: each line is on the disk when `append` returns, a torn last one is dropped."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from seasoned.errors import StoreBusy, StoreClosed, StoreCorrupt, StoreError, StoreFull
from seasoned.records import JSON

try:
    import fcntl
except ModuleNotFoundError:  # on Windows, where nothing keeps a second process away
    _CAN_LOCK = False
else:
    _CAN_LOCK = True

OWNER_ONLY: Final = 0o600


class Lines:
    """Lines in the order of writing, in `path`, or in this process where that is None. Thread safe.

    Raises:
        StoreBusy: the file is open elsewhere.
        StoreCorrupt: a line before the last is damaged.
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._path = path
        self._rows: list[dict[str, JSON]] = []
        self._file: int | None = None
        if path is not None:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, OWNER_ONLY)
            try:
                _lock(self._file, path)
                self._rows = _read(self._file, path)
            except BaseException:
                os.close(self._file)
                raise

    @property
    def rows(self) -> list[dict[str, JSON]]:
        """All lines so far."""
        with self._lock:
            return list(self._rows)

    def append(self, row: Mapping[str, JSON]) -> None:
        """Write a line; when this returns it survives a power cut.

        Raises:
            StoreClosed: it is closed.
            StoreFull, StoreError: it cannot be written; then nothing of the line is left.
        """
        data = _encoded(row) + b"\n"
        with self._lock:
            if self._file is not None:
                _write(self._file, data, self._path)
            elif self._path is not None:
                raise StoreClosed(f"{self._path.name} is closed")
            self._rows.append(dict(row))

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None


def _lock(file: int, path: Path) -> None:
    if not _CAN_LOCK:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StoreBusy(f"{path.name} is being written elsewhere; one process at a time goes on with a run") from error


def _encoded(row: Mapping[str, JSON]) -> bytes:
    """Return a line as UTF-8; a lone surrogate, which has no UTF-8, is written as JSON escapes it."""
    try:
        return json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(row).encode()


def _write(file: int, data: bytes, path: Path | None) -> None:
    """Write a line whole or not at all, since others may follow it."""
    size = os.fstat(file).st_size
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.ftruncate(file, size)
        kind = StoreFull if error.errno in _FULL else StoreError
        raise kind(f"{'a line' if path is None else path.name} cannot be written: {error}") from error


_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _read(file: int, path: Path) -> list[dict[str, JSON]]:
    with os.fdopen(os.dup(file), "rb") as reader:
        reader.seek(0)
        data = reader.read()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):  # the process died while it wrote this line
        os.ftruncate(file, whole)
    rows = list[dict[str, JSON]]()
    for number, line in enumerate(data[:whole].split(b"\n")[:-1], 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise StoreCorrupt(f"line {number} of {path.name} is damaged: {error}") from error
        if not isinstance(row, dict):
            raise StoreCorrupt(f"line {number} of {path.name} is no object: {line[:80]!r}")
        rows.append(row)
    return rows
