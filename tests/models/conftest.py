"""A real endpoint on the loopback address, and retries that do not wait."""

import pytest
import stamina

from .endpoint import LoopbackEndpoint


@pytest.fixture
def endpoint():
    opened = LoopbackEndpoint()
    yield opened
    opened.close()


@pytest.fixture
def at_once():
    """Retry without waiting in between, by the switch that stamina has for tests."""
    with stamina.set_testing(True, attempts=100, cap=True):
        yield
