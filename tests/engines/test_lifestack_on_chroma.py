"""LifeStackMemory on Chroma, where its document keeps it: in a folder, and found again after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("chromadb")

from seasoned.compat.lifestack import HashEmbedder, LifeStackMemory, OutcomeFeedback
from seasoned.stores.chroma import ChromaStore

METRICS = {"relationships.romantic": 55, "mental_wellbeing.stress_level": 80}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "lifestack_memory"


@pytest.fixture
def store(folder: Path) -> Iterator[ChromaStore]:
    opened = ChromaStore(folder)
    yield opened
    opened.close()


def opened(store: ChromaStore) -> LifeStackMemory:
    return LifeStackMemory(silent=True, store=store, embedder=HashEmbedder(), preseed=False)


def lived(memory: LifeStackMemory) -> None:
    """The document's decision, its feedback, and a trajectory."""
    memory.store_decision(
        conflict_title="Friday 6PM",
        action_type="communicate",
        target_domain="relationships",
        reward=0.72,
        metrics_snapshot=METRICS,
        reasoning="A call in time keeps the evening.",
        episode_id="ep_1",
    )
    memory.store_feedback(OutcomeFeedback(episode_id="ep_1", overall_effectiveness=8, unexpected_effects="It helped."))
    memory.store_trajectory(task_id="flight_task", route_taken="rebook", total_reward=2.5)


def test_what_was_lived_is_found_after_a_restart(store, folder):
    """Decision, feedback, trajectory and figures, from the folder alone."""
    with opened(store) as memory:
        lived(memory)
    store.close()
    again = ChromaStore(folder)
    with opened(again) as memory:
        similar = memory.retrieve_similar("Friday evening", METRICS, n=3)
        assert [(one["action_type"], one["reward"]) for one in similar] == [("communicate", 0.72)]
        assert memory.retrieve_feedback("ep_1").overall_effectiveness == 8
        assert memory.retrieve_similar_trajectories("flight")[0]["route_taken"] == "rebook"
        assert memory.build_few_shot_prompt("Friday evening", METRICS).splitlines()[1:] == [
            "- Action Taken: [COMMUNICATE] on RELATIONSHIPS",
            "  Agent's Initial Reasoning: A call in time keeps the evening.",
            "  HUMAN FEEDBACK: Rated 8/10. Notes: It helped.",
        ]
        assert memory.get_stats() == {
            "total_memories": 1,
            "average_reward": 0.72,
            "by_action_type": {"communicate": 1},
        }
    again.close()


def test_as_many_come_back_as_were_asked_for(store):
    """Three of three that are eligible, none of a dozen failures before them, though no episode was named."""
    with opened(store) as memory:
        for place in range(12):
            memory.store_decision(f"late train {place}", f"wait{place}", "career", 0.01, METRICS)
        for place in range(3):
            memory.store_decision(f"late train again {place}", f"call{place}", "career", 0.8, METRICS)
        found = memory.retrieve_similar("late train", METRICS, n=3)
    assert sorted(one["action_type"] for one in found) == ["call0", "call1", "call2"]


def test_scopes_over_one_collection_share_nothing(store):
    """Two people's memories in one folder."""
    with (
        LifeStackMemory(True, store=store, scope=("a",), embedder=HashEmbedder(), preseed=False) as one,
        LifeStackMemory(True, store=store, scope=("b",), embedder=HashEmbedder(), preseed=False) as other,
    ):
        lived(one)
        assert other.retrieve_similar("Friday 6PM", METRICS) == []
        assert other.retrieve_feedback("ep_1") is None
        assert one.get_stats()["total_memories"] == 1


def test_the_newest_feedback_stands(store):
    """A second one is not dropped."""
    with opened(store) as memory:
        lived(memory)
        memory.store_feedback(OutcomeFeedback(episode_id="ep_1", overall_effectiveness=2))
        assert memory.retrieve_feedback("ep_1").overall_effectiveness == 2
