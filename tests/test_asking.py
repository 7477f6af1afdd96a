"""Flows driven sync and async, over every form of model."""

import asyncio
import contextvars
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser

from seasoned.asking import Ask, arun, resolve_model, run
from seasoned.errors import InvalidInput, ModelError, WrongType
from seasoned.testing import AsyncScriptedModel, ScriptedModel

HELLO = {"role": "user", "content": "hello"}
VARIABLE = contextvars.ContextVar("VARIABLE", default="unset")


def ask(text="hello", **options):
    return Ask(messages=[{"role": "user", "content": text}], **{"max_tokens": 10, **options})


def echo():
    """Ask once and return the reply."""
    return (yield ask())


def outcome():
    """Ask once and return the reply, or the error as a pair."""
    try:
        return (yield ask(tag="here"))
    except ModelError as error:
        return str(error), type(error.__cause__)


def drive_sync(flow, model):
    return run(flow, model)


def drive_async(flow, model):
    return asyncio.run(arun(flow, model))


def drive_sync_inside_a_loop(flow, model):
    async def main():
        return run(flow, model)

    return asyncio.run(main())


@pytest.fixture(params=[drive_sync, drive_async, drive_sync_inside_a_loop])
def drive(request):
    return request.param


class Streaming:
    def chat(self, messages, *, max_tokens, temperature, tag):
        yield from ("he", None, "llo")


class AsyncStreaming:
    async def chat(self, messages, *, max_tokens, temperature, tag):
        for chunk in ("he", "llo"):
            yield chunk


class Both:
    def chat(self, messages, *, max_tokens, temperature, tag):
        return "hello"

    async def achat(self, messages, *, max_tokens, temperature, tag):
        return "hello"


class Callable:
    async def __call__(self, messages):
        return messages[0]["content"]


async def async_function(messages):
    return messages[0]["content"]


async def async_chunks(messages):
    yield "he"
    yield "llo"


BLOCKS = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "he"}, "l", {"type": "text", "text": "lo"}]

MODELS = {
    "chat": lambda: ScriptedModel(["hello"]),
    "async chat": lambda: AsyncScriptedModel(["hello"]),
    "chat and achat": Both,
    "chunks": Streaming,
    "async chunks": AsyncStreaming,
    "function": lambda: lambda messages: messages[0]["content"],
    "function giving chunks": lambda: lambda messages: iter(messages[0]["content"]),
    "async function": lambda: async_function,
    "async generator": lambda: async_chunks,
    "function giving a coroutine": lambda: lambda messages: async_function(messages),
    "function giving an async generator": lambda: lambda messages: async_chunks(messages),
    "callable object": Callable,
    "LangChain": lambda: FakeListChatModel(responses=["hello"]),
    "LangChain with blocks": lambda: GenericFakeChatModel(messages=iter([AIMessage(content=BLOCKS)])),
    "LangChain chain": lambda: FakeListChatModel(responses=["hello"]) | StrOutputParser(),
    "resolved": lambda: resolve_model(ScriptedModel(["hello"])),
}


@pytest.mark.parametrize("form", MODELS)
def test_every_form_of_model_is_driven_sync_and_async(drive, form):
    """The whole text comes back, of streams and blocks too."""
    assert drive(echo(), MODELS[form]()) == "hello"


def test_the_question_arrives_whole(drive):
    """Messages, limits and tag reach the model as the flow gave them."""
    model = ScriptedModel(["hi"])

    def flow():
        return (yield Ask(messages=[HELLO], max_tokens=180, temperature=0.3, tag="episode"))

    assert drive(flow(), model) == "hi"
    (call,) = model.calls
    assert (call.messages, call.max_tokens, call.temperature, call.tag) == ((HELLO,), 180, 0.3, "episode")


def test_a_flow_asks_as_often_as_it_likes_and_may_ask_nothing(drive):
    """Replies come in order; without a question no model is needed."""

    def three():
        return [(yield ask()), (yield ask()), (yield ask())]

    def none():
        return 42
        yield

    assert drive(three(), ScriptedModel(["1", "2", "3"])) == ["1", "2", "3"]
    assert drive(none(), None) == 42


def test_no_reply_is_an_empty_text(drive):
    """A model that gives None said nothing."""
    assert drive(echo(), lambda messages: None) == ""
    assert drive(echo(), lambda messages: "") == ""


@pytest.mark.parametrize("error", [TimeoutError("late"), ValueError("bad"), StopIteration("odd"), LookupError()])
@pytest.mark.parametrize("kind", [ScriptedModel, AsyncScriptedModel])
def test_an_error_of_the_model_is_raised_where_the_flow_asked(drive, kind, error):
    """As a ModelError with the tag, from the original; the flow decides what follows."""
    message, cause = drive(outcome(), kind([error]))
    assert message.startswith("the model failed at 'here': ")
    assert cause is (RuntimeError if kind is AsyncScriptedModel and type(error) is StopIteration else type(error))


def test_a_model_error_of_the_model_arrives_as_it_is(drive):
    """What already is a ModelError is not wrapped again."""
    assert drive(outcome(), ScriptedModel([ModelError("refused")])) == ("refused", type(None))


