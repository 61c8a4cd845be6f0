"""`practicum tenants`: parts of a company that share an installation and see nothing of each other."""

import sys
from typing import Annotated

import typer

from practicum.cli.connection import connect
from practicum.cli.output import JsonOption, remark, say, show_json, show_table

app = typer.Typer(help="Run the tenants of an installation; for administrators of the main one.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="TENANT", help="Name of the tenant.")]


@app.command(epilog="**Example:** `practicum tenants create sales --admin ada@example.com`")
def create(
    name: NameArgument,
    admin: Annotated[str, typer.Option(help="Name of its first administrator.")] = "admin",
    as_json: JsonOption = False,
) -> None:
    """Make a tenant; prints the key of its administrator, this once."""
    with connect() as client:
        made = client.tenants.create(name, admin=admin)
    if as_json:
        show_json(made)
    else:
        say(made.key.key)
        remark(f"the key of {admin}, administrator of the tenant {name}; it is not shown again")


@app.command("list")
def list_all(as_json: JsonOption = False) -> None:
    """List the tenants."""
    with connect() as client:
        found = client.tenants.list()
    if as_json:
        show_json(found)
    else:
        show_table(("tenant",), ((tenant.name,) for tenant in found), empty="")


@app.command()
def key(name: NameArgument, as_json: JsonOption = False) -> None:
    """Issue another administrator's key to a tenant that lost its own."""
    with connect() as client:
        issued = client.tenants.admin_key(name)
    if as_json:
        show_json(issued)
    else:
        say(issued.key)
        remark(f"id {issued.info.id}; it is not shown again")


@app.command()
def remove(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
    as_json: JsonOption = False,
) -> None:
    """End a tenant's episodes and destroy all that is kept of it: connectors, keys, trajectories, everything."""
    if not yes:
        if not sys.stdin.isatty():
            raise typer.BadParameter("Nobody is there to confirm; give --yes if it is meant.")
        typer.confirm(f"Destroy all that is kept of the tenant {name}?", abort=True)
    with connect() as client:
        client.tenants.remove(name)
    if as_json:
        show_json({"removed": name})
    else:
        say(f"Removed {name}.")
