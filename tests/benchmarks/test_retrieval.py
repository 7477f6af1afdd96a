"""The retrieval benchmarks, run as their users run them, on sets small enough to check by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
OURS = "seasoned, no model"

pytestmark = pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="the benchmarks are not here")


def run(script: str, data: Path, folder: Path, *more: str) -> tuple[dict[str, dict[str, object]], str]:
    """Run a benchmark without a model and without peers; give its figures and what it printed."""
    out = folder / "out.json"
    command = [sys.executable, str(BENCHMARKS / script), "--data", str(data), "--json", str(out)]
    done = subprocess.run(
        [*command, "--embedder", "hashing", "--peer-python", str(folder / "no-python"), *more],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text(encoding="utf-8"))["figures"], done.stdout


def locomo_sample() -> dict[str, object]:
    """Two sessions; every question but one shares its rare words with one turn only."""
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ada",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "I adopted a hedgehog called Pepper."},
                {"speaker": "Ben", "dia_id": "D1:2", "text": "Lovely!", "blip_caption": "a wooden sailboat"},
            ],
            "session_2_date_time": "9:00 am on 3 June, 2023",
            "session_2": [
                {"speaker": "Ben", "dia_id": "D2:1", "text": "My violin lessons begin on Tuesday."},
                {"speaker": "Ada", "dia_id": "D2:2", "text": "The marathon in Oslo was cold."},
            ],
        },
        "qa": [
            {"question": "Who adopted a hedgehog?", "answer": "Ada", "evidence": ["D1:1"], "category": 4},
            {"question": "Which sailboat was shown?", "answer": "wooden", "evidence": ["D1:02; D9:9"], "category": 1},
            {"question": "violin or marathon?", "answer": "both", "evidence": ["D:2:1", "D2:2"], "category": 1},
            {"question": "Quantum zebra?", "answer": "none", "evidence": ["D2:2"], "category": 2},
            {"question": "Whose hedgehog?", "adversarial_answer": "Ben", "evidence": ["D1:1"], "category": 5},
            {"question": "Nothing known?", "answer": "none", "evidence": ["D7:1"], "category": 3},
        ],
    }


def test_locomo_counts_the_evidence_that_was_found_by_category(tmp_path: Path) -> None:
    """Of four scored questions three are answered whole and one not at all; unknown evidence is no question."""
    data = tmp_path / "tiny.json"
    data.write_text(json.dumps([locomo_sample()]), encoding="utf-8")

    figures, printed = run("locomo.py", data, tmp_path)

    totals, categories = figures["totals"][OURS], figures["by_category"][OURS]
    assert isinstance(totals, dict)
    assert isinstance(categories, dict)
    assert totals["questions"] == 4
    assert totals["recall@5"] == totals["recall@10"] == totals["recall@20"] == 0.75
    assert {name: found["recall@10"] for name, found in categories.items()} == {"1": 1, "2": 0, "4": 1, "5": 1}
    assert {name: found["questions"] for name, found in categories.items()} == {"1": 2, "2": 1, "4": 1, "5": 1}
    assert "| seasoned, no model |" in printed


def test_locomo_says_which_baseline_was_skipped_and_why(tmp_path: Path) -> None:
    """A peer whose Python is not there costs nothing but its row."""
    data = tmp_path / "tiny.json"
    data.write_text(json.dumps([locomo_sample()]), encoding="utf-8")

    figures, printed = run("locomo.py", data, tmp_path)

    assert list(figures["totals"]) == [OURS]
    assert list(figures["skipped"]) == ["BM25 (bm25s)"]
    assert "BM25 (bm25s): skipped: " in printed


def beam_chat(folder: Path) -> None:
    """Two batches of one turn each, with the marks that the published files have."""
    said = [
        (1, "user", "I am building a budget tracker in Flask. ->-> 1,1", "March-15-2024"),
        (2, "assistant", "Start with the routes.", None),
        (3, "user", "My gluten allergy rules out bread. ->-> 2,1", None),
        (4, "assistant", "Then rice noodles will do.", None),
    ]
    messages = [{"id": each, "role": role, "content": text, "time_anchor": at} for each, role, text, at in said]
    batches = [{"batch_number": 1, "turns": [messages[:2]]}, {"batch_number": 2, "turns": [messages[2:]]}]
    questions = {
        "abstention": [{"question": "What is my salary?"}],
        "knowledge_update": [
            {"question": "Which allergy?", "source_chat_ids": {"original_info": [3], "updated_info": [[4, 99]]}}
        ],
        "information_extraction": [
            {"question": "Flask tracker?", "source_chat_ids": ["1"]},
            {"question": "Platypus?", "source_chat_ids": [2]},
        ],
    }
    folder.mkdir()
    (folder / "chat.json").write_text(json.dumps(batches), encoding="utf-8")
    (folder / "probing_questions.json").write_text(json.dumps(questions), encoding="utf-8")


def test_beam_reads_nested_evidence_and_leaves_out_questions_without_any(tmp_path: Path) -> None:
    """Three questions have evidence; the allergy and its neighbour are found, the platypus is not."""
    data = tmp_path / "beam"
    data.mkdir()
    beam_chat(data / "1")

    figures, _ = run("beam.py", data, tmp_path)

    totals, categories = figures["totals"][OURS], figures["by_category"][OURS]
    assert isinstance(totals, dict)
    assert isinstance(categories, dict)
    assert totals["questions"] == 3
    assert totals["recall@10"] == pytest.approx(2 / 3)
    assert {name: found["recall@10"] for name, found in categories.items()} == {
        "information_extraction": 0.5,
        "knowledge_update": 1.0,
    }
