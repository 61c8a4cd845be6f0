"""`practicum approvals`: what people are asked before a call is made."""

import sys
from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.output import JsonOption, moment, say, short, show_fields, show_json, show_table
from practicum.client import Practicum
from practicum.contracts.access import Approval, ApprovalStatus, Preview

app = typer.Typer(help="Answer what agents must ask before they act.", no_args_is_help=True)

ApprovalArgument = Annotated[str, typer.Argument(metavar="APPROVAL", help="Id of the approval.")]
ReasonOption = Annotated[str | None, typer.Option(help="Why, for the record; the model is told why not.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


@app.command("list")
def list_all(
    status: Annotated[ApprovalStatus | None, typer.Option(help="Only those that stand so.")] = ApprovalStatus.PENDING,
    everything: Annotated[bool, typer.Option("--all", help="Answered ones too.")] = False,
    episode: Annotated[str | None, typer.Option(help="Only those of this episode.")] = None,
    as_json: JsonOption = False,
) -> None:
    """List approvals, the open ones unless told otherwise."""
    with connect() as client:
        found = client.approvals.list(status=None if everything else status, episode=episode)
    if as_json:
        show_json(found)
        return
    show_table(
        ("approval", "status", "tool", "effect", "arguments", "asked by", "episode", "expires"),
        (
            (a.id, a.status, a.tool, a.effect, short(a.arguments, 60), a.requested_by, a.episode, moment(a.expires))
            for a in found
        ),
        empty="Nothing waits for an approval.",
    )


@app.command()
def show(approval: ApprovalArgument, as_json: JsonOption = False) -> None:
    """Show exactly what would be called."""
    with connect() as client:
        found = client.approvals.get(approval)
    if as_json:
        show_json(found)
    else:
        show_approval(found)


@app.command()
def preview(approval: ApprovalArgument, as_json: JsonOption = False) -> None:
    """Show what the call would change: what stands there now beside what it says."""
    with connect() as client:
        found = client.approvals.preview(approval)
    if as_json:
        show_json(found)
    else:
        show_preview(found)


@app.command()
def approve(
    approval: ApprovalArgument, reason: ReasonOption = None, yes: YesOption = False, as_json: JsonOption = False
) -> None:
    """Say yes to one call, with exactly the arguments shown."""
    answer(approval, approve=True, reason=reason, yes=yes, as_json=as_json)


@app.command()
def deny(
    approval: ApprovalArgument, reason: ReasonOption = None, yes: YesOption = False, as_json: JsonOption = False
) -> None:
    """Say no to one call."""
    answer(approval, approve=False, reason=reason, yes=yes, as_json=as_json)


def answer(approval: str, *, approve: bool, reason: str | None, yes: bool, as_json: bool) -> None:
    """Show an approval, have the answer confirmed, and give it.

    Raises:
        typer.BadParameter: nobody is there to confirm.
        typer.Abort: it was not confirmed.
    """
    with connect(as_approver=True) as client:
        asked = client.approvals.get(approval)
        if not yes:
            _confirm(client, asked, approve=approve)
        give = client.approvals.approve if approve else client.approvals.deny
        answered = give(asked, reason=reason)
    if as_json:
        show_json(answered)
    else:
        say(f"{'Approved' if approve else 'Denied'}: {answered.tool} {short(answered.arguments)}")


def _confirm(client: Practicum, asked: Approval, *, approve: bool) -> None:
    if not sys.stdin.isatty():
        raise typer.BadParameter("Nobody is there to confirm; give --yes once you have seen what is asked.")
    show_approval(asked)
    show_preview(client.approvals.preview(asked.id))
    typer.confirm("Approve this call?" if approve else "Deny this call?", abort=True)


def show_approval(approval: Approval) -> None:
    """An approval with everything that an approver should see."""
    show_fields(
        (
            ("approval", approval.id),
            ("status", approval.status),
            ("tool", approval.tool),
            ("effect", approval.effect),
            *((f"  {name}", short(value, 2000)) for name, value in approval.arguments.items()),
            ("asked by", approval.requested_by),
            ("episode", approval.episode),
            ("rule", approval.rule),
            ("asked", moment(approval.created)),
            ("expires", moment(approval.expires)),
            ("decided by", approval.decided_by),
            ("reason", approval.reason),
        )
    )


def show_preview(found: Preview) -> None:
    """What a call would change, as far as it is known."""
    if found.note is not None:
        say(found.note)
    if found.record is None:
        return
    say(f"{found.read_with} says now: {short(found.record, 2000)}")
    if not found.changes and found.note is not None:
        return
    changes = ((change.where, short(change.before, 200), short(change.after, 200)) for change in found.changes)
    show_table(("value", "now", "after the call"), changes, empty="The call names no value that differs.")
