"""The documented code of istar, with `seasoned.compat.istar` in its place."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from seasoned.compat.istar import AgentMemory, L1Atom, TurnRecord, atom_id
from seasoned.compat.istar.memory import load_prior_run_notes
from seasoned.compat.istar.models import EpisodePromptContext, L2Episode, RetroPromptContext
from seasoned.compat.istar.protocol import AtomExtractor, EpisodeClassifier, RetroClassifier
from seasoned.errors import InvalidInput
from seasoned.testing import AsyncScriptedModel, ScriptedModel


class Extractor:
    def extract(self, window: list[TurnRecord], existing: list[L1Atom]) -> list[L1Atom]:
        return [
            L1Atom(
                id=f"loss-start-{now.turn}",
                turn=now.turn,
                type="market_event",
                content=f"T{now.turn}: losing since now ({now.reward:.1f}).",
                priority=85,
                tags=["loss_start"],
            )
            for before, now in pairwise(window)
            if before.reward > 0 > now.reward
        ]


class Episodes:
    def build_context(self, recent_turns: list[TurnRecord], prev_turn: int) -> EpisodePromptContext:
        return EpisodePromptContext(
            phase_names=["GROWTH", "PLATEAU", "DECLINE", "RECOVERY"],
            domain_preamble="A trader's phases are followed.",
            context_summary=f"{len(recent_turns)} turns.",
            phase_guidance="By the trend.",
        )


class Retro:
    def build_context(self, all_turns: list[TurnRecord], episodes: list[L2Episode]) -> RetroPromptContext:
        return RetroPromptContext(
            domain_preamble="A trader's run is looked back at.",
            outcome_summary=f"{len(all_turns)} turns.",
            outcome_metric_name="reward",
        )


class Router:
    """Takes its arguments as the document's router does."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = list(replies), list[tuple[str, int, float]]()

    async def chat(self, messages, max_tokens, temperature, tag):
        self.asked.append((tag, max_tokens, temperature))
        return self.replies.pop(0)


def memory(**given: object) -> AgentMemory:
    return AgentMemory(
        atom_extractor=Extractor(),
        episode_classifier=Episodes(),
        retro_classifier=Retro(),
        **given,  # type: ignore[arg-type]
    )


def record(number: int, reward: float = 1.0) -> TurnRecord:
    return TurnRecord(turn=number, reward=reward, reward_unit="pts", events=["spike"], actions_taken=[{"type": "buy"}])


def test_the_documents_quick_start_runs(tmp_path):
    """One turn, then the calls in its order; the block has a plain hyphen."""
    agent, router = memory(), Router("[GROWTH | T1–T25]\nA first gain.", "- Buy at the spike.")

    async def run() -> L2Episode | None:
        agent.record_turn(
            TurnRecord(
                turn=1,
                reward=42.0,
                reward_unit="pts",
                events=["price_spike"],
                actions_taken=[{"type": "buy", "qty": 10}],
                extra={"price": 105.0, "volatility": 0.3},
            )
        )
        assert agent.extract_atoms(turn=1) == []
        episode = await agent.update_episode(router, turn=25)
        assert agent.memory_block() == {"current_phase": "[GROWTH | T1-T25]\nA first gain.", "key_observations": []}
        await agent.summarise_run(router, profile_id="my-agent", profiles_dir=tmp_path / "profiles")
        return episode

    assert asyncio.run(run()) == L2Episode("GROWTH", 1, 25, "A first gain.", 0)
    assert [tag for tag, _, _ in router.asked] == ["episode", "retro"]
    assert router.asked[0] == ("episode", 180, 0.3)
    notes = load_prior_run_notes("my-agent", profiles_dir=Path(tmp_path / "profiles"))
    assert "Buy at the spike." in notes
    assert load_prior_run_notes("other", tmp_path / "profiles") is None


def test_models_may_be_made_by_position_with_their_defaults():
    """As the document orders their fields."""
    assert TurnRecord(1, 2.0, "EUR", [], []).extra == {}
    assert L1Atom("a", 1, "market_event", "x", 50).tags == []
    assert L2Episode("A", 1, 2, "x").heat == 0
    assert EpisodePromptContext(["A"], "b", "c", "d").phase_guidance == "d"
    assert RetroPromptContext("a", "b", "c").outcome_metric_name == "c"
    assert len(atom_id(3, "loss")) == 12


def test_the_protocols_are_checked_at_run_time():
    """By their method."""
    assert isinstance(Extractor(), AtomExtractor)
    assert isinstance(Episodes(), EpisodeClassifier)
    assert isinstance(Retro(), RetroClassifier)
    assert not isinstance(object(), AtomExtractor)


def test_constants_are_overridden_by_a_subclass_or_on_an_instance():
    """At any time."""

    class Quick(AgentMemory):
        EXTRACT_EVERY = 3
        MAX_ATOMS = 2

    agent, found = Quick(Extractor(), Episodes(), Retro()), []
    for number in range(1, 13):
        agent.record_turn(record(number, -1.0 if number % 3 == 0 else 1.0))
        found += agent.extract_atoms(number)
    assert [each.turn for each in found] == [3, 6, 9, 12]
    assert [each[:3] for each in agent.memory_block()["key_observations"]] == ["T12", "T9:"]
    agent.EPISODE_EVERY = 5
    assert asyncio.run(agent.update_episode(None, 12)).turn_end == 12
    agent.EXTRACT_EVERY = 0
    with pytest.raises(InvalidInput, match="extract_every is at least 1"):
        agent.extract_atoms(12)


def test_lessons_accumulate_in_the_file_over_processes(tmp_path):
    """Each with its rows in memory only."""
    for _ in range(3):
        agent = memory()
        agent.record_turn(record(1))
        asyncio.run(agent.summarise_run(AsyncScriptedModel(["## Lessons\n- Buy at the spike."]), "me", tmp_path))
    assert "- Buy at the spike. (3 runs)" in load_prior_run_notes("me", tmp_path)
    assert len(list(tmp_path.glob("me.*.md"))) == 2


def test_with_a_store_a_run_is_gone_on_with(tmp_path):
    """By its id, in its scope; a sync router will do."""
    path = tmp_path / "agent.db"
    with memory(store=path, run_id="game", scope=("acme", "me")) as agent:
        for number in range(1, 16):
            agent.record_turn(record(number, -1.0 if number == 11 else 1.0))
            agent.extract_atoms(number)
    with memory(store=path, run_id="game", scope=("acme", "me")) as agent:
        assert agent.runs.state().last_turn == 15
        for number in range(16, 26):
            agent.record_turn(record(number))
            agent.extract_atoms(number)
        episode = asyncio.run(agent.update_episode(ScriptedModel(["[GROWTH | T1-T25]\nUp."]), 25))
        assert (episode.turn_start, episode.turn_end) == (1, 25)
        assert [each.id for each in agent.runs.atoms()] == ["loss-start-11"]
        asyncio.run(agent.summarise_run(None, "me", tmp_path))
    with pytest.raises(InvalidInput, match="the run 'game' is over"):
        memory(store=path, run_id="game", scope=("acme", "me"))


def test_a_failing_router_raises_nothing():
    """None, and the reason in `last_error`."""
    agent = memory()
    for number in range(1, 26):
        agent.record_turn(record(number))
    assert asyncio.run(agent.update_episode(AsyncScriptedModel([TimeoutError("slow")]), 25)) is None
    assert "TimeoutError: slow" in agent.last_error
