"""What the tests of single engines share: notes of one scope, and small disks that can be full or read-only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from seasoned.query import Query
from seasoned.records import Key, Record, Scope

ALICE = Scope(("acme", "alice"))


def note(id_, text="", **fields):
    """A note of Alice."""
    return Record(key=Key(ALICE, "note", id_), text=text, at=datetime(2026, 1, 31, tzinfo=UTC), **fields)


def listed(store):
    """The ids that Alice has, oldest first."""
    return [hit.id for hit in store.find(Query(scope=ALICE, k=10_000)).hits]


def said(store, words):
    """The ids that words find, best first."""
    return [hit.id for hit in store.find(Query(scope=ALICE, words=words)).hits]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, Callable[[str], None]]]:
    """A disk of one megabyte of its own, and a way to mount it again with other options."""
    place = tmp_path / "disk"
    place.mkdir()
    if os.geteuid() != 0 or _mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)) != 0:
        pytest.skip("a small disk can be mounted only by root, where mounting is allowed")
    yield place, lambda options: _remount(options, place)
    subprocess.run(["umount", "-l", str(place)], check=True)


def _mount(*options: str) -> int:
    try:
        return subprocess.run(["mount", *options], check=False, capture_output=True).returncode
    except FileNotFoundError:
        return -1


def _remount(options: str, place: Path) -> None:
    assert _mount("-o", f"remount,{options}", str(place)) == 0
