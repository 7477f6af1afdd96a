"""What stands around the pages: a PostgreSQL server and a model behind an endpoint, for those that ask for them."""

from __future__ import annotations

import pytest

from ..models.endpoint import LoopbackEndpoint, chat


@pytest.fixture
def database_url():
    """The URL of an empty database, on a server that is started when it is first asked for."""
    from ..stores.pgserver import asked, server  # it skips the tests that need it where the server is not installed

    asked(server().url, "CREATE DATABASE page")
    yield server().url.replace("/postgres?", "/page?")
    asked(server().url, "DROP DATABASE page WITH (FORCE)")


@pytest.fixture
def ollama_url():
    """The URL of an endpoint where Ollama would be; its model has one answer."""
    opened = LoopbackEndpoint()
    opened.answers(chat("A function that takes a function."))
    yield opened.url
    opened.close()
