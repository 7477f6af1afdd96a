"""`Redactor`: a policy at work on texts, records, keys and queries."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from seasoned.errors import InvalidInput, WrongType
from seasoned.filters import Scalar
from seasoned.ports import Change, Credit, Put, Remove, Vectors
from seasoned.query import And, Compare, Filter, Not, Or, Query
from seasoned.records import JSON, Key, Record, Scope
from seasoned.redaction.finding import Finder, Found
from seasoned.redaction.naming import Naming, identity, label
from seasoned.redaction.nested import json_text, parsed_json, secret_field, string_ranges, texts_of
from seasoned.redaction.policy import RedactionPolicy

LABELS: Final = ("name", "tags")
"""Fields of data by which records are looked for: a value has the same placeholder in each record."""

IDENTITIES: Final = ("session", "run")
"""Fields of data that keep records apart: two values must never have one placeholder."""

MARK: Final = "+redacted"
"""Ends the version of the fingerprint of vectors that were made from redacted texts."""

_CARD_DIGITS: Final = range(13, 20)

Rename = Callable[[str, str], str]


class Redactor:
    """Replaces what a policy names; safe to share between threads. What was replaced is counted, never kept.

    Raises:
        InvalidInput: the policy names a country or region of which nothing is known.
        MissingExtra: depii or phonenumbers is not installed.
        WrongType: not a policy.
    """

    def __init__(self, policy: RedactionPolicy | None = None) -> None:
        if policy is not None and not isinstance(policy, RedactionPolicy):
            raise WrongType(f"a redactor needs a RedactionPolicy, not {type(policy).__name__}")
        self.policy = policy or RedactionPolicy()
        self._finder = Finder(self.policy)
        self._counts = Counter[str]()
        self._lock = threading.Lock()

    @property
    def replaced(self) -> Mapping[str, int]:
        """How many values of each kind were replaced in records so far."""
        with self._lock:
            return dict(self._counts)

    def text(self, text: str, scope: Scope | None = None) -> str:
        """Return a text as it may be embedded, logged or sent, and as it would stand in a new record of the scope."""
        return self._rewritten(text, self._naming(scope, (text,)))

    def nested(self, value: JSON, scope: Scope | None = None) -> JSON:
        """Return nested data, such as a message, as `text` does; fields such as `password` are secret as a whole."""
        return self._nested(value, self._naming(scope, texts_of(value)), hidden=False)

    def record(self, record: Record) -> Record:
        """Return a record as it may be stored: text, data (texts, names of fields, card numbers), id and sources.

        Raises:
            InvalidInput: its id or session holds such a value, and the policy has no key.
        """
        name = self._naming(record.key.scope, (record.text, *texts_of(record.data)))
        met = Counter[str]()

        def rename(kind: str, value: str) -> str:
            met[kind] += 1
            return name(kind, value)

        text = self._rewritten(record.text, rename)
        data = self._fields(record.data, rename)
        key, sources = self.key(record.key), tuple(self.key(source) for source in record.sources)
        if met:
            with self._lock:
                self._counts.update(met)
        same = text == record.text and data == record.data and key is record.key and sources == record.sources
        return record if same else replace(record, key=key, text=text, data=data, sources=sources)

    def key(self, key: Key) -> Key:
        """Return a key whose id says nothing personal; the scope is the operator's own and stays.

        Raises:
            InvalidInput: the id holds such a value, and the policy has no key.
        """
        name = self._identity(key.id, "an id")
        return key if name == key.id else replace(key, id=name)

    def below(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return parts of a scope that a file names, such as its users, so that they say nothing personal.

        Raises:
            InvalidInput: a part holds such a value, and the policy has no key.
        """
        return tuple(self._identity(part, "a scope part") for part in parts)

    def change(self, change: Change) -> Change:
        """Return a change as it may be applied; vectors of a text that had to be redacted here are dropped."""
        if isinstance(change, (Credit, Remove)):
            key = self.key(change.key)
            return change if key is change.key else replace(change, key=key)
        record = self.record(change.record)
        if record is change.record:
            return change
        kept = record.text == change.record.text or is_of_redacted(change.vectors)
        return Put(record, change.vectors if kept else None, change.expect)

    def query(self, query: Query) -> Query:
        """Return a query as it may be sent: it finds what was redacted by what was asked."""
        keys = tuple(self.key(key) for key in query.keys)
        source = None if query.source is None else self.key(query.source)
        words = None if query.words is None else self._rewritten(query.words, self._naming(query.scope))
        where = None if query.where is None else self.filter(query.where, query.scope)
        if (keys, source, words, where) == (query.keys, query.source, query.words, query.where):
            return query
        return replace(query, keys=keys, source=source, words=words, where=where)

    def ids(self, query: Query) -> dict[str, str]:
        """Return the ids that a query names and that were replaced: what is stored, and what was asked."""
        named = [key.id for key in query.keys] + list(_ids_in(query.where))
        stored = ((self._identity(name, "an id"), name) for name in named)
        return {made: name for made, name in stored if made != name}

    def filter(self, where: Filter, scope: Scope) -> Filter:
        """Return a filter whose operands are what the values became in records."""
        if isinstance(where, Not):
            return Not(self.filter(where.of, scope))
        if isinstance(where, (And, Or)):
            return type(where)(tuple(self.filter(part, scope) for part in where.of))
        if isinstance(where.value, tuple):
            return Compare(
                where.field, where.op, tuple(self._operand(where.field, each, scope) for each in where.value)
            )
        return Compare(where.field, where.op, self._operand(where.field, where.value, scope))

    def _operand(self, field: str, value: Scalar, scope: Scope) -> Scalar:
        if not isinstance(value, str):
            return value
        name = field.removeprefix("data.")
        if name == "id" or (name in IDENTITIES and name != field):
            return self._identity(value, f"a filter of {name}")
        if name in LABELS and name != field:
            return self._rewritten(value, self._label)
        return self._rewritten(value, self._naming(scope))

    def _naming(self, scope: Scope | None, present: Iterable[str] = ()) -> Rename:
        return Naming(self.policy, scope, self._finder.placeholder, present).name

    def _label(self, kind: str, value: str) -> str:
        return label(self.policy, kind, value)

    def _named(self, kind: str, value: str) -> str:
        return identity(self.policy, kind, value)

    def _identity(self, value: str, what: str) -> str:
        if self.policy.key is not None:
            return self._rewritten(value, self._named)
        if found := self._finder.find(value):
            raise InvalidInput(
                f"{what} holds a value of the kind {found[0].kind!r}: choose another, or give the policy a key so that "
                "it is replaced by a digest"
            )
        return value

    def _fields(self, data: Mapping[str, JSON], rename: Rename) -> dict[str, JSON]:
        made = dict[str, JSON]()
        for name, value in data.items():
            made[_unused(self._rewritten(name, rename), made)] = self._field(name, value, rename)
        return made

    def _field(self, name: str, value: JSON, rename: Rename) -> JSON:
        if name in IDENTITIES and isinstance(value, str):
            return self._identity(value, f"data.{name}")
        if name in LABELS:
            return self._nested(value, self._label, hidden=False)
        return self._nested(value, rename, hidden=self._hides(name))

    def _nested(self, value: JSON, rename: Rename, *, hidden: bool) -> JSON:
        if isinstance(value, str):
            return self._whole(value, rename) if hidden else self._rewritten(value, rename)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return rename("secret", str(value)) if hidden else self._number(value, rename)
        if isinstance(value, list):
            return [self._nested(item, rename, hidden=hidden) for item in value]
        if isinstance(value, Mapping):
            made = dict[str, JSON]()
            for name, item in value.items():
                made[_unused(self._rewritten(name, rename), made)] = self._nested(
                    item, rename, hidden=hidden or self._hides(name)
                )
            return made
        return value

    def _whole(self, value: str, rename: Rename) -> str:
        """Return what stands for the whole value of a secret field; an empty one and a placeholder stay."""
        if not value.strip() or self._finder.placeholder.fullmatch(value):
            return value
        return rename("secret", value)

    def _hides(self, name: str) -> bool:
        """Tell whether a field's name says that its whole value is a secret; a placeholder says it of the name."""
        named = not self._finder.placeholder.match(name) and secret_field(name, self.policy.fields)
        return "secret" in self.policy.kinds and named

    def _number(self, value: int, rename: Rename) -> JSON:
        """Return a number as it is, unless all of it is the number of a card."""
        digits = str(abs(value))
        if len(digits) not in _CARD_DIGITS:
            return value
        found = self._finder.find(digits)
        whole = len(found) == 1 and (found[0].start, found[0].end) == (0, len(digits))
        return rename("card", digits) if whole and found[0].kind == "card" else value

    def _rewritten(self, text: str, rename: Rename) -> str:
        """Return a text with each value renamed; text that is JSON stays JSON."""
        found = self._finder.find(text)
        if not found and not self._may_hide(text):
            return text
        parsed = parsed_json(text)
        if parsed is None:
            return self._replaced(text, rename)
        try:
            made = self._nested(parsed, rename, hidden=False)
        except RecursionError:  # nested deeper than Python's stack
            return self._replaced(text, rename)
        return self._replaced(text if made == parsed else json_text(made, like=text), rename, in_json=True)

    def _may_hide(self, text: str) -> bool:
        return "secret" in self.policy.kinds and text[:1] in ("{", "[", " ", "\n") and '"' in text

    def _replaced(self, text: str, rename: Rename, *, in_json: bool = False) -> str:
        for _ in range(_ROUNDS):
            found = self._finder.find(text)
            if found and in_json:
                strings = string_ranges(text)
                found = [each for each in found if any(low < each.start and each.end < high for low, high in strings)]
            if not found:
                break
            text = "".join(_pieces(text, found, rename))
        return text


_ROUNDS: Final = 4
"""How often a text is read again: what stood beside a value may be one itself once that is gone."""


def is_of_redacted(vectors: Vectors | None) -> bool:
    """Tell whether vectors were made from redacted texts."""
    return vectors is not None and vectors.fingerprint.version.endswith(MARK)


def _ids_in(where: Filter | None) -> Iterator[str]:
    if isinstance(where, Compare):
        values = where.value if isinstance(where.value, tuple) else (where.value,)
        yield from (value for value in values if where.field == "id" and isinstance(value, str))
    elif isinstance(where, Not):
        yield from _ids_in(where.of)
    elif where is not None:
        for part in where.of:
            yield from _ids_in(part)


def _pieces(text: str, found: Iterable[Found], rename: Rename) -> Iterator[str]:
    position = 0
    for each in found:
        yield text[position : each.start]
        yield rename(each.kind, text[each.start : each.end])
        position = each.end
    yield text[position:]


def _unused(name: str, taken: Mapping[str, JSON]) -> str:
    """Return a field's name that is not taken: two names must not become one, or a value would be lost."""
    made, number = name, 2
    while made in taken:
        made, number = f"{name} ({number})", number + 1
    return made
