"""A real endpoint on the loopback address."""

import pytest

from .endpoint import LoopbackEndpoint


@pytest.fixture
def endpoint():
    opened = LoopbackEndpoint()
    yield opened
    opened.close()
