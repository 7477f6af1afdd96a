"""Progress on stderr: a bar where rich is installed, a line at the start where it is not."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Each = TypeVar("Each")


def track(items: Sequence[Each], what: str) -> Iterator[Each]:
    """Yield the items, and show how many are done."""
    yield from _bar(items, what)


def say(what: str) -> None:
    """Show what begins now."""
    print(what, file=sys.stderr, flush=True)


def _bar(items: Sequence[Each], what: str) -> Iterable[Each]:
    try:
        from rich.console import Console
        from rich.progress import track as rich_track
    except ImportError:
        say(what)
        return items
    return rich_track(items, description=what, console=Console(stderr=True), total=len(items))
