import html
import json
from urllib.parse import quote

import pytest

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
