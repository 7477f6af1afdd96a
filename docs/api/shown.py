"""What the API pages show otherwise than sources have it: verbs that are awaited, and the tree of errors."""

from __future__ import annotations

import textwrap
from typing import Any

import griffe

MAKERS = ("asking", "reading", "working")
"""The functions of `seasoned.aio.shell` that make a coroutine of a verb."""


class Awaited(griffe.Extension):
    """Shows `recall = working(Memory.recall)` as the coroutine that it is, and the tree of errors as a tree."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Replace such attributes by functions when all of the package is loaded."""
        if pkg.name != "seasoned":
            return
        tree = pkg["errors"].docstring
        first, _, lines = tree.value.partition("\n\n")
        tree.value = f"{first}\n\n{textwrap.indent(lines, '    ')}"
        pkg["aio.shell.Shell"].members.pop("__init_subclass__", None)
        for module in ("aio.memory", "aio.memories"):
            for shell in pkg[module].classes.values():
                for name, attribute in list(shell.attributes.items()):
                    verb = _verb_of(attribute, pkg)
                    if verb is not None:
                        shell.set_member(name, _awaited(attribute, verb))


def _verb_of(attribute: griffe.Attribute, pkg: griffe.Module) -> griffe.Function | None:
    """Return the verb that an attribute is made of; None where it is made of none."""
    value = attribute.value
    if not isinstance(value, griffe.ExprCall) or str(value.function) not in MAKERS:
        return None
    owner, _, name = value.arguments[0].canonical_path.removeprefix(f"{pkg.name}.").rpartition(".")
    found = pkg[owner].all_members[name]
    return found.final_target if found.is_alias else found


def _awaited(attribute: griffe.Attribute, verb: griffe.Function) -> griffe.Function:
    """Return the coroutine of a verb, at the place of the attribute."""
    made = griffe.Function(
        attribute.name,
        lineno=attribute.lineno,
        endlineno=attribute.endlineno,
        parameters=verb.parameters,
        returns=verb.returns,
        docstring=verb.docstring,
        runtime=attribute.runtime,
    )
    made.labels |= {"async"}
    return made
