"""How often and how much run memory writes."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from seasoned.errors import InvalidInput, WrongType

_LEAST: Final = {"narrative_tokens": 20, "notes_tokens": 20, "retries": 0, "profile_versions": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPolicy:
    """The settings of a run memory.

    `extract_every`: atoms are looked for at turns that are multiples of it, or at the first call after one.
    `episode_every`: the same for episodes. `max_atoms`: size of the ring of atoms at hand. `max_episodes`: how many
    episodes, the current one included, stand in the prompt of the next; all stay stored. `narrative_tokens`: longest
    narrative. `retries`: how often a model is asked again when its reply cannot be used. `notes_tokens`: longest notes
    for the next run. `profile_versions`: how many earlier versions of a profile file are kept.

    Raises:
        InvalidInput: a number below its least.
        WrongType: not an integer.
    """

    extract_every: int = 10
    episode_every: int = 25
    max_atoms: int = 20
    max_episodes: int = 5
    narrative_tokens: int = 150
    retries: int = 1
    notes_tokens: int = 600
    profile_versions: int = 5

    def __post_init__(self) -> None:
        for each in fields(self):
            value, least = getattr(self, each.name), _LEAST.get(each.name, 1)
            if isinstance(value, bool) or not isinstance(value, int):
                raise WrongType(f"{each.name} is an integer, not {value!r}")
            if value < least:
                raise InvalidInput(f"{each.name} is at least {least}, found {value}")
