"""Tenants: whose memory a run may use, as the runtime says; never an argument of a tool, never a guess."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from seasoned.errors import WrongType
from seasoned.integrations.langchain.framework import RunnableConfig, Runtime, ToolRuntime, get_config
from seasoned.memory import Memory
from seasoned.records import Scope

FIELDS: Final = ("tenant", "tenant_id")
"""The fields of a runtime context that name the tenant, where nothing else is said."""

THREAD: Final = "langgraph-thread"
"""The first part of the scope of a thread without a tenant, its id being the second."""

AT_HAND: Final = 128
"""Of how many tenants and threads the memories are at hand."""

AnyRuntime: TypeAlias = "Runtime[object] | ToolRuntime[object, object]"

TenantOf: TypeAlias = Callable[[AnyRuntime], str | Sequence[str] | None]
"""Returns the tenant of a run: a name, or the parts of a scope, outermost first; None where there is none."""

Tenant: TypeAlias = str | TenantOf | None
"""How a tenant is found: the name of a field of the runtime context, a function, or None for `FIELDS`."""


def checked_tenant(given: object) -> Tenant:
    """Return how a tenant is found.

    Raises:
        WrongType: neither a name nor a function.
    """
    if given is None or callable(given) or (isinstance(given, str) and given):
        return given
    raise WrongType(
        f"tenant is the name of a field of the runtime context or a function of the runtime, not {given!r:.80}"
    )


def tenant_of(runtime: AnyRuntime | None, tenant: Tenant) -> tuple[str, ...] | None:
    """Return the tenant of a run as the parts of a scope; None where none is named, or it is "" or empty.

    Raises:
        InvalidScope: a part is blank, or holds a control character.
        WrongType: it is no text and no sequence of texts.
    """
    if runtime is None:
        return None
    found = tenant(runtime) if callable(tenant) else _named(runtime, FIELDS if tenant is None else (tenant,))
    if found is None or (isinstance(found, (str, list, tuple)) and not found):
        return None
    return tuple(Scope(found))  # type: ignore[arg-type]  # checked there


def _named(runtime: AnyRuntime, names: Sequence[str]) -> object:
    context: object = getattr(runtime, "context", None)
    for name in names:
        found = context.get(name) if isinstance(context, Mapping) else getattr(context, name, None)
        if found is not None:
            return found
    return None


def thread_of(runtime: AnyRuntime | None) -> str | None:
    """Return the id of the thread of a run; None where nothing is persisted."""
    config = getattr(runtime, "config", None)
    if isinstance(config, Mapping):
        return _thread_in(config)
    info = getattr(runtime, "execution_info", None)
    found = getattr(info, "thread_id", None)
    return found if isinstance(found, str) and found else _thread_in(_config())


def _thread_in(config: Mapping[str, object]) -> str | None:
    configurable = config.get("configurable")
    found = configurable.get("thread_id") if isinstance(configurable, Mapping) else None
    return str(found) if found not in (None, "") else None


def _config() -> RunnableConfig | dict[str, object]:
    try:
        return get_config()
    except RuntimeError:  # outside a graph
        return {}


class Tenants:
    """The memories of tenants and threads below one memory; those used last are at hand."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._made: OrderedDict[tuple[str, ...], Memory] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, scope: Sequence[str]) -> Memory:
        """Return the memory of a scope below the whole memory's.

        Raises:
            StoreClosed: the memory was closed.
        """
        key = tuple(scope)
        with self._lock:
            found = self._made.get(key)
            if found is None:
                found = self._made[key] = self._memory.within(*key)
            self._made.move_to_end(key)
            while len(self._made) > AT_HAND:
                self._made.popitem(last=False)
            return found


def scope_of(tenant: tuple[str, ...] | None, thread: str | None) -> tuple[str, ...] | None:
    """Return the scope of a run below that of a memory: the tenant's, else the thread's own; None for neither."""
    if tenant is not None:
        return tenant
    return None if thread is None else (THREAD, thread)
