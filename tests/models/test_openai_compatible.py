"""The client, against a real HTTP endpoint on the loopback address."""

import asyncio
import base64
import itertools
import logging
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from seasoned.asking import Ask, arun, run
from seasoned.errors import EmbeddingError, InvalidInput, ModelError
from seasoned.models.openai_compatible import OpenAICompatible, Usage
from seasoned.ports import Embedder, Fingerprint

from .endpoint import Step, chat, vectors

QUESTION = [{"role": "user", "content": "What is the capital of Latvia?"}]
AT_ONCE = {"retry-after-ms": "1"}
"""Asks for the next try without the usual wait."""


@pytest.fixture
def client(endpoint):
    with OpenAICompatible("small", endpoint.url, api_key="sk-secret", embedding_model="tiny") as opened:
        yield opened


def test_a_chat_sends_model_messages_and_limits_and_returns_the_text(endpoint, client):
    """The request has the form of OpenAI's reference, and the tag stays here."""
    endpoint.answers(chat("Riga."))
    assert client.chat(QUESTION, max_tokens=50, temperature=0.25, tag="capital") == "Riga."
    (asked,) = endpoint.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == "Bearer sk-secret"
    assert asked.body == {"model": "small", "messages": QUESTION, "max_tokens": 50, "temperature": 0.25}


def test_without_a_key_no_authorization_is_sent(endpoint):
    """A local endpoint needs no key."""
    endpoint.answers(chat("Riga."))
    with OpenAICompatible("small", endpoint.url + "/", headers={"X-Team": "blue"}) as client:
        client.chat(QUESTION)
    assert "authorization" not in endpoint.asked[0].headers
    assert endpoint.asked[0].headers["x-team"] == "blue"
    assert endpoint.asked[0].path == "/v1/chat/completions"


def test_an_async_chat_gives_the_same(endpoint, client):
    """`achat` is `chat` without holding up the loop."""
    endpoint.answers(chat("Riga."))
    assert asyncio.run(client.achat(QUESTION, max_tokens=9)) == "Riga."
    assert endpoint.asked[0].body["max_tokens"] == 9