def test_a_flow_that_lets_the_error_pass_ends_in_it(drive):
    """The caller gets the ModelError."""
    with pytest.raises(ModelError, match="late"):
        drive(echo(), ScriptedModel([TimeoutError("late")]))


def test_a_flow_may_ask_again_after_an_error(drive):
    """An error does not end the flow."""

    def twice():
        try:
            return (yield ask())
        except ModelError:
            return (yield ask())

    assert drive(twice(), ScriptedModel([TimeoutError(), "second"])) == "second"


@pytest.mark.parametrize("reply", [b"bytes", 42, ["list"], {"content": "x"}, object(), (1,), ("a", b"b")])
def test_a_reply_that_is_not_text_is_a_model_error(drive, reply):
    """Nothing is turned into text by guessing, in a stream neither."""
    message, _ = drive(outcome(), lambda messages: iter(reply) if isinstance(reply, tuple) else reply)
    assert message.startswith("a model's reply is text, not ")


def test_a_stream_that_breaks_is_an_error_and_not_half_a_reply(drive):
    """The chunks before the failure are not taken for the whole."""

    def chunks(messages):
        yield "The capital of Lat"
        raise ConnectionError("reset")

    async def async_chunks(messages):
        yield "The capital of Lat"
        raise ConnectionError("reset")

    for model in (chunks, async_chunks):
        assert drive(outcome(), model) == ("the model failed at 'here': ConnectionError: reset", ConnectionError)


def test_without_a_model_every_question_is_a_model_error(drive):
    """So a flow falls back to what it does without one."""
    message, _ = drive(outcome(), None)
    assert message == "no model was given to ask for 'here'"


@pytest.mark.parametrize("model", ["gpt", 42, ScriptedModel, object()])
def test_what_is_no_model_is_refused(drive, model):
    """A name, a class or any other object raises before the flow begins."""
    started = []

    def flow():
        started.append(True)
        yield ask()

    with pytest.raises(WrongType, match="a model is"):
        drive(flow(), model)
    assert started == []


def test_what_is_no_flow_is_refused(drive):
    """Neither a function not yet called nor a list."""
    for wrong in (echo, [ask()], None):
        with pytest.raises(WrongType, match="a flow is a generator"):
            drive(wrong, ScriptedModel([]))


def test_a_flow_that_yields_something_else_is_closed_and_refused(drive):
    """Its own cleaning up still runs."""
    closed = []

    def flow():
        try:
            yield "hello"
        finally:
            closed.append(True)

    with pytest.raises(WrongType, match="a flow yields Ask, not 'hello'"):
        drive(flow(), ScriptedModel([]))
    assert closed == [True]


def test_an_error_of_the_flow_itself_is_not_touched(drive):
    """What a step raises comes out as it is."""

    def flow():
        yield ask()
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        drive(flow(), ScriptedModel(["hi"]))


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("kind", [ScriptedModel, AsyncScriptedModel])
def test_an_interrupt_is_never_swallowed(kind, interrupt):
    """A flow that catches every error of a model does not catch this one, and is closed; the next run works."""
    closed = []

    def flow():
        try:
            yield ask()
        except Exception:  # noqa: BLE001  # that it is not caught here is what is shown
            return "swallowed"
        finally:
            closed.append(True)

    with pytest.raises(interrupt):
        run(flow(), kind([interrupt()]))
    assert closed == [True]
    assert run(echo(), kind(["hello"])) == "hello"


def test_the_model_cannot_change_the_flows_messages(drive):
    """It gets a copy, whatever it does to it."""
    parts = [{"type": "text", "text": "hello"}]

    def flow():
        yield Ask(messages=[{"role": "user", "content": parts}], max_tokens=5)
        return parts

    def spoil(messages):
        messages[0]["content"].clear()
        return ""

    assert drive(flow(), spoil) == [{"type": "text", "text": "hello"}]


def test_context_variables_reach_the_flow_and_the_model(drive):
    """Those of the caller, and those that the flow sets before it asks."""

    def model(messages):
        return VARIABLE.get()

    async def async_model(messages):
        return VARIABLE.get()

    def flow():
        seen = [VARIABLE.get(), (yield ask())]
        VARIABLE.set("of the flow")
        return [*seen, (yield ask()), VARIABLE.get()]

    for each in (model, async_model):
        context = contextvars.copy_context()
        context.run(VARIABLE.set, "of the caller")
        found = context.run(drive, flow(), each)
        assert found == ["of the caller", "of the caller", "of the flow", "of the flow"]


def test_arun_keeps_the_steps_and_a_sync_model_off_the_event_loop():
    """Only an async model runs where the loop runs."""
    where = []

    def flow():
        where.append(threading.get_ident())
        yield ask()
        where.append(threading.get_ident())

    def model(messages):
        where.append(threading.get_ident())
        return ""

    async def async_model(messages):
        assert threading.get_ident() == loop_thread
        return ""

    loop_thread = threading.get_ident()
    asyncio.run(arun(flow(), model))
    asyncio.run(arun(flow(), async_model))
    assert len(where) == 5
    assert loop_thread not in where


