r"""Asking a model: a verb that must wait is a generator of questions, driven here, sync or async.

A verb that needs a model yields an `Ask` and is sent the reply's text:

    def summarise(texts: list[str]) -> Flow[str]:
        reply = yield Ask(messages=[{"role": "user", "content": "\n".join(texts)}], max_tokens=200, tag="summary")
        return reply.strip()

    summary = run(summarise(texts), model)
    summary = await arun(summarise(texts), model)

So its logic is written once. Where the model fails, a `ModelError` is raised at the `yield`, and the verb decides.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import contextvars
import copy
import inspect
import threading
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeAlias, TypeVar

from seasoned.errors import InvalidInput, ModelError, WrongType
from seasoned.ports import ChatModel, Message
from seasoned.private_loop import is_private_loop, wait_for
from seasoned.records import finite

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question to a model: the messages, the most tokens of the reply, the temperature, and a tag for logs.

    Raises:
        InvalidInput: no messages, `max_tokens` below 1, or a temperature that is negative or not finite.
        WrongType: a field of another type.
    """

    messages: Sequence[Message]
    max_tokens: int
    temperature: float = 0.0
    tag: str = ""

    def __post_init__(self) -> None:
        if isinstance(self.messages, (str, bytes, Mapping)) or not isinstance(self.messages, Sequence):
            raise WrongType(f"messages are a list of messages, not {type(self.messages).__name__}")
        if isinstance(self.max_tokens, bool) or not isinstance(self.max_tokens, int):
            raise WrongType(f"max_tokens is an integer, not {self.max_tokens!r}")
        if not self.messages or self.max_tokens < 1:
            raise InvalidInput(f"a model is asked with messages and at least 1 token, not {self.max_tokens!r}")
        if finite(self.temperature, "a temperature") < 0:
            raise InvalidInput(f"a temperature is at least 0, found {self.temperature!r}")
        object.__setattr__(self, "messages", tuple(self.messages))


Flow: TypeAlias = Generator[Ask, str, T]
"""A verb that needs a model: yields questions, is sent the replies, returns its result."""

Reply: TypeAlias = str | Iterator[str] | AsyncIterator[str] | None
"""What a model gives: text, None (taken as ""), or its chunks, which are joined."""


class LangChainModel(Protocol):
    """What is used of a LangChain chat model or runnable; LangChain itself is not imported."""

    def invoke(self, input: list[Message], /) -> object:  # noqa: A002  # the name that LangChain gives it
        """Return a message, or text."""
        ...

    def ainvoke(self, input: list[Message], /) -> Awaitable[object]:  # noqa: A002  # as above
        """Return a message, or text."""
        ...


Model: TypeAlias = ChatModel | LangChainModel | Callable[[list[Message]], Reply | Awaitable[Reply]]
"""A model as callers have it; `resolve_model` says what each form is."""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """How a model is asked: `call` by `run`, `acall` by `arun`. An `acall` that is not a coroutine gets a thread."""

    call: Callable[[Ask], object]
    acall: Callable[[Ask], object]
    has_coroutine: bool


def resolve_model(model: Model | ResolvedModel | None) -> ResolvedModel:
    """Return how `model` is asked. It gets a copy of the messages, so it may change them.

    One of, the first that fits: an object with `chat(messages, *, max_tokens, temperature, tag)`, sync or async, and
    if it has an async `achat` too, `arun` uses that; a LangChain chat model (`invoke` and `ainvoke`; its own settings
    stand, of the question only the messages and the tag reach it); a callable that takes the list of messages, sync
    or async. None is no model: each question raises a `ModelError` in the verb.

    Raises:
        WrongType: none of these, or a class in place of an object.
    """
    if isinstance(model, ResolvedModel):
        return model
    if model is None:
        return ResolvedModel(_nobody, _nobody, has_coroutine=False)
    if not isinstance(model, type):
        if callable(chat := getattr(model, "chat", None)):
            achat = getattr(model, "achat", None)
            return _resolved(_chatting(chat), chat) if not callable(achat) else _pair(_chatting(chat), _chatting(achat))
        if callable(invoke := getattr(model, "invoke", None)) and callable(ainvoke := getattr(model, "ainvoke", None)):
            return _pair(_invoking(invoke), _invoking(ainvoke))
        if callable(model):
            return _resolved(_calling(model), model)
    raise WrongType(
        "a model is an object with chat(messages, *, max_tokens, temperature, tag), a LangChain chat model or a "
        f"function from messages to text, not {model!r:.80}"
    )


