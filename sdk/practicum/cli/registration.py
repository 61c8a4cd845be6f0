"""What `connectors add` registers and `connectors check` tells beforehand: the same options, the same registration."""

from collections.abc import Sequence
from typing import Annotated

import typer

from practicum.cli.credentials import auth_of
from practicum.cli.documents import Gathered, gathered
from practicum.cli.inputs import labels_of, overlay_of
from practicum.cli.output import remark
from practicum.client.call import build
from practicum.contracts.connectors import ArrayStyle, ConnectorLimits, ConnectorSpec, PracticeSpec
from practicum.errors import ConfigurationError

BaseUrlOption = Annotated[str | None, typer.Option(help="Where the system listens, if the document does not say.")]
AuthOption = Annotated[
    list[str] | None,
    typer.Option(help="Credential, such as `bearer:env:TOKEN`, or one for each scheme: `SCHEME=...`; see below."),
]
IncludeOption = Annotated[list[str] | None, typer.Option(help="Only operations of this pattern; repeatable.")]
ExcludeOption = Annotated[list[str] | None, typer.Option(help="No operations of this pattern; repeatable.")]
OverlayOption = Annotated[
    str | None, typer.Option(help="File with changes to the document: an Overlay 1.0 document, or RFC 6902.")
]
ServerOption = Annotated[str | None, typer.Option(help="Which of the document's servers, by its address or its name.")]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", help="A variable of that server, `NAME=VALUE`; repeatable.")
]
ArraysOption = Annotated[
    ArrayStyle, typer.Option(help="How lists inside of `deepObject` parameters are written: `f[ids][]=1` and so on.")
]
McpOption = Annotated[
    str | None,
    typer.Option(
        "--mcp",
        help="Address of an MCP server (streamable HTTP), in place of a document: it lists its tools.",
    ),
]
_MOST_REMARKS = 20


def spec_of(
    name: str,
    source: str | None,
    *,
    mcp: str | None = None,
    auth: Sequence[str] | None,
    include: Sequence[str] | None,
    exclude: Sequence[str] | None,
    overlay: str | None,
    settings: Sequence[str] | None,
    limits: Sequence[str] | None = None,
    **fields: object,
) -> ConnectorSpec:
    """The registration that some options describe; a file comes with all files that it refers to.

    Args:
        name: the connector's name.
        source: URL that the gateway fetches, a file, or `-` for stdin; None for an MCP server.
        mcp: address of the MCP server.
        auth: the credentials.
        include: patterns.
        exclude: patterns.
        overlay: file with changes to the document.
        settings: variables of the server.
        limits: bounds by name.
        fields: those of the registration that are given as they are.

    Raises:
        typer.BadParameter: an option has not its form.
        ConfigurationError: a file or a secret is not there or cannot be used.
        RequestError: a field does not fit.
    """
    fields |= {
        "auth": auth_of(auth or ()),
        "include": tuple(include or ()),
        "exclude": tuple(exclude or ()),
        "overlay": overlay_of(overlay),
        "variables": labels_of(settings or (), "region=eu"),
        "limits": _limits(limits or ()),
    }
    if (source is None) == (mcp is None):
        raise typer.BadParameter(
            "Give a document, or the address of an MCP server with --mcp.", param_hint="SOURCE or --mcp"
        )
    if source is None:
        return build(ConnectorSpec, "connector", name=name, mcp=mcp, **fields)
    if is_address(source):
        return build(ConnectorSpec, "connector", name=name, source=source, **fields)
    found = document_with_files(source)
    return build(ConnectorSpec, "connector", name=name, document=found.document, documents=found.files, **fields)


def is_address(source: str) -> bool:
    """Whether a document is named by a URL and not by a file."""
    return source.startswith(("http://", "https://"))


def document_with_files(source: str) -> Gathered:
    """A document from a file or stdin with the files that it refers to; what was left out of them is said.

    Raises:
        ConfigurationError: the document cannot be read or parsed, refers to too much, or is at an odd address.
        MissingExtraError: something is YAML, and no YAML parser is installed.
    """
    scheme, mark, _ = source.partition("://")
    if mark:
        raise ConfigurationError(
            f"The gateway fetches nothing from {scheme}:// addresses.", mend="Give an http or https address, or a file."
        )
    found = gathered(source)
    for reason in found.left_out[:_MOST_REMARKS]:
        remark(f"left out: {reason}")
    if len(found.left_out) > _MOST_REMARKS:
        remark(f"left out: {len(found.left_out) - _MOST_REMARKS} more files")
    return found


def practice_of(url: str | None, auth: Sequence[str] | None, *, private_network: bool) -> PracticeSpec | None:
    """Where practice copies are, if anything was said of them.

    Raises:
        typer.BadParameter: something was said of copies that are nowhere, or the credential is none.
        ConfigurationError: a secret is not there.
    """
    if url is not None:
        given = auth_of(auth or (), "--practice-auth")
        return build(PracticeSpec, "practice", base_url=url, auth=given, private_network=private_network)
    if auth or private_network:
        raise typer.BadParameter("There is no --practice for it to speak of.", param_hint="--practice-...")
    return None


def _limits(given: Sequence[str]) -> dict[str, str]:
    found = labels_of(given, "per_second=5")
    known = ConnectorLimits.model_fields
    unknown = [name for name in found if name not in known]
    if unknown:
        raise typer.BadParameter(
            f"There is no limit {unknown[0]!r}; there are {', '.join(known)}.", param_hint="--limit"
        )
    return found