def test_flows_are_driven_by_it_sync_and_async(endpoint, client):
    """`run` uses `chat` and `arun` uses `achat`."""

    def capital():
        return (yield Ask(messages=QUESTION, max_tokens=5))

    endpoint.answers(chat("Riga."))
    assert run(capital(), client) == "Riga."
    assert asyncio.run(arun(capital(), client)) == "Riga."


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (chat([{"type": "text", "text": "Ri"}, {"type": "text", "text": "ga"}]), "Riga"),
        (chat([{"type": "image_url", "image_url": {}}, {"type": "text", "text": "Riga"}, "!"]), "Riga!"),
        (chat(""), ""),
        (chat(None), ""),
        (chat("Riga", refusal=None), "Riga"),
        ({"choices": [{"message": {"content": "Riga"}}]}, "Riga"),
        ({"choices": [{"message": {"content": "Riga"}}], "usage": {"prompt_tokens": "many"}}, "Riga"),
    ],
)
def test_every_usual_form_of_content_is_read(endpoint, client, answer, text):
    """Text, parts, nothing, and answers without usage are all replies."""
    endpoint.answers(answer)
    assert client.chat(QUESTION) == text


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (chat(None, refusal="I cannot help."), "the model refused: 'I cannot help.'"),
        (chat([{"type": "refusal", "refusal": "No."}]), "the model refused: 'No.'"),
        (chat(None, finish="content_filter"), "the model refused (content filter)"),
        (chat(None, finish="length"), "cut before any text; raise max_tokens"),
        (chat(42), "content that is neither text nor a list of parts"),
        ({"choices": []}, "answered 200 without a reply"),
        ({"choices": [None]}, "answered 200 without a reply"),
        ({"error": {"message": "overloaded"}}, "overloaded"),
        ([1, 2], "not a JSON object"),
        (Step(b"<!doctype html><h1>Sign in</h1>"), "a web page, not JSON: '<!doctype html><h1>Sign in</h1>'"),
        (Step(b'{"choices": [{"mess'), '{"choices": [{"mess'),
        (Step(b""), "an empty body"),
        (Step(b"[" * 200_000), "not a JSON object"),
        (Step(b"\xff\xfe"), "not a JSON object"),
        (Step({"error": {"message": "no such model"}}, status=404), "answered 404"),
        (Step(b"moved", status=307, headers={"location": "http://127.0.0.1:9/"}), "answered 307"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_says_why(endpoint, client, step, says):
    """Nothing unusable becomes an empty reply, and none of it is asked twice."""
    endpoint.answers(step)
    with pytest.raises(ModelError) as caught:
        client.chat(QUESTION)
    assert says in str(caught.value)
    assert len(endpoint.asked) == 1


def test_an_error_shows_no_more_than_the_first_200_characters(endpoint, client):
    """A page of HTML does not fill the log."""
    endpoint.answers(Step(b"x" * 10_000, status=400))
    with pytest.raises(ModelError) as caught:
        client.chat(QUESTION)
    assert "x" * 200 + "'…" in str(caught.value)
    assert "x" * 201 not in str(caught.value)


def test_a_reply_cut_at_the_limit_is_returned_counted_and_logged_without_its_text(endpoint, client, caplog):
    """The text so far is of use, and nothing is silent."""
    endpoint.answers(chat("The capital of Lat", finish="length"))
    with caplog.at_level(logging.DEBUG):
        assert client.chat(QUESTION, max_tokens=4, tag="capital") == "The capital of Lat"
    assert client.usage.cut == 1
    assert "max_tokens=4, tag 'capital'" in caplog.text
    assert "Lat" not in caplog.text


def test_usage_adds_up_over_calls(endpoint, client):
    """Requests and tokens are counted as the endpoint reports them."""
    endpoint.answers(chat("Riga."), chat("Riga."), vectors((0, [1.0, 0.0])))
    client.chat(QUESTION)
    client.chat(QUESTION)
    client.embed(["Riga"])
    assert client.usage == Usage(requests=3, prompt_tokens=22, completion_tokens=14, embedding_tokens=5)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_a_passing_status_is_tried_again(endpoint, client, status):
    """The second answer counts, and both requests are counted."""
    endpoint.answers(Step({}, status=status, headers=AT_ONCE), chat("Riga."))
    assert client.chat(QUESTION) == "Riga."
    assert client.usage.requests == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_lasting_status_is_not_tried_again(endpoint, client, status):
    """What is wrong stays wrong."""
    endpoint.answers(Step({"error": {"message": "no"}}, status=status))
    with pytest.raises(ModelError, match=f"answered {status}"):
        client.chat(QUESTION)
    assert len(endpoint.asked) == 1


def test_retries_end(endpoint, client):
    """Two retries are three requests, then the last answer is the error."""
    endpoint.answers(*(Step(body, status=503, headers=AT_ONCE) for body in (b"one", b"two", b"three")))
    with pytest.raises(ModelError, match="answered 503: 'three'"):
        client.chat(QUESTION)
    assert len(endpoint.asked) == 3


def test_a_dropped_connection_is_tried_again(endpoint, client):
    """Sync and async, a server that hangs up without an answer gets the question once more."""
    endpoint.answers(Step(drop=True), chat("Riga."), Step(drop=True), chat("Riga."))
    assert client.chat(QUESTION) == "Riga."
    assert asyncio.run(client.achat(QUESTION)) == "Riga."
    assert len(endpoint.asked) == 4


def test_nobody_listening_is_a_model_error(endpoint):
    """The error names the address, what the system said, and what to look at on this machine."""
    endpoint.close()
    with (
        OpenAICompatible("small", endpoint.url, retries=1) as client,
        pytest.raises(ModelError, match=r"/v1/chat/completions: Conn.*; is a server running there\? give base_url="),
    ):
        client.chat(QUESTION)
    assert client.usage.requests == 2


@pytest.mark.parametrize("ask", [OpenAICompatible.chat, lambda client, asked: asyncio.run(client.achat(asked))])
def test_a_retry_is_logged_as_ours_with_its_number_and_reason(endpoint, client, caplog, ask):
    """One line at INFO a retry, sync and async, and none of another library's."""
    endpoint.answers(*[Step({}, status=429, headers={"retry-after-ms": "100"})] * 2, chat("Riga."))
    with caplog.at_level(logging.INFO):
        ask(client, QUESTION)
    assert [each for each in caplog.record_tuples if not each[0].startswith(("httpx2", "httpcore"))] == [
        ("seasoned.models", logging.INFO, "attempt 1 of 3 failed (status 429), the next in 0.1 s"),
        ("seasoned.models", logging.INFO, "attempt 2 of 3 failed (status 429), the next in 0.1 s"),
    ]


@pytest.mark.parametrize(("name", "value"), [("retry-after-ms", "20"), ("Retry-After", "0.02")])
def test_the_wait_that_the_endpoint_asks_for_is_kept(endpoint, name, value):
    """Five waits of the 20 ms asked for, where the usual ones would add up to 15 seconds and more."""
    endpoint.answers(*[Step({}, status=429, headers={name: value})] * 5, chat("Riga."))
    with OpenAICompatible("small", endpoint.url, retries=5) as client:
        assert client.chat(QUESTION) == "Riga."
    times = [asked.at for asked in endpoint.asked]
    assert all(later - sooner >= 0.02 for sooner, later in itertools.pairwise(times))
    assert times[-1] - times[0] < 10


def test_an_endpoint_that_asks_for_an_hour_is_not_waited_for(endpoint, client):
    """The error comes at once and says how long the endpoint asked for."""
    endpoint.answers(Step({}, status=429, headers={"Retry-After": "3600"}))
    with pytest.raises(ModelError, match="answered 429, asking to wait '3600'"):
        client.chat(QUESTION)
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("step", [Step(hold=True), Step(chat("Riga" * 50), trickle=True)])
def test_a_reply_that_is_too_slow_ends_in_an_error_and_is_not_asked_for_again(endpoint, step):
    """An endpoint that says nothing, or a byte at a time, is given up after `timeout_s`."""
    endpoint.answers(step)
    with OpenAICompatible("small", endpoint.url, timeout_s=0.3) as client:
        with pytest.raises(ModelError, match=r"no whole answer within 0\.3 s"):
            client.chat(QUESTION)
        with pytest.raises(ModelError, match=r"no whole answer within 0\.3 s"):
            asyncio.run(client.achat(QUESTION))
    assert len(endpoint.asked) == 2


def test_an_answer_without_end_is_not_read_to_the_end(endpoint, client):
    """Over 32 MiB the client stops."""
    endpoint.answers(Step(b" " * (33 * 2**20)))
    with pytest.raises(ModelError, match="larger than 33554432 bytes"):
        client.chat(QUESTION)
    with pytest.raises(ModelError, match="larger than 33554432 bytes"):
        asyncio.run(client.achat(QUESTION))


def test_a_model_that_wants_other_names_for_the_limits_is_asked_by_them(endpoint, client):
    """After a refusal of `max_tokens` and of `temperature` the request is changed, and later ones start so."""

    def refused(param, code):
        return Step({"error": {"message": "no", "param": param, "code": code}}, status=400)

    endpoint.answers(
        refused("max_tokens", "unsupported_parameter"),
        refused("temperature", "unsupported_value"),
        chat("Riga."),
        chat("Riga."),
    )
    assert client.chat(QUESTION, max_tokens=8) == "Riga."
    assert client.chat(QUESTION, max_tokens=8) == "Riga."
    wanted = {"model": "small", "messages": QUESTION, "max_completion_tokens": 8}
    assert [asked.body for asked in endpoint.asked[2:]] == [wanted, wanted]
    assert "max_tokens" not in endpoint.asked[1].body


def test_a_refusal_that_changing_did_not_help_is_the_error(endpoint, client):
    """An endpoint that refuses whatever is asked does not make a loop."""
    endpoint.answers(Step({"error": {"param": "max_tokens", "code": "unsupported_parameter"}}, status=400))
    with pytest.raises(ModelError, match="answered 400"):
        client.chat(QUESTION)
    assert len(endpoint.asked) == 2


def test_embeddings_are_put_in_the_order_of_the_texts(endpoint, client):
    """The index of each vector counts, not its place in the answer; rows are unit."""
    endpoint.answers(vectors((2, [0.0, 5.0]), (0, [2.0, 0.0]), (1, [3.0, 4.0])))
    rows = client.embed(["a", "b", "c"])
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[1, 0], [0.6, 0.8], [0, 1]], rtol=1e-6)
    assert endpoint.asked[0].path == "/v1/embeddings"
    assert endpoint.asked[0].body == {"model": "tiny", "input": ["a", "b", "c"], "encoding_format": "float"}


