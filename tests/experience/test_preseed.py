"""Starting with experience from files: whose form, whose vectors, and what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from seasoned import Memory
from seasoned.compat.lifestack import HashEmbedder

DOCUMENT = "Friday 6PM Action: communicate Domain: relationships Reward: 0.72 A quick call."
DECISION = {
    "action_type": "communicate",
    "target_domain": "relationships",
    "reward": 0.72,
    "reasoning": "A quick call.",
    "episode_id": "ep",
    "personality_type": "",
}


def seed_form(documents=(DOCUMENT,), fields=(DECISION,), vectors=None, trajectories=True):
    made = {
        "decisions": {
            "ids": [f"d{place}" for place in range(len(documents))],
            "documents": list(documents),
            "metadatas": list(fields),
            "embeddings": vectors,
        }
    }
    if trajectories:
        made["trajectories"] = {
            "ids": ["t0"],
            "documents": ["TaskDomain: flight_crisis"],
            "metadatas": [
                {"task_id": "flight_crisis", "route_taken": "rebook", "total_reward": 2.5, "summary": '{"steps": 8}'}
            ],
            "embeddings": None,
        }
    return made


@pytest.fixture
def write(tmp_path):
    def written(name, content):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return written


def test_the_seeds_form_is_read(e, write):
    """Decisions and trajectories, with their situations taken from the documents."""
    report = e.preseed(write("a.json", seed_form()))
    assert (report.read, report.written, report.refused, report.skipped) == (2, 2, (), None)
    match = e.similar("Friday 6PM")[0]
    assert (match.id, match.situation, match.action, match.reward) == ("d0", "Friday 6PM", "communicate", 0.72)
    assert (match.domain, match.reasoning, match.episode) == ("relationships", "A quick call.", "ep")
    trajectory = e.similar_trajectories("flight_crisis")[0]
    assert (trajectory.task, trajectory.action, trajectory.summary) == ("flight_crisis", "rebook", {"steps": 8})


def test_a_route_among_the_decisions_is_a_trajectory(e, write):
    """What the seed stored in the wrong place is put right."""
    stray = {"route_taken": "rest", "reward": 1.0}
    e.preseed(write("a.json", seed_form((DOCUMENT, "Burnout"), (DECISION, stray))))
    assert e.stats()["total_memories"] == 1
    assert {match.action for match in e.similar_trajectories("Burnout", n=2)} == {"rest", "rebook"}


def test_files_are_loaded_only_while_there_is_nothing(e, write):
    """The second time the report says why not."""
    path = write("a.json", seed_form())
    e.preseed(path)
    again = e.preseed(path)
    assert (again.written, again.skipped) == (0, "there are decisions already")
    assert e.stats()["total_memories"] == 1


def test_what_cannot_be_read_is_refused_by_name_and_the_rest_is_loaded(e, write):
    """A broken file, a file of something else, a record without action, a NaN reward, an id that stands twice."""
    good = seed_form(trajectories=False)
    bad = seed_form(
        (DOCUMENT, "x", "y", DOCUMENT),
        (DECISION, {"reward": 1.0}, {**DECISION, "reward": float("nan")}, DECISION),
        trajectories=False,
    )
    bad["decisions"]["ids"] = ["d1", "d2", "d3", "d1"]
    paths = [write("a.json", good), write("b.json", "{"), write("c.json", {"x": 1}), write("d.json", bad), "none.json"]
    report = e.preseed(paths)
    assert (report.read, report.written) == (5, 2)
    assert len(report.refused) == 6
    for path, reason in (
        ("b.json", "cannot be read"),
        ("c.json", "neither"),
        ("decisions[2]", "finite"),
        ("none", "read"),
    ):
        assert any(path in line and reason in line for line in report.refused)


def test_our_own_form_makes_the_same_memory_again(make, tmp_path):
    """Decisions, trajectories and feedback, with ids, times, states and tags."""
    e = make().experience
    e.record("Friday", "call", 0.5, metrics={"a": 1}, tags=["x"], episode="ep", id="d", reasoning="why")
    e.record_trajectory("Friday", "route", 1.5, episode="ep", world={"a": None}, summary=["s"])
    e.rate(7, episode="ep", note="fine", improved=["career"])
    assert e.export_preseed(tmp_path / "own.json") == 3
    other = make(("acme", "bob")).experience
    report = other.preseed(tmp_path / "own.json")
    assert (report.read, report.written, report.refused) == (3, 3, ())
    was, now = e.similar("Friday")[0], other.similar("Friday")[0]
    assert (now.id, now.at, now.metrics, now.tags, now.value) == (was.id, was.at, was.metrics, was.tags, was.value)
    assert now.feedback == was.feedback
    assert other.few_shot("Friday").text == e.few_shot("Friday").text
    assert other.similar_trajectories("Friday")[0].summary == ["s"]


def test_vectors_of_our_own_space_are_used(write):
    """Those of the document's formula, in whatever scale, by a memory that embeds so."""
    embedder = HashEmbedder()
    raw = (embedder.embed([DOCUMENT])[0] * 7).tolist()
    with Memory(embedder=embedder) as memory:
        report = memory.experience.preseed(write("a.json", seed_form(vectors=[raw])))
        assert report.vectors == 1
        similar = memory.experience.similar(DOCUMENT)[0]
        assert similar.similarity == pytest.approx(1.0)


def test_vectors_of_another_space_are_not(write):
    """The right size proves nothing: they are made anew, row by row where a file mixes two spaces."""
    embedder, other = HashEmbedder(), np.random.default_rng(1).standard_normal(384)
    own = embedder.embed([DOCUMENT])[0].tolist()
    mixed = seed_form(
        (DOCUMENT, "Other Action: rest"), (DECISION, {**DECISION, "action_type": "rest"}), [own, other.tolist()]
    )
    with Memory(embedder=embedder) as memory:
        report = memory.experience.preseed(write("a.json", mixed))
        assert report.vectors == 1
        found = {match.id: match.similarity for match in memory.experience.similar("Other Action: rest", n=2)}
        assert found["d1"] == pytest.approx(1.0)


def test_the_default_is_a_pattern_under_the_working_directory(e, tmp_path, monkeypatch):
    """data/preseeded_memory*.json, in the order of their names."""
    monkeypatch.chdir(tmp_path)
    assert e.preseed().skipped == "no files found"
    (tmp_path / "data").mkdir()
    for name in ("1", "2"):
        content = seed_form(trajectories=False)
        content["decisions"]["ids"] = [f"d{name}"]
        (tmp_path / "data" / f"preseeded_memory_{name}.json").write_text(json.dumps(content), encoding="utf-8")
    report = e.preseed()
    assert [path[-6:] for path in report.files] == ["1.json", "2.json"]
    assert report.written == 2
