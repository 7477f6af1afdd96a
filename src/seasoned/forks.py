"""Forks: what holds locks or connections is made quiet before one and starts anew in the child."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forkable(Protocol):
    """Something that a fork must not catch in the middle."""

    def before_fork(self) -> None:
        """Become quiet: let go of what a child must not inherit, and hold what others would use meanwhile."""
        ...

    def after_fork_in_parent(self) -> None:
        """Go on."""
        ...

    def after_fork_in_child(self) -> None:
        """Start anew: no lock of the parent's other threads will ever be released here."""
        ...


class StartsAnew:
    """A cache that a child does not take over: its locks may be held by threads that are not there."""

    def before_fork(self) -> None:
        """Do nothing."""

    def after_fork_in_parent(self) -> None:
        """Do nothing."""


_KNOWN: WeakSet[Forkable] = WeakSet()


def watch(one: Forkable) -> None:
    """Have an object told of every fork of this process for as long as it lives."""
    _KNOWN.add(one)


def _before() -> None:
    for one in list(_KNOWN):
        one.before_fork()


def _in_parent() -> None:
    for one in list(_KNOWN):
        one.after_fork_in_parent()


def _in_child() -> None:
    for one in list(_KNOWN):
        one.after_fork_in_child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
