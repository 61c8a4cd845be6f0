"""`practicum rules`, `access`, `keys` and `secrets`: who may call what, and with which credentials."""

from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.inputs import arguments_of, json_of, text_of
from practicum.cli.output import JsonOption, moment, remark, say, show_fields, show_json, show_table
from practicum.client.call import build
from practicum.contracts.access import GRACE_SECONDS, Budget, Role, RuleSet

rules_app = typer.Typer(help="Decide which calls are allowed, denied, or asked about.", no_args_is_help=True)
access_app = typer.Typer(help="Ask what the access rules would say.", no_args_is_help=True)
secrets_app = typer.Typer(help="Exchange the key that seals stored credentials.", no_args_is_help=True)
keys_app = typer.Typer(help="Issue and withdraw keys to the gateway.", no_args_is_help=True)


@rules_app.command("show")
def show_rules(as_json: JsonOption = False) -> None:
    """Show the access rules in force, in order; the first that matches decides."""
    with connect() as client:
        found = client.rules.get()
    if as_json:
        show_json(found)
        return
    show_table(
        ("rule", "outcome", "tools", "effects", "roles", "principals", "arguments"),
        (
            (
                rule.id,
                rule.outcome,
                " ".join(rule.tools),
                " ".join(rule.effects) or "all",
                " ".join(rule.roles) or "all",
                " ".join(rule.principals) or "all",
                "" if rule.arguments is None else "must fit a schema",
            )
            for rule in found.rules
        ),
        empty="No rules are set: reads are allowed, everything else is asked about.",
    )
    if found.budgets:
        show_table(
            ("budget", "most", "in", "of each", "speaks of"),
            (
                (
                    budget.id,
                    _most(budget),
                    "all time" if budget.seconds is None else f"{budget.seconds:g} s",
                    budget.share,
                    " ".join((*budget.principals, *(() if budget.tokens else budget.tools), *budget.effects)),
                )
                for budget in found.budgets
            ),
            empty="",
        )


def _most(budget: Budget) -> str:
    if budget.calls is not None:
        return f"{budget.calls} calls"
    return f"{budget.tokens} tokens" if budget.tokens is not None else f"{budget.money:g} at {budget.amount}"


@rules_app.command(
    "set",
    epilog='A file holds {"rules": [{"id": "crm-notes", "tools": ["crm.add_note"], '
    '"outcome": "allow"}]} or the list alone.',
)
def set_rules(
    source: Annotated[str, typer.Argument(metavar="FILE", help="JSON file of rules, or - for stdin.")],
    as_json: JsonOption = False,
) -> None:
    """Replace the access rules as a whole."""
    given = json_of(text_of(source), source)
    fields = given if isinstance(given, dict) else {"rules": given}
    rules = build(RuleSet, f"rules in {source}", **fields)
    with connect() as client:
        found = client.rules.set(rules)
    if as_json:
        show_json(found)
    else:
        budgets = f" and {len(found.budgets)} budgets" if found.budgets else ""
        say(f"{len(found.rules)} rules{budgets} are in force.")


@access_app.command(
    epilog="**Example:** `practicum access explain --as refund-bot erp_create_refund '{\"amount\": 250}'`"
)
def explain(
    tool: Annotated[str, typer.Argument(help="Name of the tool, or `system.operation`.")],
    arguments: Annotated[str | None, typer.Argument(help="Its arguments: JSON, @FILE, or - for stdin.")] = None,
    principal: Annotated[
        str | None, typer.Option("--as", help="On whose behalf; your own when absent.", metavar="NAME")
    ] = None,
    role: Annotated[Role, typer.Option(help="In which role.")] = Role.AGENT,
    as_json: JsonOption = False,
) -> None:
    """Say what would be decided about a call, by which rule and why; nothing is called."""
    given = arguments_of(arguments)
    with connect() as client:
        found = client.rules.explain(tool, given, principal=principal, role=role)
    if as_json:
        show_json(found)
        return
    say(f"{found.decision.outcome}: {found.decision.reason}")
    show_fields((("tool", found.tool), ("effect", found.effect), ("as", f"{found.principal} ({found.role})")))
    show_table(
        ("rule", "speaks of it", "because"),
        ((each.rule, "yes" if each.matched else "no", each.reason) for each in found.considered),
        empty="",
    )


@keys_app.command("create", epilog="**Example:** `practicum keys create ada@example.com --role developer`")
def create_key(
    principal: Annotated[str, typer.Argument(help="Whom the key speaks for.")],
    role: Annotated[Role, typer.Option(help="What it may do in principle.")],
    expires_in: Annotated[
        int | None, typer.Option(min=1, help="Seconds after which it ends; never, if absent.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Issue a key; it is printed this once and nowhere kept in clear."""
    with connect() as client:
        issued = client.keys.create(principal, role=role, expires_in_seconds=expires_in)
    if as_json:
        show_json(issued)
    else:
        say(issued.key)
        remark(f"id {issued.info.id}; it is not shown again")


@keys_app.command("list")
def list_keys(as_json: JsonOption = False) -> None:
    """List the keys, without their secrets."""
    with connect() as client:
        found = client.keys.list()
    if as_json:
        show_json(found)
        return
    show_table(
        ("id", "begins with", "principal", "role", "episode", "expires", "revoked"),
        (
            (k.id, k.prefix, k.principal, k.role, k.episode, moment(k.expires), "yes" if k.revoked else "")
            for k in found
        ),
        empty="There are no keys.",
    )


@keys_app.command("revoke")
def revoke_key(
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the key.")], as_json: JsonOption = False
) -> None:
    """Withdraw a key."""
    with connect() as client:
        client.keys.revoke(key)
    if as_json:
        show_json({"revoked": key})
    else:
        say(f"Revoked {key}.")


@keys_app.command("rotate", epilog="**Example:** `practicum keys rotate ID --grace 600`")
def rotate_key(
    key: Annotated[str, typer.Argument(metavar="ID", help="Id of the key.")],
    grace: Annotated[
        int, typer.Option(min=0, help="Seconds for which the old key goes on; 0 withdraws it at once.")
    ] = GRACE_SECONDS,
    as_json: JsonOption = False,
) -> None:
    """Issue a key that takes the place of another; it is printed this once and nowhere kept in clear."""
    with connect() as client:
        issued = client.keys.rotate(key, grace_seconds=grace)
    if as_json:
        show_json(issued)
    else:
        say(issued.key)
        remark(f"id {issued.info.id}; it is not shown again. {key} goes on for {grace} s at most")


@secrets_app.command("rotate")
def rotate_secrets(as_json: JsonOption = False) -> None:
    """Seal every stored credential under a new key; calls go on meanwhile."""
    with connect() as client:
        done = client.secrets.rotate()
    if as_json:
        show_json(done)
    else:
        say(f"{done.credentials} credentials are sealed under the key {done.key_id}.")
