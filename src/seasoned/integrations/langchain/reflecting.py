"""Reflecting: what one message and one run of an agent teach, by rules, and with a model where there is one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from seasoned.asking import Flow
from seasoned.integrations.langchain.framework import AIMessage
from seasoned.integrations.langchain.runs import told
from seasoned.playbook import (
    DeltaEntry,
    DeterministicReflector,
    Entry,
    ModelReflector,
    Reflection,
    Reflector,
    Trace,
)
from seasoned.playbook.reflecting import reflect_message
from seasoned.playbook.reflections import Reflected, as_reflection

RULES = DeterministicReflector(notes=False)
"""Failures of tools and of the run, and what changed until a call worked; notes come with each message."""


def of_message(latest: AIMessage) -> list[DeltaEntry]:
    """Return the neutral note of what a model said or called; nothing where it did neither."""
    return reflect_message(told(latest))


def of_run(trace: Trace, entries: Sequence[Entry], *, with_model: bool) -> Reflected | Flow[Reflected]:
    """Return what a run teaches by rules; with a model, its insight and its marks for the entries used, too."""
    return _with_model(trace, entries) if with_model else RULES.reflect(trace, entries)


def _with_model(trace: Trace, entries: Sequence[Entry]) -> Flow[Reflected]:
    rules = yield from _whole(RULES, trace, entries)
    view = yield from _whole(ModelReflector(otherwise=RULES), trace, entries)
    return replace(view, deltas=(*rules.deltas, *(each for each in view.deltas if each not in rules.deltas)))


def _whole(reflector: Reflector, trace: Trace, entries: Sequence[Entry]) -> Flow[Reflection]:
    given = reflector.reflect(trace, entries)
    return as_reflection((yield from given) if isinstance(given, Generator) else given)
