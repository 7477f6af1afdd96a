"""`RedactingStore`: the last gate before an engine, through which nothing passes as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from seasoned.errors import WrongType
from seasoned.layer import Layer, UpkeepLayer
from seasoned.ports import Applied, Change, Counts, Store, Upkeep
from seasoned.query import Page, Query
from seasoned.records import Hit, Key
from seasoned.redaction.policy import RedactionPolicy
from seasoned.redaction.redactor import Redactor


class RedactingStore(Layer):
    """Any store, with everything that is written to it redacted first, and every query redacted alike.

    Vectors of a text that had to be redacted here are dropped, unless a `RedactingEmbedder` made them. A record that
    is asked for by its id comes back under the id that was asked for. Closing it closes the store below.
    `redacting_store` makes the one that also has the upkeep of the store below.

    Raises:
        WrongType: not a store, or not a redactor.
    """

    def __init__(self, inner: Store, redactor: Redactor) -> None:
        if not isinstance(inner, Store):
            raise WrongType(f"a RedactingStore stands before a store, not {inner!r:.80}")
        if not isinstance(redactor, Redactor):
            raise WrongType(f"a RedactingStore redacts by a Redactor, not {type(redactor).__name__}")
        super().__init__(inner)
        self.redactor = redactor

    def find(self, query: Query) -> Page:
        """Return the records that answer the query as it was redacted."""
        asked = self.redactor.query(query)
        page = self.inner.find(asked)
        return page if asked is query else _under_own_ids(page, self.redactor.ids(query))

    def apply(self, changes: Sequence[Change]) -> Applied:
        """Apply the changes, redacted; where one cannot be, nothing of them is written.

        Raises:
            InvalidInput: an id or session holds personal data, and the policy has no key.
        """
        return self.inner.apply([self.redactor.change(change) for change in changes])


class RedactingStoreWithUpkeep(UpkeepLayer, RedactingStore):
    """A redacting store whose engine has upkeep."""

    def purge(self, keys: Sequence[Key]) -> Counts:
        """Remove records for good, by the ids under which they were written."""
        return self.inner.purge([self.redactor.key(key) for key in keys])


def redacting_store(inner: Store, policy: RedactionPolicy | Redactor | None = None) -> RedactingStore:
    """Return a store that redacts all that is written to `inner`, with the upkeep that `inner` has.

    Raises:
        MissingExtra: depii or phonenumbers is not installed.
        WrongType: not a store, or not a policy.
    """
    redactor = policy if isinstance(policy, Redactor) else Redactor(policy)
    return (RedactingStoreWithUpkeep if isinstance(inner, Upkeep) else RedactingStore)(inner, redactor)


def _under_own_ids(page: Page, asked: Mapping[str, str]) -> Page:
    """Return a page whose records have the ids by which the caller asked for them."""
    if not any(hit.id in asked for hit in page.hits):
        return page
    return replace(page, hits=[_renamed(hit, asked[hit.id]) if hit.id in asked else hit for hit in page.hits])


def _renamed(hit: Hit, name: str) -> Hit:
    return replace(hit, record=replace(hit.record, key=replace(hit.record.key, id=name)))
