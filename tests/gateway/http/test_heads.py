"""Heads and bodies of requests, piece by piece; the whole server is tried in `test_hostile_wire.py`."""

import pytest

from practicum_gateway.http.heads import CHUNKED, Body, Head, UnclearError, read_head


def head(*headers: str, line: str = "POST /v1/x?a=%20 HTTP/1.1") -> Head:
    return read_head("\r\n".join([line, *headers]).encode("latin-1"))


def test_a_head_is_read_as_it_was_sent() -> None:
    read = head("Host: here", "X-Two:  spaced\t", "x-two:", "Content-Length: 12", "Expect: 100-Continue")
    assert (read.method, read.target, read.version) == ("POST", b"/v1/x?a=%20", "1.1")
    assert read.headers[1:3] == [(b"x-two", b"spaced"), (b"x-two", b"")]
    assert (read.length, read.goes_on, read.waits) == (12, True, True)
    assert head("Host: h", "Transfer-Encoding: Chunked", "Connection: TE, Close").length == CHUNKED


@pytest.mark.parametrize(("line", "goes_on"), [("GET / HTTP/1.1", False), ("GET / HTTP/1.0", False)])
def test_who_asks_for_the_end_or_is_old_gets_one_answer(line: str, goes_on: bool) -> None:
    assert head("Host: h", "Connection: close", line=line).goes_on is goes_on


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ("Host: h", "Folded: a", " b"),
        ("Host: h", "A: b\nC: d"),
        ("Host: h", "A: b\x01"),
        ("Host: h", "Content-Length: 5", "Content-Length: 5"),
        ("Host: h", "Content-Length: 0x5"),
        ("Host: h", "Content-Length: "),
        ("Host: h", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        ("Host: h", "Transfer-Encoding: identity"),
        ("Host: h", ": b"),
    ],
)
def test_what_is_not_clear_is_refused(headers: tuple[str, ...]) -> None:
    with pytest.raises(UnclearError):
        head(*headers)


@pytest.mark.parametrize("line", ["GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET / HTTP/1.2", "GET /\t HTTP/1.1", "GET /"])
def test_a_line_that_is_not_clear_is_refused(line: str) -> None:
    with pytest.raises(UnclearError):
        head("Host: h", line=line)


CHUNKS = b"4;a=b\r\nWiki\r\n00005 \r\npedia\r\n0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_body_is_the_same_in_whatever_pieces_it_comes(size: int) -> None:
    for length, sent, meant in ((CHUNKED, CHUNKS, b"Wikipedia"), (9, b"Wikipedia", b"Wikipedia")):
        body, came, taken = Body(length), bytearray(), b""
        for at in range(0, len(sent), size):
            assert not body.whole
            came += sent[at : at + size]
            taken += body.take(came)
        assert (body.whole, taken, came) == (True, meant, b"")
    came = bytearray(b"Wikipedia!")
    assert (Body(9).take(came), came) == (b"Wikipedia", b"!")


@pytest.mark.parametrize(
    "sent", [b"4\r\nWikiX", b"-1\r\n", b"0x1\r\na\r\n", b"\r\n", b"1" * 16 + b"\r\n", b"1;" + b"a" * 5000, b"4 4\r\n"]
)
def test_a_body_whose_chunks_are_none_is_refused(sent: bytes) -> None:
    with pytest.raises(UnclearError):
        Body(CHUNKED).take(bytearray(sent + b"\r\n"))
