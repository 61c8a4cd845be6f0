import base64
import html
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from practicum_connectors.auth import REDACTED, redact, redact_bytes

SECRET = 's3cr"et/+ü=&\\'


@pytest.mark.parametrize(
    "text",
    [
        f"key {SECRET} end",
        f"?key={quote(SECRET)}",
        f"?key={quote(SECRET, safe='')}&x",
        json.dumps({"key": SECRET}),
        json.dumps({"key": SECRET}, ensure_ascii=False),
        json.dumps({"key": SECRET}).replace("/", "\\/"),
        json.dumps({"request": json.dumps({"key": SECRET})}),
        json.dumps({"request": json.dumps({"key": SECRET}, ensure_ascii=False)}, ensure_ascii=False),
        f"?key={quote(SECRET, safe='').lower()}",
        f"<pre>{html.escape(SECRET)}</pre>",
        f"<pre>{html.escape(SECRET, quote=False)}</pre>",
    ],
)
def test_secrets_are_taken_out_in_every_spelling(text: str) -> None:
    assert redact(text, [SECRET]).count(REDACTED) == 1
    assert redact_bytes(text.encode(), [SECRET]).decode() == redact(text, [SECRET])
    assert "s3cr" not in redact(text, [SECRET])


def test_json_stays_json() -> None:
    assert json.loads(redact(json.dumps({"a": [SECRET, 1]}), [SECRET])) == {"a": [REDACTED, 1]}


def test_of_secrets_in_one_another_the_longer_goes_whole() -> None:
    assert redact("abcd-efgh", ["abcd", "abcd-efgh"]) == REDACTED


def test_what_occurs_in_any_text_is_no_secret() -> None:
    assert redact("a cat", ["a", "", "cat"]) == "a cat"


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_a_secret_in_another_alphabet_is_taken_out_wherever_it_stands(before: bytes, after: bytes) -> None:
    data = before + SECRET.encode() + after
    plain = (data.hex(), data.hex().upper(), base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode())
    for text in plain:
        assert REDACTED in redact(text, [SECRET])
        assert len(redact(text, [SECRET])) <= len(text) - len(SECRET) + len(REDACTED)


def test_a_short_secret_is_not_looked_for_in_other_alphabets() -> None:
    text = base64.b64encode(b"abcdef").decode()
    assert redact(text, ["abcdef"]) == text
