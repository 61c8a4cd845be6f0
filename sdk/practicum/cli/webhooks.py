"""`practicum webhooks`: approvals asked and answered in a chat or a ticket system."""

from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.exits import FAILED
from practicum.cli.output import JsonOption, moment, remark, say, show_fields, show_json, show_table
from practicum.contracts.access import GRACE_SECONDS
from practicum.contracts.webhooks import NewWebhook, Webhook

app = typer.Typer(help="Have approvals asked and answered elsewhere.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="How the webhook is called here.")]


@app.command(epilog="**Example:** `practicum webhooks add chat https://bridge.example.com/approvals`")
def add(
    name: NameArgument,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where messages are posted.")],
    private_network: Annotated[
        bool, typer.Option(help="It may be at a private address, and without encryption.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell a receiver of approvals from now on; prints its secrets, this once."""
    with connect() as client:
        made = client.webhooks.add(name, url, private_network=private_network)
    _show_new(made, as_json=as_json)


@app.command("list")
def list_all(as_json: JsonOption = False) -> None:
    """List the webhooks, with how their latest attempt went."""
    with connect() as client:
        found = client.webhooks.list()
    if as_json:
        show_json(found)
        return
    show_table(
        ("webhook", "at", "latest attempt", "", "failed since", "waiting"),
        ((each.name, each.origin, *_latest(each), each.failures or "", each.waiting or "") for each in found),
        empty="Nobody is told of approvals.",
    )


@app.command("test")
def try_out(name: NameArgument, as_json: JsonOption = False) -> None:
    """Post a message that tells nothing, once; ends with 1 where it does not arrive."""
    with connect() as client:
        attempt = client.webhooks.test(name)
    if as_json:
        show_json(attempt)
    else:
        say(f"{'Delivered' if attempt.ok else 'Not delivered'}: {attempt.said}")
    if not attempt.ok:
        raise typer.Exit(FAILED)


@app.command(epilog="**Example:** `practicum webhooks rotate chat --grace 600`")
def rotate(
    name: NameArgument,
    grace: Annotated[
        int, typer.Option(min=0, help="Seconds for which the old secrets go on; 0 withdraws them at once.")
    ] = GRACE_SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Give a webhook other secrets; prints them, this once."""
    with connect() as client:
        made = client.webhooks.rotate(name, grace_seconds=grace)
    _show_new(made, as_json=as_json)


@app.command()
def remove(name: NameArgument, as_json: JsonOption = False) -> None:
    """Tell it nothing any more, and take no answer through it."""
    with connect() as client:
        client.webhooks.remove(name)
    if as_json:
        show_json({"removed": name})
    else:
        say(f"Removed {name}.")


def _show_new(made: NewWebhook, *, as_json: bool) -> None:
    if as_json:
        show_json(made)
        return
    show_fields((("secret", made.secret), ("answer secret", made.answer_secret)))
    remark(f"{made.webhook.name} checks what it is sent with the first, signs answers with the second; not shown again")


def _latest(webhook: Webhook) -> tuple[str, str]:
    return ("", "") if webhook.last is None else (moment(webhook.last.at), webhook.last.said)