def test_many_texts_go_in_batches(endpoint, client):
    """Five texts in batches of two are three requests, and five rows in order."""
    endpoint.answers(vectors((0, [1, 0]), (1, [0, 1])), vectors((1, [1, 0]), (0, [0, 1])), vectors((0, [1, 0])))
    rows = client.embed(["a", "b", "c", "d", "e"], batch=2)
    np.testing.assert_array_equal(rows, [[1, 0], [0, 1], [0, 1], [1, 0], [1, 0]])
    assert [asked.body["input"] for asked in endpoint.asked] == [["a", "b"], ["c", "d"], ["e"]]


def test_base64_vectors_are_read_too(endpoint, client):
    """Some endpoints give nothing else, though lists were asked for."""
    endpoint.answers(vectors((0, base64.b64encode(struct.pack("<2f", 3.0, 4.0)).decode())))
    np.testing.assert_allclose(client.embed(["a"]), [[0.6, 0.8]], rtol=1e-6)


def test_vectors_without_index_are_taken_in_their_order(endpoint, client):
    """Some endpoints leave the index out."""
    endpoint.answers({"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]})
    np.testing.assert_array_equal(asyncio.run(client.aembed(["a", "b"])), [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (vectors((0, [1.0])), "with 1 vectors for 2 texts"),
        (vectors((0, [1.0]), (1, [1.0]), (2, [1.0])), "with 3 vectors for 2 texts"),
        ({"data": None}, "with no vectors for 2 texts"),
        (vectors((0, [1.0]), (0, [1.0])), "for other texts than the 2 asked for"),
        (vectors((0, [1.0]), (7, [1.0])), "for other texts than the 2 asked for"),
        (vectors((0, [1.0]), ("1", [1.0])), "for other texts than the 2 asked for"),
        (vectors((0, [1.0, 2.0]), (1, [1.0])), "not a table of numbers"),
        (vectors((0, [1.0, None]), (1, [1.0, 1.0])), "not a list of numbers"),
        (vectors((0, None), (1, [1.0])), "not a list of numbers"),
        (vectors((0, "?"), (1, "?")), "not a list of numbers"),
        (vectors((0, [1e999]), (1, [1.0])), "not finite"),
        (vectors((0, []), (1, [])), "shape (2, 0)"),
        (Step({"error": "no such model"}, status=404), "answered 404"),
    ],
)
def test_wrong_embeddings_are_refused(endpoint, client, answer, says):
    """No vector is guessed, dropped or given to another text."""
    endpoint.answers(answer)
    with pytest.raises(EmbeddingError) as caught:
        client.embed(["a", "b"])
    assert says in str(caught.value)


def test_a_batch_of_another_dimension_is_refused(endpoint, client):
    """Vectors of two dimensions are of two models."""
    endpoint.answers(vectors((0, [1, 0])), vectors((0, [1, 0, 0])))
    with pytest.raises(EmbeddingError, match=r"\(1, 3\), wanted \(1, 2\)"):
        client.embed(["a", "b"], batch=1)


def test_the_embedder_finds_its_dimension_at_the_first_call(endpoint, client):
    """The fingerprint is the model's name, the caller's version and the dimension seen."""
    endpoint.answers(vectors((0, [1, 0, 0])))
    embedder = client.embedder(version="2026-11", weight=0.5)
    assert endpoint.asked == []
    assert embedder.embed(["a"]).shape == (1, 3)
    assert embedder.fingerprint == Fingerprint("tiny", "2026-11", 3)
    assert embedder.weight == 0.5
    assert isinstance(embedder, Embedder)
    assert len(endpoint.asked) == 1


def test_dimensions_given_are_asked_for_known_and_held_to(endpoint):
    """With `dimensions` the fingerprint needs no call, and another answer is refused."""
    endpoint.answers(vectors((0, [1, 0])))
    with OpenAICompatible("small", endpoint.url, embedding_model="tiny", dimensions=3) as client:
        assert client.embedder().fingerprint == Fingerprint("tiny", "1", 3)
        assert endpoint.asked == []
        with pytest.raises(EmbeddingError, match=r"wanted \(1, 3\)"):
            client.embed(["a"])
    assert endpoint.asked[0].body["dimensions"] == 3


def test_blank_texts_are_sent_as_a_dot_and_no_texts_not_at_all(endpoint, client):
    """Endpoints refuse an empty text; a row is due for each all the same."""
    endpoint.answers(vectors((0, [1, 0]), (1, [1, 0])))
    assert client.embed([]).shape == (0, 0)
    assert client.embed(["", " \n"]).shape == (2, 2)
    assert [asked.body["input"] for asked in endpoint.asked] == [[".", "."]]


def test_embedding_needs_a_model_for_it(endpoint):
    """The chat model is never asked for vectors by mistake."""
    with OpenAICompatible("small", endpoint.url) as client, pytest.raises(InvalidInput, match="embedding_model"):
        client.embed(["a"])
    with pytest.raises(InvalidInput, match="embedding_model"):
        client.embedder()


def test_neither_key_nor_text_is_shown_or_logged(endpoint, client, caplog):
    """Not by repr, not by the log of a retry, not by an error in which the endpoint repeats the key."""
    endpoint.answers(
        Step({"said": "sk-secret Latvia"}, status=503, headers=AT_ONCE),
        Step({"error": "bad key sk-secret"}, status=401),
    )
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError, match=r"bad key \*\*\*") as caught:
        client.chat(QUESTION)
    for shown in (
        repr(client),
        str(caught.value),
        repr(caught.value),
        caplog.text,
        *(map(str, map(vars, caplog.records))),
    ):
        assert "sk-secret" not in shown
        assert "Latvia" not in shown
    assert repr(client) == f"OpenAICompatible('small', '{endpoint.url}', api_key='***')"


@pytest.mark.parametrize(
    "options",
    [
        {"base_url": "localhost:11434"},
        {"base_url": "ftp://localhost/v1"},
        {"base_url": "http://"},
        {"base_url": "http://user:sk-secret@localhost/v1"},
        {"api_key": "sk-secret\n"},
        {"api_key": "sk-secret\r\nx: y"},
        {"api_key": "sk-secret„"},
        {"headers": {"x": "sk-secret\n"}},
        {"timeout_s": 0},
        {"timeout_s": float("nan")},
        {"retries": -1},
        {"dimensions": 0},
    ],
)
def test_settings_that_cannot_work_are_refused_when_made(options):
    """And the refusal shows no key."""
    with pytest.raises(InvalidInput) as caught:
        OpenAICompatible("small", **options)
    assert "sk-secret" not in str(caught.value)


def test_the_environment_is_read_only_when_asked(endpoint, monkeypatch):
    """`from_env` takes key and address from it; the constructor takes none."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    endpoint.answers(chat("Riga."))
    with OpenAICompatible("small", endpoint.url) as plain, OpenAICompatible.from_env("small") as told:
        plain.chat(QUESTION)
        told.chat(QUESTION)
    assert "authorization" not in endpoint.asked[0].headers
    assert endpoint.asked[1].headers["authorization"] == "Bearer sk-env"


def test_from_env_needs_a_key(monkeypatch):
    """A missing key is said before the first request."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY is not set"):
        OpenAICompatible.from_env("small")


