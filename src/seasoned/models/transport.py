"""Posting JSON to one HTTP endpoint, sync and async: connections, time limits, retries, and what may be shown of it.

httpx2 carries the requests and tenacity repeats them; both are imported here only, when a client is made.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import random
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypedDict

from seasoned.errors import InvalidInput, MissingExtra
from seasoned.models.wire import Answer, ExchangeError, may_retry
from seasoned.records import finite

if TYPE_CHECKING:
    import httpx2
    import tenacity

MAX_BODY: Final = 32 * 2**20
"""Largest answer that is read, in bytes."""

FIRST_WAIT_S: Final = 0.5
LONGEST_WAIT_S: Final = 8.0
"""The waits before trying again double from the first to the longest, each with up to a second more by chance."""

_LOG: Final = logging.getLogger("seasoned.models")


@dataclass(frozen=True, slots=True)
class Post:
    """What is sent where: a path below the endpoint's address, and a JSON body."""

    path: str
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an endpoint is reached. `headers` and the key go with every request, and stand in no text.

    Raises:
        InvalidInput: an address, key, header or number that cannot be used; a key is never shown.
    """

    base_url: str
    api_key: str | None = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    timeout_s: float
    retries: int

    def __post_init__(self) -> None:
        if finite(self.timeout_s, "timeout_s") <= 0 or self.retries < 0:
            found = f"timeout_s={self.timeout_s!r}, retries={self.retries!r}"
            raise InvalidInput(f"timeout_s is above 0 and retries at least 0, found {found}")
        for name, value in self.all_headers().items():
            if not (name + value).isascii() or not (name + value).isprintable() or value != value.strip():
                raise InvalidInput(f"the header {name!r} must be printable ASCII without spaces at its ends")

    def all_headers(self) -> dict[str, str]:
        """Return the headers of every request; the caller's own win."""
        key = {} if self.api_key is None else {"authorization": f"Bearer {self.api_key}"}
        given = {name.lower(): value for name, value in self.headers.items()}
        return {"content-type": "application/json", "accept": "application/json", **key, **given}

    def redacted(self, body: bytes) -> bytes:
        """Return an error's body without the key and the caller's headers, should the endpoint repeat them."""
        for secret in (self.api_key, *self.headers.values()):
            body = body.replace(secret.encode(), b"***") if secret else body
        return body