def run(flow: Flow[T], model: Model | ResolvedModel | None) -> T:
    """Drive `flow` to its end and return its result, waiting for each reply in this thread.

    An async model runs on one private event loop in a background thread, the same for every call, so its open
    connections stay usable; whether a loop runs in this thread does not matter, but it is blocked meanwhile. The
    caller's context variables are seen by the flow and by the model.

    Raises:
        WrongType: not a flow or not a model, or the flow yielded something other than an `Ask`.
        ModelError: the model failed or replied with something that is not text, and the flow let it pass.
    """
    resolved = resolve_model(model)
    try:
        turn = _advance(_checked(flow), None)
        while isinstance(turn, Ask):
            turn = _advance(flow, _outcome(resolved, turn))
    except BaseException:
        _close(flow)
        raise
    return turn.value


async def arun(flow: Flow[T], model: Model | ResolvedModel | None) -> T:
    """Drive `flow` to its end and return its result; nothing of it runs on the event loop but an async model.

    The flow's own steps run in the loop's default executor, one at a time, all in one copy of the caller's context; a
    sync model runs in a thread of its own. Cancelled, it waits for the step under way (a store's write is short and
    whole), closes the flow and raises; an async model is cancelled, a sync one is no longer waited for.

    Raises:
        WrongType: not a flow or not a model, or the flow yielded something other than an `Ask`.
        ModelError: the model failed or replied with something that is not text, and the flow let it pass.
    """
    resolved = resolve_model(model)
    context = contextvars.copy_context()
    try:
        turn = await _off_loop(context, partial(_advance, _checked(flow), None))
        while isinstance(turn, Ask):
            outcome = await _aoutcome(resolved, turn, context)
            turn = await _off_loop(context, partial(_advance, flow, outcome))
    except GeneratorExit:  # nothing can be awaited any more; the flow is closed when it is collected
        raise
    except BaseException:
        await _off_loop(context, partial(_close, flow))
        raise
    return turn.value


def _chatting(chat: Callable[..., object]) -> Callable[[Ask], object]:
    def call(ask: Ask) -> object:
        return chat(_copied(ask), max_tokens=ask.max_tokens, temperature=ask.temperature, tag=ask.tag)

    return call


def _invoking(invoke: Callable[..., object]) -> Callable[[Ask], object]:
    def call(ask: Ask) -> object:
        return invoke(_copied(ask), config={"tags": [ask.tag]} if ask.tag else None)

    return call


def _calling(function: Callable[[list[Message]], object]) -> Callable[[Ask], object]:
    def call(ask: Ask) -> object:
        return function(_copied(ask))

    return call


def _nobody(ask: Ask) -> object:
    raise ModelError(f"no model was given to ask for {ask.tag!r}")


def _copied(ask: Ask) -> list[Message]:
    return copy.deepcopy(list(ask.messages))


def _pair(call: Callable[[Ask], object], acall: Callable[[Ask], object]) -> ResolvedModel:
    return ResolvedModel(call, acall, has_coroutine=True)


