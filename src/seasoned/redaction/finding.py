"""Finding what a policy names, by depii's detectors and phonenumbers', and a few formats that they do not know."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from seasoned.errors import InvalidInput, MissingExtra
from seasoned.redaction.doubts import NEAR, Candidate, is_doubtful
from seasoned.redaction.policy import KINDS, RedactionPolicy
from seasoned.redaction.shadow import shadow

if TYPE_CHECKING:
    import depii

SHORT: Final = 96
MANY: Final = 8_192
"""So many texts up to this length are remembered as clean, so that names and ids are not searched again and again."""

FEW: Final = 16
"""And so many longer ones: a text often stands in a record twice."""

_PASSWORDS: Final = ("密码", "密碼", "口令", "密钥", "金鑰", "パスワード", "비밀번호", "รหัสผ่าน", "пароль", "Пароль")

_SECRETS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("://",), r"(?<=://)[^\s/@:?#]{0,256}:(?P<value>[^\s/@?#]{1,256})@"),
    (("glpat-",), r"(?<![A-Za-z0-9_-])(?P<value>glpat-[A-Za-z0-9_-]{20,100})"),
    (("hf_",), r"(?<![A-Za-z0-9_-])(?P<value>hf_[A-Za-z0-9]{30,60})(?![A-Za-z0-9_-])"),
    (("npm_",), r"(?<![A-Za-z0-9_-])(?P<value>npm_[A-Za-z0-9]{36})(?![A-Za-z0-9_-])"),
    (("pypi-",), r"(?<![A-Za-z0-9_-])(?P<value>pypi-[A-Za-z0-9_-]{50,250})"),
    (("SG.",), r"(?<![A-Za-z0-9_-])(?P<value>SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50})"),
    (("whsec_",), r"(?<![A-Za-z0-9_-])(?P<value>whsec_[A-Za-z0-9+/=]{24,100})"),
    ((":AA",), r"(?<![A-Za-z0-9_-])(?P<value>\d{8,10}:AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])"),
    (("gsk_",), r"(?<![A-Za-z0-9_-])(?P<value>gsk_[A-Za-z0-9]{40,60})(?![A-Za-z0-9_-])"),
    (("r8_",), r"(?<![A-Za-z0-9_-])(?P<value>r8_[A-Za-z0-9]{37,40})(?![A-Za-z0-9_-])"),
    (("pplx-",), r"(?<![A-Za-z0-9_-])(?P<value>pplx-[A-Za-z0-9]{40,60})(?![A-Za-z0-9_-])"),
    (("AccountKey=",), r"AccountKey=(?P<value>[A-Za-z0-9+/]{40,100}={0,2})"),
    (
        _PASSWORDS,
        rf"(?:{'|'.join(_PASSWORDS)})\s{{0,4}}(?:[:=是为為はは는은]\s{{0,4}}){{1,2}}(?P<value>[!-~]{{4,256}})",
    ),
)
"""Credentials in URLs, keys by the forms that their makers document, what follows a word for password; and what each of
them holds for certain, so that a text without it is not searched."""

_EMAIL: Final = (
    r"(?<![\w.+%-])(?P<value>[A-Za-z0-9\u00c0-\u024f][A-Za-z0-9\u00c0-\u024f._%+-]{0,63}"
    r"@(?:[A-Za-z0-9\u00c0-\u024f-]{1,63}\.){1,8}[A-Za-z]{2,24})(?![\w])"
)
"""An address with letters beyond ASCII."""

_TELEPHONES: Final = (
    "电话",
    "電話",
    "手机",
    "手機",
    "号码",
    "号碼",
    "携帯",
    "전화",
    "번호",
    "โทร",
    "телефон",
    "Телефон",
)
_LATIN_TELEPHONES: Final = tuple(
    form
    for word in ("phone", "tel", "telefon", "teléfono", "téléphone", "mobile", "whatsapp", "fax")
    for form in (word, word.capitalize(), word.upper())
)

_PHONES: Final[tuple[tuple[tuple[str, ...], str], ...]] = tuple(
    (words, rf"{before}(?:{'|'.join(words)}){after}[^\d+A-Za-z]{{0,6}}(?P<value>\+?\(?\d[\d ().-]{{6,16}}\d)(?!\d)")
    for words, before, after in (
        (_TELEPHONES, "", r"\w{0,3}"),
        (_LATIN_TELEPHONES, r"(?<![^\W_])", r"o?(?![^\W_])"),
    )
)
"""A number after a word for telephone, also in scripts where that word does not stand alone."""


@dataclass(frozen=True, slots=True)
class Found:
    """A value to be replaced: where it stands, and its kind."""

    start: int
    end: int
    kind: str


class Finder:
    """Finds what a policy names; safe to share between threads.

    Raises:
        InvalidInput: there is nothing for a country or region of the policy.
        MissingExtra: depii or phonenumbers is not installed.
    """

    def __init__(self, policy: RedactionPolicy) -> None:
        self._kinds = {KINDS[kind]: kind for kind in policy.kinds}
        self._kinds.update({_own(name): name for name in policy.patterns})
        self._redactor = _detectors(policy, self._kinds)
        names = {*KINDS, *self._kinds.values()}
        self._placeholder = re.compile(rf"\[(?:{'|'.join(map(re.escape, sorted(names)))})(?:-[0-9a-f]+)?\]")
        self._clean = set[str]()
        self._clean_long = set[str]()

    @property
    def placeholder(self) -> re.Pattern[str]:
        """What a placeholder of any kind looks like."""
        return self._placeholder

    def find(self, text: str) -> list[Found]:
        """Return the values in a text, first to last, none overlapping; a placeholder is no value."""
        if text in self._clean or text in self._clean_long:
            return []
        found = self._search(text)
        if not found:
            kept = self._clean if len(text) <= SHORT else self._clean_long
            if len(kept) >= (MANY if kept is self._clean else FEW):
                kept.clear()
            kept.add(text)
        return found

    def _search(self, text: str) -> list[Found]:
        hidden = self._placeholder.sub(lambda match: ";" * len(match.group()), text)
        read = shadow(hidden)
        found = list[Found]()
        for span in self._redactor.scan(read.text):
            start, end = read.original(span.start, span.end)
            if ";" in hidden[start:end] and hidden[start:end] != text[start:end]:
                continue
            if not is_doubtful(
                Candidate(span.detector, span.score, span.text, read.text[max(0, span.start - NEAR) : span.start])
            ):
                found.append(Found(start, end, self._kinds[span.entity]))
        return found


def _own(name: str) -> str:
    return f"OWN_{name.upper().replace('-', '_')}"


def _detectors(policy: RedactionPolicy, kinds: dict[str, str]) -> depii.Redactor:
    """Return what scans a text, and add to `kinds` what it calls the national numbers."""
    try:
        library = import_module("depii")
        phones = import_module("phonenumbers")
    except ImportError as error:
        raise MissingExtra("redaction", error.name or "depii") from error
    own = [library.PatternDetector(_own(name), text, group=_group(text)) for name, text in policy.patterns.items()]
    if "secret" in policy.kinds:
        own += [
            library.PatternDetector("SECRET", text, score=0.99, group="value", needs_any=needs)
            for needs, text in _SECRETS
        ]
    if "email" in policy.kinds:
        own.append(library.PatternDetector("EMAIL", _EMAIL, score=0.9, group="value", needs=("@",)))
    if "phone" in policy.kinds:
        own += [
            library.PatternDetector("PHONE", text, score=0.9, group="value", needs_any=needs, needs_digit=True)
            for needs, text in _PHONES
        ]
        own += [_Telephones(phones, region) for region in policy.regions]
    kinds.update({entity: _kind(entity) for code in policy.countries for entity in _national(code)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kinds are checked by the policy
        made: depii.Redactor = library.Redactor(
            locales=policy.countries, entities=kinds, detectors=own, allow=policy.allow, contextual=False
        )
    return made


def _group(pattern: str) -> int | str:
    return "value" if "value" in re.compile(pattern).groupindex else 0


def _national(country: str) -> list[str]:
    locales = import_module("depii.locales")
    if country not in locales.available():
        raise InvalidInput(f"no national numbers are known for {country!r}; there are {', '.join(locales.available())}")
    return [detector.entity for detector in locales.load(country)]


def _kind(entity: str) -> str:
    known = {theirs: ours for ours, theirs in KINDS.items()}
    return known.get(entity, entity.lower().replace("_", "-"))


class _Telephones:
    """The telephone numbers of one region as people there write them, by Google's libphonenumber."""

    entity = "PHONE"
    needs_digit = True

    def __init__(self, library: object, region: str) -> None:
        self.name = f"phone_{region.lower()}"
        self._library = library
        self._region = region
        if region not in library.SUPPORTED_REGIONS:  # type: ignore[attr-defined]  # the module phonenumbers
            raise InvalidInput(f"no telephone numbers are known for the region {region!r}")

    def detect(self, text: str, *, strict: bool = False) -> Iterator[object]:  # noqa: ARG002  # depii's form
        span = import_module("depii").Span
        for match in self._library.PhoneNumberMatcher(text, self._region):  # type: ignore[attr-defined]  # as above
            yield span(match.start, match.end, self.entity, match.raw_string, 0.8, self.name)
