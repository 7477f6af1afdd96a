"""The visible branch of a conversation whose edits and regenerations make it a tree."""

from __future__ import annotations

from collections.abc import Mapping


def visible(parents: Mapping[str, str | None], leaf: str) -> list[str]:
    """Return the ids from the root down to `leaf`; a cycle or an unknown parent ends the walk."""
    path: dict[str, None] = {}
    at: str | None = leaf
    while at is not None and at in parents and at not in path:
        path[at] = None
        at = parents[at]
    return list(reversed(path))