def test_slow_sync_models_do_not_hold_up_the_steps_of_others():
    """Forty flows wait for a model at once, though the loop's executor has two threads."""
    together = threading.Barrier(40, timeout=30)

    def model(messages):
        together.wait()
        return "met"

    async def main():
        with ThreadPoolExecutor(2) as executor:
            asyncio.get_running_loop().set_default_executor(executor)
            return await asyncio.gather(*(arun(echo(), model) for _ in range(40)))

    assert asyncio.run(main()) == ["met"] * 40


@pytest.mark.parametrize("is_async", [True, False])
def test_a_cancelled_arun_closes_the_flow_and_raises(is_async):
    """Whether it waits for an async model or one in a thread, and at once."""
    asked, released, closed = threading.Event(), threading.Event(), []

    def flow():
        try:
            yield ask()
        except Exception:  # noqa: BLE001  # that it is not caught here is what is shown
            return "swallowed"
        finally:
            closed.append(True)

    def model(messages):
        asked.set()
        released.wait(30)
        return "too late"

    async def async_model(messages):
        asked.set()
        await asyncio.Event().wait()

    async def main():
        task = asyncio.create_task(arun(flow(), async_model if is_async else model))
        await asyncio.to_thread(asked.wait)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert closed == [True]
    assert not released.is_set()
    released.set()


def test_a_step_under_way_is_finished_before_a_cancelled_arun_closes_the_flow():
    """A step never runs in two threads at once, however often the task is cancelled."""
    entered, released, order = threading.Event(), threading.Event(), []

    def flow():
        try:
            entered.set()
            released.wait(30)
            order.append("step")
            yield ask()
        finally:
            order.append("closed")

    async def main():
        task = asyncio.create_task(arun(flow(), ScriptedModel(["never asked"])))
        await asyncio.to_thread(entered.wait)
        for _ in range(3):
            task.cancel()
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(order.append, "cancelled"))])
        assert not task.done()
        released.set()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert order == ["cancelled", "cancelled", "cancelled", "step", "closed"]


def test_a_model_that_catches_its_cancelling_does_not_swallow_it():
    """The flow gets neither its reply nor its error."""
    asked, told = threading.Event(), []

    def flow():
        try:
            told.append((yield ask()))
        except ModelError as error:
            told.append(error)

    async def stubborn(messages):
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "never mind"

    async def main():
        task = asyncio.create_task(arun(flow(), stubborn))
        await asyncio.to_thread(asked.wait)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert told == []


def test_a_time_limit_around_arun_works():
    """`asyncio.timeout` ends it with TimeoutError."""

    async def model(messages):
        await asyncio.Event().wait()

    async def main():
        async with asyncio.timeout(0.01):
            await arun(echo(), model)

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_async_models_keep_one_loop_over_all_sync_runs():
    """What a client opened on the loop in one run is usable in the next, from any thread."""
    loops = set()

    async def model(messages):
        loops.add(asyncio.get_running_loop())
        return "hi"

    run(echo(), model)
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: run(echo(), model), range(8))) == ["hi"] * 8
    asyncio.run(arun(echo(), ScriptedModel(["hi"])))
    assert len(loops) == 1


def test_an_async_model_that_runs_another_async_model_by_a_sync_verb_is_told():
    """It would wait for itself for ever."""

    async def inner(messages):
        return "inner"

    async def model(messages):
        return run(echo(), inner)

    message, _ = run(outcome(), model)
    assert "let it await the async verb" in message


def test_a_process_with_a_used_loop_ends_quietly():
    """No warning and no wait at the end, though the loop's thread was running."""
    program = (
        "from seasoned.asking import Ask, run\n"
        "async def model(messages):\n    return 'hi'\n"
        "def flow():\n    return (yield Ask(messages=[{'role': 'user', 'content': 'x'}], max_tokens=1))\n"
        "print(run(flow(), model))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-X", "dev", "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"messages": []}, InvalidInput),
        ({"max_tokens": 0}, InvalidInput),
        ({"temperature": -0.1}, InvalidInput),
        ({"temperature": float("nan")}, InvalidInput),
        ({"messages": "hello"}, WrongType),
        ({"messages": HELLO}, WrongType),
        ({"max_tokens": 1.5}, WrongType),
        ({"max_tokens": True}, WrongType),
        ({"temperature": "hot"}, WrongType),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_when_made(options, error):
    """The flow learns of it where it asks, not the provider."""
    with pytest.raises(error):
        Ask(**{"messages": [HELLO], "max_tokens": 5, **options})


def test_langchain_gets_the_tag():
    """As a tag of the run, where its callbacks see it."""
    tags = []

    class Seen(FakeListChatModel):
        def invoke(self, input, config=None, **kwargs):  # noqa: A002  # LangChain's name
            tags.append(config)
            return super().invoke(input, config, **kwargs)

    def flow():
        yield ask(tag="episode")
        yield ask()

    run(flow(), Seen(responses=["hi"]))
    assert tags == [{"tags": ["episode"]}, None]
