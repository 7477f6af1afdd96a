"""What is replaced and what is kept, in every script and form."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seasoned.redaction import RedactionPolicy, Redactor

REDACTOR = Redactor()

STRIPE = "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END PRIVATE KEY-----"

REPLACED = {
    # beside scripts that put no space between words
    f"凭证为{STRIPE}": "凭证为[secret]",
    f"{STRIPE}は秘密です": "[secret]は秘密です",
    f"รหัสคือ{STRIPE}ครับ": "รหัสคือ[secret]ครับ",
    f"ключ{STRIPE}вот": "ключ[secret]вот",
    "邮箱alice@example.com谢谢": "邮箱[email]谢谢",
    "메일은alice@example.com입니다": "메일은[email]입니다",
    "我的电话是+8613812345678请打": "我的电话是[phone]请打",
    "我的电话是13812345678。": "我的电话是[phone]。",
    "卡号4111111111111111。": "卡号[card]。",
    "账户是DE89370400440532013000好": "账户是[iban]好",
    "密码是hunter2谢谢": "密码是[secret]谢谢",
    "パスワード：Tr0ub4dor、以上": "パスワード：[secret]、以上",
    # in URLs
    f"https://x.io/pay?key={STRIPE}&n=1": "https://x.io/pay?key=[secret]&n=1",
    "https://x.io/?to=bob%40example.com&n=1": "https://x.io/?to=[email]&n=1",
    "https://x.io/?tel=%2B4915112345678": "https://x.io/?tel=[phone]",
    "postgresql://app:hunter2@db.internal:5432/shop": "postgresql://app:[secret]@db.internal:5432/shop",
    "redis://:hunter2@cache:6379": "redis://:[secret]@cache:6379",
    "mailto:alice@example.com": "mailto:[email]",
    # in JSON
    f'{{"key": "{STRIPE}"}}': '{"key": "[secret]"}',
    '{"password":"correct horse"}': '{"password":"[secret]"}',
    '{"token": "abcd1234efgh"}': '{"token": "[secret]"}',
    '{"card": 4111111111111111, "n": 3}': '{"card": "[card]", "n": 3}',
    '{"to": "\\u4f60alice@example.com"}': '{"to": "你[email]"}',
    '{"args": "{\\"api_key\\": \\"x y\\"}"}': '{"args": "{\\"api_key\\": \\"[secret]\\"}"}',
    '[{"mail": ["alice@example.com"]}]': '[{"mail": ["[email]"]}]',
    'sent {"to":"alice@example.com"} twice': 'sent {"to":"[email]"} twice',
    "a line\\nalice@example.com": "a line\\n[email]",
    # keys and tokens by their form
    "AKIAIOSFODNN7EXAMPLE": "[secret]",
    "ghp_" + "0123456789abcdefghijklmnopqrstuvwxYZ": "[secret]",
    "glpat-" + "abcdefghij0123456789": "[secret]",
    "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH": "[secret]",
    "xoxb-" + "123456789012-1234567890123-abcdefghijklmnopqrstuvwx": "[secret]",
    "sk-ant-api03-" + "abcdefghijklmnopqrstuvwxyz": "[secret]",
    "sk-proj-" + "abcdefghijklmnopqrstuvwxyz0123456789": "[secret]",
    "AIza" + "SyA1234567890abcdefghijklmnopqrstuv": "[secret]",
    f"Authorization: Bearer {JWT}": "Authorization: Bearer [secret]",
    PEM: "[secret]",
    "password=hunter2": "password=[secret]",
    "DB_PASSWORD = 'hunter2'": "DB_PASSWORD = '[secret]'",
    # people
    "Write to alice@example.com, bob.b@mail.example.org.": "Write to [email], [email].",
    "müller@example.com": "[email]",
    "ａｌｉｃｅ＠ｅｘａｍｐｌｅ．ｃｏｍ": "[email]",
    "call 020 7946 0958": "call [phone]",
    "+1 (415) 555-0132": "[phone]",
    "(020) 7946 0958": "[phone]",
    "Tel: 030 1234567": "Tel: [phone]",
    "phone 12345678": "phone [phone]",
    "4111 1111 1111 1111": "[card]",
    "3782-822463-10005": "[card]",
    "GB82 WEST 1234 5698 7654 32": "[iban]",
}

KEPT = [
    "f47ac10b-58cc-4372-a567-0e02b2c3d479",
    "d41d8cd98f00b204e9800998ecf8427e",
    "commit 3ba57056c3a1f0e2b4d5a6978877665544332211",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "2026-11-30 02:41:08",
    "2026-11-30T02:41:08.123456+00:00",
    "05.11.2026 12:30",
    "01-12-2026 10:30",
    "30/11/2026",
    "in 1987 there were 12345678 people",
    "order 123456789012",
    "1700000000000000",
    "4111111111111112",
    "numbers 200 300 4000 and 60000 70000",
    "pi 3.14159265358979",
    "loss 0.0123 0.0456 0.0789",
    "Smith (2024) 1234 examples",
    "f (100) 2000 items",
    "version 1.2.3.4 at 10:30",
    "tool call at 1700000000",
    "the token budget is 4000 tokens",
    "token: 4000 and next token: hello",
    "max_tokens=4096",
    "set password policy = strict",
    "password: must be long",
    "The secret: he loves tea",
    "basic internationalization support",
    "basic state-of-the-art-thing",
    "Alice Smith went to Paris with Dr. Jones",
    "https://example.com/docs?page=2&sort=asc",
    "git@github.com:acme/app.git",
    "@alice said hello",
    "C:\\new\\backup\\table",
    "100% of 50%40",
    "東京で緑茶を飲みました。",
    "run-17/turn/25",
    "call_abc123DEF456",
    '{"id": 17, "done": true, "note": "green tea"}',
    "",
    " ",
]


@pytest.mark.parametrize(("text", "clear"), REPLACED.items())
def test_a_value_is_replaced_whatever_stands_beside_it(text, clear):
    """Its kind stands in its place, and the rest is as it was."""
    assert REDACTOR.text(text) == clear


@pytest.mark.parametrize("text", KEPT)
def test_what_is_nobodys_is_kept(text):
    """Numbers, dates, UUIDs, hashes of code, words about passwords and tokens."""
    assert REDACTOR.text(text) == text


@given(
    st.lists(st.sampled_from([*REPLACED, *KEPT, "和", "ñ", " ", "\n", '"', "{", "}", "%", "\\", "=", ":"]), max_size=6)
)
@settings(max_examples=150, deadline=None)
def test_what_was_redacted_is_never_changed_again(parts):
    """A record that is read and written again stays as it is."""
    once = REDACTOR.text("".join(parts))
    assert REDACTOR.text(once) == once


OTHER_LETTERS = st.text(
    alphabet=st.characters(min_codepoint=0x370, categories=("Lo", "Ll", "Lu")).filter(
        lambda char: not unicodedata.normalize("NFKC", char).isascii()
    ),
    max_size=5,
)


@given(
    OTHER_LETTERS,
    st.sampled_from([STRIPE, "alice@example.com", "+8613812345678", "4111111111111111", "DE89370400440532013000"]),
    OTHER_LETTERS,
)
@settings(max_examples=300, deadline=None)
def test_a_value_never_hides_between_letters_of_other_scripts(before, value, after):
    """Letters of any script but the Latin, which puts spaces between words, run into it on both sides."""
    assert value not in REDACTOR.text(before + value + after)


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.sampled_from([*REPLACED])),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )
)
@settings(max_examples=150, deadline=None)
def test_text_that_is_json_always_stays_json(value):
    """An object or a list is one after redaction, with as many parts."""
    made = json.loads(REDACTOR.text(json.dumps([value])))
    assert isinstance(made, list)
    assert len(made) == 1


def test_kinds_that_are_not_named_are_kept():
    """A policy for secrets leaves addresses alone."""
    only = Redactor(RedactionPolicy(kinds=("secret",)))
    assert only.text(f"alice@example.com has {STRIPE}") == "alice@example.com has [secret]"


def test_more_kinds_can_be_named():
    """Addresses of machines are personal data in some places."""
    more = Redactor(RedactionPolicy(kinds=("ip", "mac", "wallet")))
    assert more.text("from 203.0.113.7 and 00:1B:44:11:3A:B7") == "from [ip] and [mac]"


def test_a_pattern_of_yours_is_a_kind():
    """Whole, or what its group `value` holds."""
    policy = RedactionPolicy(patterns={"employee": r"\bE\d{5}\b", "plate": r"plate (?P<value>[A-Z]{2}-\d{3})"})
    assert Redactor(policy).text("E12345工号, plate AB-123") == "[employee]工号, plate [plate]"


def test_the_numbers_of_a_country_are_found_when_it_is_named():
    """A social security number of the United States, by its form."""
    assert REDACTOR.text("SSN 219-09-9998") == "SSN 219-09-9998"
    assert Redactor(RedactionPolicy(countries=("us",))).text("SSN 219-09-9998") == "SSN [us-ssn]"


def test_the_numbers_of_a_region_are_found_when_it_is_named():
    """A mobile number of China without a word for it."""
    assert REDACTOR.text("13812345678") == "13812345678"
    assert Redactor(RedactionPolicy(regions=("CN",))).text("给13812345678打") == "给[phone]打"


def test_a_value_that_is_allowed_is_kept():
    """The address of your own support, in any case."""
    policy = RedactionPolicy(allow=("help@example.com",))
    assert Redactor(policy).text("Help@example.com, not bob@example.com") == "Help@example.com, not [email]"


def test_a_placeholder_that_somebody_wrote_is_text():
    """It is no value, and hides none beside it."""
    assert REDACTOR.text("[email] alice@example.com [secret]") == "[email] [email] [secret]"
