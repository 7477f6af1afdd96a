"""A playbook in this process, as an adaptation finds it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from seasoned.playbook import Playbook


@pytest.fixture
def playbook() -> Iterator[Playbook]:
    with Playbook(embedder="hashing") as made:
        yield made
