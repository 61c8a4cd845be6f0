"""Content that no model reads, or not all of it: described in the observation, its bytes handed on beside it."""

import hashlib
import posixpath
import re
from urllib.parse import unquote

from practicum.contracts.tools import Artifact
from practicum_connectors.exchange import HttpResponse, Payload

_ID_CHARACTERS = 24
_MOST_NAME_CHARACTERS = 120
_EXTENDED_NAME = re.compile(r"filename\*\s*=\s*([\w-]+)'[^']*'([^\s;]+)", re.IGNORECASE)
_NAME = re.compile(r"filename\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;]+))", re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")


def keep(response: HttpResponse) -> tuple[Artifact, Payload]:
    """The whole body of an answer as an artifact.

    Its id comes from what it holds, so that the same answer has the same id every time; whoever keeps it says whose it
    is.

    Args:
        response: the answer, free of credentials.
    """
    media_type = response.media_type or "application/octet-stream"
    return keep_payload(Payload(media_type, file_name(response), response.body, response.complete))


def keep_payload(payload: Payload) -> tuple[Artifact, Payload]:
    """Bytes as an artifact, likewise."""
    media_type = payload.media_type
    said = "\0".join((media_type, payload.name or "", str(payload.complete), ""))
    digest = hashlib.sha256(said.encode("utf-8", "surrogatepass") + payload.content).hexdigest()
    artifact = Artifact(
        id=f"art_{digest[:_ID_CHARACTERS]}",
        media_type=media_type,
        bytes=len(payload.content),
        name=payload.name,
        complete=payload.complete,
    )
    return artifact, payload


def file_name(response: HttpResponse) -> str | None:
    """The name by which the system hands a file out, without any folder; None where it gives none."""
    header = response.header("content-disposition") or ""
    extended, plain = _EXTENDED_NAME.search(header), _NAME.search(header)
    if extended:
        name = _decoded(extended[2], extended[1])
    elif plain:
        name = _ESCAPED.sub(r"\1", plain[1]) if plain[1] is not None else plain[2]
    else:
        return None
    name = posixpath.basename(name.replace("\\", "/"))
    name = "".join(sign for sign in name if sign.isprintable())[-_MOST_NAME_CHARACTERS:]
    return None if name in {"", ".", ".."} else name


def _decoded(text: str, encoding: str) -> str:
    try:
        return unquote(text, encoding=encoding, errors="replace")
    except LookupError:
        return unquote(text, errors="replace")