class Endpoint:
    """An HTTP endpoint that takes JSON; for any number of threads and event loops at once.

    Raises:
        InvalidInput: the address is not an http(s) URL, or holds a password.
        MissingExtra: the extra "openai" is not installed.
    """

    def __init__(self, settings: Settings) -> None:
        _require_libraries()
        self._settings = settings
        self._base = _address(settings.base_url)
        self._requests = 0
        self._lock = threading.Lock()
        self._closed = False
        self._client: tuple[int, httpx2.Client] | None = None
        self._pool: tuple[asyncio.AbstractEventLoop, httpx2.AsyncClient] | None = None
        self._certificates: ssl.SSLContext | None = None

    @property
    def requests(self) -> int:
        """How many requests were sent, retries included."""
        with self._lock:
            return self._requests

    def where(self, path: str = "") -> str:
        """Return the address of `path` as it may be shown: without its query."""
        return str(self._url(path).copy_with(query=None))

    def post(self, post: Post) -> Answer:
        """Return the answer, of any status that is not passing.

        Raises:
            ExchangeError: no connection, no answer in time, one too large, or passing failures until the end.
        """
        import tenacity

        return tenacity.Retrying(**self._retrying())(self._once, post)

    async def apost(self, post: Post) -> Answer:
        """Do as `post`, on the running event loop."""
        import tenacity

        return await tenacity.AsyncRetrying(**self._retrying())(self._aonce, post)

    def _retrying(self) -> _Retrying:
        attempts = self._settings.retries + 1
        return {
            "stop": lambda state: state.attempt_number >= attempts,
            "wait": _wait_s,
            "retry": lambda state: _again(state) is not False,
            "before_sleep": lambda state: _log_retry(state, attempts),
            "reraise": True,
        }

    def close(self) -> None:
        """Close the connections of sync calls; every call from then on fails."""
        with self._lock:
            self._closed = True
            opened, self._client = self._client, None
        if opened is not None and opened[0] == os.getpid():
            opened[1].close()

    async def aopen(self) -> None:
        """Share connections among the async calls on the running loop, until `aclose`."""
        if self._pool is not None:
            raise InvalidInput("this client is in an `async with` already")
        self._pool = asyncio.get_running_loop(), self._new_async_client()

    async def aclose(self) -> None:
        """Close everything; every call from then on fails."""
        self.close()
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool[1].aclose()

    def _once(self, post: Post) -> Answer:
        deadline, body = time.monotonic() + self._settings.timeout_s, bytearray()
        with (
            self._failures(post.path),
            self._sync_client().stream("POST", self._url(post.path), content=post.body) as response,
        ):
            for chunk in response.iter_bytes():
                self._add(chunk, body, post.path)
                if time.monotonic() > deadline:
                    raise TimeoutError
        return self._answer(response, body, post.path)

    async def _aonce(self, post: Post) -> Answer:
        body = bytearray()
        with self._failures(post.path):
            async with (
                asyncio.timeout(self._settings.timeout_s),
                self._async_client() as client,
                client.stream("POST", self._url(post.path), content=post.body) as response,
            ):
                async for chunk in response.aiter_bytes():
                    self._add(chunk, body, post.path)
        return self._answer(response, body, post.path)

    @contextlib.contextmanager
    def _failures(self, path: str) -> Iterator[None]:
        import httpx2

        self._count_request()
        where = self.where(path)
        try:
            yield
        except (httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise ExchangeError(f"{where}: no connection in time", label=type(error).__name__, again=True) from error
        except (httpx2.TimeoutException, TimeoutError) as error:
            late = f"no whole answer within {self._settings.timeout_s} s"
            raise ExchangeError(f"{where}: {late}", label="timeout") from error
        except httpx2.HTTPError as error:
            passing = isinstance(error, (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ProxyError))
            refused = isinstance(error, httpx2.ConnectError) and _is_this_machine(self._base.host)
            name, hint = type(error).__name__, "; is a server running there? give base_url= for another" * refused
            raise ExchangeError(f"{where}: {name}: {error!s:.200}{hint}", label=name, again=passing) from error

    def _count_request(self) -> None:
        with self._lock:
            if self._closed:
                raise ExchangeError("the client is closed", label="closed")
            self._requests += 1

    def _add(self, chunk: bytes, body: bytearray, path: str) -> None:
        body += chunk
        if len(body) > MAX_BODY:
            raise ExchangeError(f"{self.where(path)}: the answer is larger than {MAX_BODY} bytes", label="too large")

    def _answer(self, response: httpx2.Response, body: bytearray, path: str) -> Answer:
        shown = bytes(body) if response.status_code == 200 else self._settings.redacted(bytes(body))
        answer = Answer(self.where(path), response.status_code, dict(response.headers), shown)
        again = may_retry(answer, datetime.now(UTC))
        if again is not False:
            raise answer.failure("", again=again)
        return answer

    def _url(self, path: str) -> httpx2.URL:
        return self._base.copy_with(path=self._base.path.rstrip("/") + path)

    def _sync_client(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None or self._client[0] != os.getpid():  # connections are not shared across a fork
                self._client = os.getpid(), httpx2.Client(**self._options())
            return self._client[1]

    @contextlib.asynccontextmanager
    async def _async_client(self) -> AsyncIterator[httpx2.AsyncClient]:
        pool = self._pool
        if pool is not None and pool[0] is asyncio.get_running_loop():
            yield pool[1]
            return
        async with self._new_async_client() as client:
            yield client

    def _new_async_client(self) -> httpx2.AsyncClient:
        import httpx2

        with self._lock:
            return httpx2.AsyncClient(**self._options())

    def _options(self) -> _Options:
        if self._certificates is None:  # made once: it takes longer than all the rest of a client
            import httpx2

            self._certificates = httpx2.create_ssl_context()
        return {
            "verify": self._certificates,
            "headers": self._settings.all_headers(),
            "timeout": self._settings.timeout_s,
            "trust_env": not _is_this_machine(self._base.host),
        }


class _Retrying(TypedDict):
    stop: Callable[[tenacity.RetryCallState], bool]
    wait: Callable[[tenacity.RetryCallState], float]
    retry: Callable[[tenacity.RetryCallState], bool]
    before_sleep: Callable[[tenacity.RetryCallState], None]
    reraise: bool


class _Options(TypedDict):
    verify: ssl.SSLContext
    headers: dict[str, str]
    timeout: float
    trust_env: bool


def _require_libraries() -> None:
    try:
        import httpx2  # noqa: F401  # only: is it there
        import tenacity  # noqa: F401
    except ImportError as error:
        raise MissingExtra("openai", error.name or "httpx2") from error


def _address(text: str) -> httpx2.URL:
    import httpx2

    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, TypeError) as error:
        raise InvalidInput(f"base_url is an address such as http://localhost:11434/v1: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise InvalidInput(f"base_url is an address such as http://localhost:11434/v1, not {url!r}")
    if url.userinfo:
        raise InvalidInput(f"base_url must hold no password, found {url!r}; give it in headers")
    return url


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _again(state: tenacity.RetryCallState) -> bool | float:
    error = state.outcome.exception() if state.outcome is not None else None
    return error.again if isinstance(error, ExchangeError) else False


def _wait_s(state: tenacity.RetryCallState) -> float:
    again = _again(state)
    if isinstance(again, bool):
        return min(FIRST_WAIT_S * 2.0 ** (state.attempt_number - 1) + random.random(), LONGEST_WAIT_S)  # noqa: S311  # no secret
    return again


def _log_retry(state: tenacity.RetryCallState, attempts: int) -> None:
    reason = state.outcome.exception() if state.outcome is not None else None
    number, wait_s = state.attempt_number, state.upcoming_sleep
    _LOG.info("attempt %d of %d failed (%s), the next in %.1f s", number, attempts, reason, wait_s)