def test_a_proxy_of_the_environment_does_not_stand_before_this_machine(endpoint, monkeypatch):
    """A loopback address is asked directly."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    endpoint.answers(chat("Riga."))
    with OpenAICompatible("small", endpoint.url) as client:
        assert client.chat(QUESTION) == "Riga."


def test_a_closed_client_says_so(endpoint):
    """Closing twice is harmless; calling after it is an error, and sends nothing."""
    client = OpenAICompatible("small", endpoint.url, embedding_model="tiny")
    client.close()
    client.close()
    with pytest.raises(ModelError, match="closed"):
        client.chat(QUESTION)
    with pytest.raises(EmbeddingError, match="closed"):
        asyncio.run(client.aembed(["a"]))
    assert endpoint.asked == []


def test_many_threads_and_loops_share_one_client(endpoint, client):
    """Each gets its own reply, on whatever loop or thread it asks."""
    endpoint.answers(chat("Riga."))

    async def both():
        return await asyncio.gather(client.achat(QUESTION), client.achat(QUESTION))

    with ThreadPoolExecutor(8) as threads:
        plain = [threads.submit(client.chat, QUESTION) for _ in range(16)]
        loops = [threads.submit(asyncio.run, both()) for _ in range(4)]
        assert {future.result() for future in plain} == {"Riga."}
        assert [future.result() for future in loops] == [["Riga.", "Riga."]] * 4
    assert client.usage == Usage(requests=24, prompt_tokens=24 * 11, completion_tokens=24 * 7)


def test_connections_are_kept_by_sync_calls_and_within_async_with(endpoint):
    """Two calls in a row go over one connection."""
    endpoint.answers(chat("Riga."))

    async def two():
        async with OpenAICompatible("small", endpoint.url) as client:
            await client.achat(QUESTION)
            await client.achat(QUESTION)

    with OpenAICompatible("small", endpoint.url) as client:
        client.chat(QUESTION)
        client.chat(QUESTION)
    asyncio.run(two())
    first, second, third, fourth = (asked.connection for asked in endpoint.asked)
    assert first == second
    assert third == fourth


def test_a_cancelled_async_chat_ends_at_once(endpoint):
    """The wait for the endpoint is given up when the task is cancelled."""
    endpoint.answers(Step(hold=True))

    async def cancelled():
        with OpenAICompatible("small", endpoint.url) as client:
            task = asyncio.create_task(client.achat(QUESTION))
            await asyncio.to_thread(endpoint.arrived.wait)
            task.cancel()
            await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert not endpoint.released.is_set()


@pytest.mark.parametrize("package", ["httpx2", "tenacity"])
def test_a_missing_package_names_the_extra(package):
    """Importing works without it, and making a client says what to install."""
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from seasoned.errors import MissingExtra\n"
        "from seasoned.models.openai_compatible import OpenAICompatible\n"
        "try:\n    OpenAICompatible('small')\n"
        "except MissingExtra as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{package} is not installed; run: pip install 'seasoned[openai]'\n"


def test_a_connection_opened_in_one_thread_serves_another(endpoint, client):
    """The second call comes from another thread, over the same connection."""
    endpoint.answers(chat("Riga."))
    client.chat(QUESTION)
    replies = []
    thread = threading.Thread(target=lambda: replies.append(client.chat(QUESTION)))
    thread.start()
    thread.join()
    assert replies == ["Riga."]
    assert endpoint.asked[0].connection == endpoint.asked[1].connection
