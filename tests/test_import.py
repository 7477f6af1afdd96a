"""`import seasoned` loads what every memory needs, and each of the four memories where it is first used."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import seasoned
from seasoned import ConversationMemory, Playbook, RunMemory
from seasoned.experience import ExperienceMemory

LATER = ("aio", "conversation", "experience", "playbook", "runs", "stores.encrypted", "playbook.adapt", "compat")


def loaded(code: str) -> set[str]:
    """The parts of the package that are loaded after some code, in a process of its own."""
    code = f"import sys, seasoned\n{code}\nprint(*(n for n in {LATER} if 'seasoned.' + n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_memories_are_loaded_when_one_is_first_used():
    """Not with the package, nor for notes: they are more than half of it."""
    assert loaded("") == set()
    notes = 'm = seasoned.Memory(embedder="hashing"); m.remember("tea"); m.recall("tea"); m.list()'
    assert loaded(notes) == set()
    assert loaded(f"{notes}; m.conversation") == {"conversation", "experience", "playbook", "runs"}
    assert loaded("from seasoned import RunPolicy") == {"runs"}
    assert loaded("from seasoned import AsyncMemory") >= {"aio", "conversation", "runs"}


def test_what_is_loaded_later_is_what_type_checkers_are_told():
    """The names for them stand in one block and the modules in one table, which say the same."""
    (block,) = [
        node
        for node in ast.parse(Path(seasoned.__file__).read_text("utf-8")).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    ]
    told = {node.module: tuple(alias.name for alias in node.names) for node in block.body}
    assert told == seasoned._LATER
    for module, names in told.items():
        for name in names:
            assert getattr(seasoned, name) is getattr(sys.modules[module], name)
            assert name in dir(seasoned)


def test_a_name_that_is_not_there_is_an_attribute_error():
    """As of any module, so that `hasattr` and `from seasoned import …` say what they always say."""
    assert not hasattr(seasoned, "Nothing")
    with pytest.raises(ImportError, match="Nothing"):
        exec("from seasoned import Nothing")  # noqa: S102  # our own text


@pytest.mark.parametrize(
    "owner",
    [seasoned.Memory, ConversationMemory, RunMemory, ExperienceMemory, Playbook],
    ids=lambda each: each.__name__,
)
def test_the_type_hints_of_every_verb_can_be_read(owner):
    """Whoever makes tools for a model from methods reads them at run time."""
    verbs = [each for name, each in inspect.getmembers(owner, inspect.isfunction) if not name.startswith("_")]
    assert len(verbs) > 10
    for verb in verbs:
        assert "return" in typing.get_type_hints(verb), verb.__name__
