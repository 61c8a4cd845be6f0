"""`practicum issuers`: identity providers whose tokens are taken."""

from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.inputs import labels_of
from practicum.cli.output import JsonOption, say, show_fields, show_json, show_table
from practicum.client.call import build
from practicum.contracts.issuers import Issuer, SignatureAlgorithm

app = typer.Typer(help="Take tokens of your own identity provider.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="How the issuer is called here.")]


@app.command(
    epilog="**Example:** `practicum issuers add okta https://example.okta.com --audience practicum "
    "--roles-claim groups --role practicum-admins=admin`"
)
def add(
    name: NameArgument,
    url: Annotated[str, typer.Argument(metavar="URL", help="Its URL, exactly as `iss` in its tokens.")],
    audience: Annotated[str, typer.Option(help="What `aud` of its tokens must hold.")],
    role: Annotated[
        list[str], typer.Option(metavar="GROUP=ROLE", help="What a role or group of it is worth here; repeatable.")
    ],
    roles_claim: Annotated[str, typer.Option(help="The claim that holds roles or groups.")] = "roles",
    principal_claim: Annotated[str, typer.Option(help="The claim that names whoever shows a token.")] = "sub",
    require: Annotated[
        list[str] | None, typer.Option(metavar="CLAIM=VALUE", help="A claim that must be there so; repeatable.")
    ] = None,
    jwks_url: Annotated[str | None, typer.Option(help="Where its keys are; OpenID discovery, if absent.")] = None,
    algorithm: Annotated[
        list[SignatureAlgorithm] | None,
        typer.Option(help="How its tokens may be signed; repeatable. RS256, ES256 and EdDSA, if absent."),
    ] = None,
    leeway: Annotated[int | None, typer.Option(help="Seconds by which its clock may be off.")] = None,
    longest: Annotated[int | None, typer.Option(help="Seconds for which its tokens may be good at most.")] = None,
    private_network: Annotated[bool, typer.Option(help="It may be at a private address.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Take an issuer's tokens from now on; one of the same name is replaced."""
    chosen = {
        "jwks_url": jwks_url,
        "algorithms": tuple(algorithm) if algorithm else None,
        "leeway_seconds": leeway,
        "longest_seconds": longest,
    }
    issuer = build(
        Issuer,
        "issuer",
        name=name,
        issuer=url,
        audience=audience,
        roles=labels_of(role, "practicum-admins=admin"),
        roles_claim=roles_claim,
        principal_claim=principal_claim,
        required=_required(labels_of(require or (), "email_verified=true")),
        private_network=private_network,
        **{option: value for option, value in chosen.items() if value is not None},
    )
    with connect() as client:
        found = client.issuers.put(issuer)
    if as_json:
        show_json(found)
    else:
        say(f"Tokens of {found.issuer} for {found.audience} are taken; their principals are called {found.name}:...")


def _required(given: dict[str, str]) -> dict[str, str | bool | None]:
    """Claims as tokens hold them: true and false are no texts there, and `*` stands for any value."""
    words: dict[str, bool | None] = {"true": True, "false": False, "*": None}
    return {claim: words.get(value, value) for claim, value in given.items()}


@app.command("list")
def list_all(as_json: JsonOption = False) -> None:
    """List the issuers whose tokens are taken."""
    with connect() as client:
        found = client.issuers.list()
    if as_json:
        show_json(found)
        return
    show_table(
        ("name", "issuer", "audience", "roles"),
        ((each.name, each.issuer, each.audience, _roles(each)) for each in found),
        empty="No tokens are taken, only keys.",
    )


@app.command()
def show(name: NameArgument, as_json: JsonOption = False) -> None:
    """Show on which terms an issuer's tokens are taken."""
    with connect() as client:
        found = client.issuers.get(name)
    if as_json:
        show_json(found)
        return
    show_fields(
        (
            ("issuer", found.issuer),
            ("audience", found.audience),
            ("keys", found.jwks_url or "as its discovery says"),
            ("algorithms", " ".join(found.algorithms)),
            ("principal", found.principal_claim),
            ("roles", f"{found.roles_claim}: {_roles(found)}"),
            ("required", " ".join(f"{claim}={'*' if v is None else v}" for claim, v in found.required.items())),
            ("leeway", f"{found.leeway_seconds} s"),
            ("longest", f"{found.longest_seconds} s"),
        )
    )


@app.command()
def remove(name: NameArgument, as_json: JsonOption = False) -> None:
    """Take an issuer's tokens no longer, from the next request on."""
    with connect() as client:
        client.issuers.remove(name)
    if as_json:
        show_json({"removed": name})
    else:
        say(f"Removed {name}.")


def _roles(issuer: Issuer) -> str:
    return " ".join(f"{group}={role}" for group, role in issuer.roles.items())
