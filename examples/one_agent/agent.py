"""The agent: a fixed rule that acts by what its context says, and writes what happened into all four memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from examples.one_agent.cliff import FALL, INSTRUCTION, LIMIT, MOVES, beside, cell, seen
from examples.one_agent.reading import ROUTE, WARNING, Known, known
from seasoned import Memory
from seasoned.joined.policy import ContextPolicy
from seasoned.models.openai_compatible import OpenAICompatible
from seasoned.ports import Message
from seasoned.runs import L2Episode, RetroPromptContext, RewardRetro, TurnRecord

BUDGET: Final = 2_000
EXPLORE: Final = 0.03
"""How often a move is tried that the context says nothing of, where it does of others."""


@dataclass(frozen=True, slots=True)
class Step:
    """A move: from which cell, what it was, its reward, and the trace of the context that it was chosen by."""

    cell: str
    move: str
    reward: float
    trace: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What of memory an agent is shown: the shares of its contexts, and how many messages of the run; None for all."""

    policy: ContextPolicy = ContextPolicy(recall_k=0)  # noqa: RUF009  # frozen
    window: int | None = None


class Agent:
    """One agent over its runs; without a memory it is the same agent, and knows nothing but where it stands."""

    def __init__(
        self, seed: int, memory: Memory | None, shown: Shown | None = None, model: OpenAICompatible | None = None
    ) -> None:
        self._memory, self._shown, self._model = memory, shown or Shown(), model
        self._luck = Random(f"one-agent/{seed}")
        self._run = ""
        if memory is not None:
            memory.runs.configure(retro_classifier=Routes(memory))

    def begin(self, run: str) -> None:
        """Start a run."""
        self._run = run
        if self._memory is not None:
            self._memory.runs.start_run(run)

    def act(self, observation: object, steps: Sequence[Step]) -> tuple[int, str | None]:
        """Return the number of the move to make, and the trace of the context that it was chosen by."""
        name = cell(observation)
        messages, trace = self._context(name, steps)
        move = self._asked(messages) if self._model else self._chosen(name, known(messages, name), steps)
        if self._memory is not None:
            self._memory.conversation.add({"role": "assistant", "content": move}, self._run)
        return MOVES.index(move), trace

    def _context(self, name: str, steps: Sequence[Step]) -> tuple[list[Message], str | None]:
        fell = (steps[-1].cell, steps[-1].move) if steps and steps[-1].reward == FALL else None
        said: Message = {"role": "user", "content": seen(name, fell)}
        if self._memory is None:
            return [{"role": "system", "content": INSTRUCTION}, said], None
        self._memory.conversation.add(said, self._run)
        context = self._memory.context(
            f"cell {name}",
            BUDGET,
            session=self._run,
            run=self._run,
            instruction=INSTRUCTION,
            policy=self._shown.policy,
            window_size=self._shown.window,
        )
        return context.messages, context.trace

    def _asked(self, messages: Sequence[Message]) -> str:
        """Return the move that a model names; one at random where it names none."""
        assert self._model is not None
        reply = self._model.chat(messages, max_tokens=8, temperature=0.0, tag="move").lower()
        named = [move for move in MOVES if move in reply]
        return named[0] if len(named) == 1 else self._luck.choice(MOVES)

    def _chosen(self, name: str, told: Known, steps: Sequence[Step]) -> str:
        """Return the move that examples and route promise most of, now and then one that nothing is known of."""
        promised = dict(told.values)
        for move, left in _next(told.route, steps).items():
            promised[move] = max(1 - left / LIMIT, promised.get(move, 0.0))
        safe = [move for move in MOVES if move not in told.warned]
        good = {move: value for move, value in promised.items() if move in safe and value > 0}
        fresh = [move for move in safe if move not in promised and beside(name, move) not in (name, *told.walked)]
        if fresh and (self._luck.random() < EXPLORE or not good):
            return self._luck.choice(fresh)
        return max(good, key=lambda move: good[move]) if good else self._luck.choice(safe or MOVES)

    def learn(self, steps: Sequence[Step]) -> None:
        """Write down the last step: a turn of the run; a warning and a bad outcome where it led over the cliff."""
        if self._memory is None:
            return
        step, number = steps[-1], len(steps)
        fell = step.reward == FALL
        events = ["fell"] if fell else []
        where = {"cell": step.cell}
        self._memory.runs.record_turn(TurnRecord(number, step.reward, "points", events, [{"type": step.move}], where))
        if fell:
            self._memory.playbook.add(WARNING.format(step.cell, step.move), "cliff", "failure")
            if step.trace is not None:
                self._memory.outcome(step.trace, reward=-1, note="It led over the cliff.", by="environment")

    def end(self, steps: Sequence[Step], *, reached: bool) -> None:
        """Close the run: its moves become experience, its route a lesson; the last context is credited."""
        if self._memory is None:
            return
        self._memory.runs.summarise_run(None)
        if reached and steps[-1].trace is not None:
            self._memory.outcome(steps[-1].trace, reward=1, note="It led to the goal.", by="environment")
        following = 0.0
        for step in reversed(steps):
            following += step.reward
            if reached or step.reward == FALL:
                self._record(step, max(-1.0, 1 + following / LIMIT))

    def _record(self, step: Step, value: float) -> None:
        """Store what a move came to, unless it came to as much before."""
        assert self._memory is not None
        situation = f"cell {step.cell}"
        near = self._memory.experience.similar(
            situation, n=1, tags=[step.cell], actions=[step.move], min_reward=None, diverse=False
        )
        if not near or (near[0].reward or 0.0) < value:
            self._memory.experience.record(situation, step.move, value, tags=[step.cell])


def _next(route: Sequence[str], steps: Sequence[Step]) -> dict[str, int]:
    """Return the next move of a route that was followed since the start, and how many are left; {} off the route."""
    last_fall = max((place for place, step in enumerate(steps) if step.reward == FALL), default=-1)
    made = [step.move for step in steps[last_fall + 1 :]]
    followed = len(made) < len(route) and list(route[: len(made)]) == made
    return {route[len(made)]: len(route) - len(made)} if followed else {}


class Routes:
    """The domain's rule for lessons: the way from the start to the goal, where it is shorter than any known."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._figures = RewardRetro()

    def build_context(self, all_turns: list[TurnRecord], episodes: list[L2Episode]) -> RetroPromptContext:
        """Return what the retrospective is written from."""
        return self._figures.build_context(all_turns, episodes)

    def lessons(self, all_turns: list[TurnRecord], episodes: list[L2Episode]) -> list[str]:  # noqa: ARG002  # the protocol's form
        """Return the route as a lesson; none where the goal was not reached, or a route as short is known."""
        last_fall = max((place for place, turn in enumerate(all_turns) if "fell" in turn.events), default=-1)
        moves = [str(action["type"]) for turn in all_turns[last_fall + 1 :] for action in turn.actions_taken]
        if not moves or not _reaches_the_goal(moves):
            return []
        letters = "".join(move[0].upper() for move in moves)
        known_routes = [len(_letters(lesson.text)) for lesson in self._memory.runs.lessons()]
        return [] if known_routes and min(known_routes) <= len(letters) else [ROUTE.format(len(letters), letters)]


def _letters(text: str) -> str:
    return text.rpartition(": ")[2].rstrip(".")


def _reaches_the_goal(moves: Sequence[str]) -> bool:
    at = "r3c0"
    for move in moves:
        at = beside(at, move)
    return at == "r3c11"
