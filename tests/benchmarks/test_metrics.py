"""The measures of a ranking, by hand."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

METRICS = Path(__file__).parents[2] / "benchmarks" / "common" / "metrics.py"

pytestmark = pytest.mark.skipif(not METRICS.is_file(), reason="the benchmarks are not here")


@pytest.fixture
def metrics() -> ModuleType:
    spec = spec_from_file_location("benchmark_metrics", METRICS)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_recall_is_the_share_of_the_evidence_within_the_depth(metrics: ModuleType) -> None:
    """Of b and d only b stands among the first three."""
    assert metrics.recall_at(3, ["a", "b", "c", "d"], {"b", "d"}) == 0.5
    assert metrics.recall_at(4, ["a", "b", "c", "d"], {"b", "d"}) == 1.0


def test_ndcg_discounts_by_place_and_is_one_for_the_best_order(metrics: ModuleType) -> None:
    """One answer in second place gains 1/log2(3) of 1; two answers in front gain all there is."""
    assert metrics.ndcg_at(10, ["a", "b"], {"b"}) == pytest.approx(0.6309297535714575)
    assert metrics.ndcg_at(10, ["a", "b"], {"a", "b"}) == 1.0
    assert metrics.ndcg_at(10, ["a"], {"b"}) == 0.0


def test_ndcg_of_more_evidence_than_depth_can_be_one(metrics: ModuleType) -> None:
    """The best that ten places can hold is ten answers."""
    gold = {str(number) for number in range(12)}
    assert metrics.ndcg_at(10, [str(number) for number in range(10)], gold) == pytest.approx(1.0)


def test_a_percentile_is_a_value_that_was_measured(metrics: ModuleType) -> None:
    """The median of 1 to 4 by rank is 3; the top is the largest."""
    assert metrics.percentile([4, 1, 3, 2], 0.5) == 3
    assert metrics.percentile([4, 1, 3, 2], 1.0) == 4