def _resolved(call: Callable[[Ask], object], function: object) -> ResolvedModel:
    called = getattr(type(function), "__call__", None)  # noqa: B004  # is it async, not: can it be called
    kinds = (inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return ResolvedModel(call, call, has_coroutine=any(kind(function) or kind(called) for kind in kinds))


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    value: T


def _checked(flow: Flow[T]) -> Flow[T]:
    if not isinstance(flow, Generator):
        raise WrongType(f"a flow is a generator that yields Ask, not {flow!r:.80}")
    return flow


def _advance(flow: Flow[T], outcome: str | ModelError | None) -> Ask | _Done[T]:
    try:
        if isinstance(outcome, ModelError):
            asked: object = flow.throw(outcome)
        else:
            asked = next(flow) if outcome is None else flow.send(outcome)
    except StopIteration as end:
        return _Done(end.value)
    if not isinstance(asked, Ask):
        raise WrongType(f"a flow yields Ask, not {asked!r:.80}")
    return asked


def _close(flow: object) -> None:
    if isinstance(flow, Generator):
        flow.close()


def _outcome(model: ResolvedModel, ask: Ask) -> str | ModelError:
    try:
        with _as_model_error(ask):
            given = model.call(ask)
            return _text(_waited(given) if _must_be_awaited(given) else given)
    except ModelError as error:
        return error


def _waited(given: object) -> object:
    if not is_private_loop():
        return wait_for(_settled(given))
    if inspect.iscoroutine(given):
        given.close()
    raise ModelError("an async model called a sync verb that waits for an async model; let it await the async verb")


async def _aoutcome(model: ResolvedModel, ask: Ask, context: contextvars.Context) -> str | ModelError:
    import asyncio

    cancelled_before = _cancelling()
    try:
        with _as_model_error(ask):
            outcome: str | ModelError = await _areply(model, ask, context)
    except ModelError as error:
        outcome = error
    if _cancelling() > cancelled_before:  # the model caught what was meant for us
        raise asyncio.CancelledError
    return outcome


async def _areply(model: ResolvedModel, ask: Ask, context: contextvars.Context) -> str:
    import asyncio

    given: object = ask
    if not model.has_coroutine:
        given = await asyncio.wrap_future(_in_own_thread(context.copy(), partial(_joined, model, ask)))
        if isinstance(given, str):
            return given

    async def settled() -> object:
        return await _settled(model.acall(ask) if given is ask else given)

    return _text(await asyncio.get_running_loop().create_task(settled(), context=context.copy()))


def _joined(model: ResolvedModel, ask: Ask) -> object:
    with _as_model_error(ask):  # here, since a StopIteration cannot leave a thread
        given = model.acall(ask)
        return given if _must_be_awaited(given) else _text(given)


@contextlib.contextmanager
def _as_model_error(ask: Ask) -> Iterator[None]:
    try:
        yield
    except ModelError:
        raise
    except Exception as error:  # the caller's own code: whatever it raises, the flow decides
        raise ModelError(f"the model failed at {ask.tag!r}: {type(error).__name__}: {error!s:.300}") from error


def _must_be_awaited(given: object) -> bool:
    return inspect.isawaitable(given) or isinstance(given, AsyncIterable)


async def _settled(given: object) -> object:
    reply = await given if inspect.isawaitable(given) else given
    if isinstance(reply, AsyncIterable):
        return "".join([_text(chunk) async for chunk in reply])
    return reply


def _text(reply: object) -> str:
    if reply is None or isinstance(reply, str):
        return reply or ""
    if isinstance(reply, Iterator):
        return "".join(_text(chunk) for chunk in reply)
    if hasattr(reply, "content"):
        return _content(reply.content)
    raise ModelError(f"a model's reply is text, not {type(reply).__name__}: {reply!r:.80}")


def _content(content: object) -> str:
    if isinstance(content, list):
        return "".join(_block(block) for block in content)
    if content is None or isinstance(content, str):
        return content or ""
    raise ModelError(f"a message's content is text or a list of blocks, not {type(content).__name__}: {content!r:.80}")


def _block(block: object) -> str:
    if isinstance(block, Mapping):
        block = block.get("text") if block.get("type", "text") == "text" else None
    return block if isinstance(block, str) else ""


def _cancelling() -> int:
    import asyncio

    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


async def _off_loop(context: contextvars.Context, step: Callable[[], T]) -> T:
    """Run `step` in the executor; if cancelled meanwhile, raise only when it has ended."""
    import asyncio

    future = asyncio.get_running_loop().run_in_executor(None, context.run, step)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        while not future.done():
            with contextlib.suppress(asyncio.CancelledError):  # raised below, once
                await asyncio.wait([future])
        raise


def _in_own_thread(context: contextvars.Context, call: Callable[[], T]) -> concurrent.futures.Future[T]:
    """Call in a thread of its own: a slow model must not hold the executor, where the steps of other flows run."""
    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def work() -> None:
        try:
            result = context.run(call)
        except BaseException as error:  # noqa: BLE001  # handed on to who waits
            _settle(partial(future.set_exception, error))
        else:
            _settle(partial(future.set_result, result))

    threading.Thread(target=work, name="seasoned-model", daemon=True).start()
    return future


def _settle(settle: Callable[[], None]) -> None:
    with contextlib.suppress(concurrent.futures.InvalidStateError):  # cancelled: nobody waits any more
        settle()
