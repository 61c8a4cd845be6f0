"""From bytes to a value: JSON or YAML, whichever it is."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from practicum.errors import DocumentError
from practicum.halves import without_halves
from practicum_connectors.document.limits import MAX_BYTES
from practicum_connectors.document.sharing import sharing
from practicum_connectors.document.yaml_reader import read_yaml

_BLOCK = 64 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")


def read_file(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        DocumentError: it cannot be read, or is too large.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DocumentError(f"{path} is larger than {MAX_BYTES} bytes.", mend="Leave out what is not needed.")
        return path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path} cannot be read: {error.strerror}.", mend="Check the path.") from None


def parse(data: bytes) -> object:
    """The value that JSON or YAML text stands for.

    Raises:
        DocumentError: it is neither, or too large; the error names the place.
    """
    if len(data) > MAX_BYTES:
        raise DocumentError(f"The document is larger than {MAX_BYTES} bytes.", mend="Leave out what is not needed.")
    if _OPENING.match(data):
        data = without_halves(data)
        with suppress(ValueError, RecursionError):  # what is wrong is said of the text as it stands
            return json.loads(_in_ascii(data), parse_constant=no_number, object_pairs_hook=sharing())
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"The document is not UTF-8 (byte {error.start}).", mend="Save it as UTF-8.") from None
    start = text.lstrip()[:1]
    return _parse_json(text) if start in {"{", "["} else _parse_text(text, start)


def _in_ascii(data: bytes) -> str:
    """The same JSON in ASCII: one emoji would make the whole text four times as large in memory."""
    data = data.removeprefix(_BYTE_ORDER_MARK)
    return data.decode() if data.isascii() else "".join(_ascii_blocks(data))


def _ascii_blocks(data: bytes) -> Iterator[str]:
    start = 0
    while start < len(data):
        comma = data.find(b",", start + _BLOCK)  # no character is cut at one
        end = len(data) if comma < 0 else comma
        block = data[start:end]
        yield (block if block.isascii() else _BEYOND_ASCII.sub(_escaped, block)).decode("ascii")
        start = end


def _escaped(found: re.Match[bytes]) -> bytes:
    return json.dumps(found[0].decode())[1:-1].encode()


def _parse_json(text: str) -> object:
    try:
        return json.loads(text, parse_constant=no_number)
    except RecursionError:
        raise DocumentError("The document nests too deep.", mend="Flatten it.") from None
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("{") and '"' in text[:200].partition(":")[0]:
            place = f"line {error.lineno}, column {error.colno}"
            raise DocumentError(
                f"The document is not valid JSON: {error.msg} ({place}).", mend="Mend it there."
            ) from None
        return read_yaml(text)  # YAML in flow style also begins with a brace
    except ValueError as error:
        raise DocumentError(f"The document is not valid JSON: {error}.", mend="Mend it there.") from None


def _parse_text(text: str, start: str) -> object:
    if start == "<":
        raise DocumentError(
            "This is HTML or XML, not an OpenAPI document.",
            mend="Give the address of the JSON or YAML document itself, not of the page that shows it.",
        )
    return read_yaml(text)


def no_number(_: str) -> None:
    """NaN and infinities are no JSON; in an example they mean nothing."""
