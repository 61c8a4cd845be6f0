"""`practicum models`: the aliases behind which models answer."""

from pathlib import Path
from typing import Annotated

import typer

from practicum.cli import routing, versions
from practicum.cli.connection import connect
from practicum.cli.inputs import object_of, secret_or_reference_of, text_of
from practicum.cli.output import JsonOption, remark, say, show_json, show_table
from practicum.client.call import build
from practicum.contracts.models import ModelInfo, ModelSpec, Provider, Sampling

app = typer.Typer(help="Register the models that agents think with.", no_args_is_help=True)


@app.command(
    epilog="**Examples:**\n\n"
    "`practicum models add mini openai/gpt-5-mini --api-key env:OPENAI_API_KEY`\n\n"
    "`practicum models add own hosted_vllm/our-model --base-url http://gpu:8000/v1`\n\n"
    "`practicum models add own our-model --codec hermes --base-url http://gpu:8000/v1`"
)
def add(
    alias: Annotated[str, typer.Argument(help="Name that episodes use.")],
    target: Annotated[str, typer.Argument(help="The provider's own name, such as openai/gpt-5-mini.")],
    provider: Annotated[
        Provider | None, typer.Option(help="Who answers; litellm, or completions where a codec is given.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Where a self-hosted server listens.")] = None,
    api_key: Annotated[
        str | None, typer.Option(help="The provider's key: env:VARIABLE, file:PATH, vault:PATH#FIELD or mounted:PATH.")
    ] = None,
    codec: Annotated[
        str | None, typer.Option(help="Dialect of a model whose server calls no tools itself, such as hermes.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(min=0, max=2, help="Default temperature.")] = None,
    top_p: Annotated[float | None, typer.Option(min=0, max=1, help="Default nucleus mass.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens of one turn.")] = None,
    tool_tokens: Annotated[
        int | None, typer.Option(min=1, help="The most tokens of tools in a prompt; beyond, it searches for tools.")
    ] = None,
    tool_profile: Annotated[
        str | None, typer.Option(help="Form of its tools: openai, openai_strict, anthropic, gemini or local.")
    ] = None,
    cache: Annotated[
        int | None, typer.Option(min=1, help="Seconds for which the answer to the same question is given again.")
    ] = None,
    version: Annotated[
        str | None,
        typer.Option(
            help="Name of the version, such as that of the weights; without it the target's. "
            "The same model under the same name is the same version, wherever it is served."
        ),
    ] = None,
    spec: Annotated[
        Path | None, typer.Option(help="JSON file with further fields, such as examples or adapter.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Register an alias, or put another model behind it."""
    fields = {} if spec is None else object_of(text_of(str(spec)), str(spec))
    wanted = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}
    sampling = build(Sampling, "sampling", **{name: value for name, value in wanted.items() if value is not None})
    given = {
        "alias": alias,
        "target": target,
        "provider": provider,
        "base_url": base_url,
        "codec": codec,
        "api_key": None if api_key is None else secret_or_reference_of(api_key),
        "sampling": sampling if sampling != Sampling() else None,
        "tool_tokens": tool_tokens,
        "tool_profile": tool_profile,
        "cache_seconds": cache,
        "version": version,
    }
    merged = {**fields, **{name: value for name, value in given.items() if value is not None}}
    merged.setdefault("provider", Provider.LITELLM if merged.get("codec") is None else Provider.COMPLETIONS)
    with connect() as client:
        info = client.models.register(build(ModelSpec, "model", **merged))
    if as_json:
        show_json(info)
    else:
        _show([info])
        if info.advice is not None:
            remark(info.advice)


@app.command("list")
def list_all(as_json: JsonOption = False) -> None:
    """List the registered models."""
    with connect() as client:
        found = [client.models.get(alias) for alias in client.models.list()]
    if as_json:
        show_json(found)
    else:
        _show(found)


@app.command()
def remove(alias: Annotated[str, typer.Argument(help="Name to forget.")], as_json: JsonOption = False) -> None:
    """Forget an alias."""
    with connect() as client:
        client.models.remove(alias)
    if as_json:
        show_json({"removed": alias})
    else:
        say(f"Removed {alias}.")


versions.commands(app)
routing.commands(app)


def _show(found: list[ModelInfo]) -> None:
    show_table(
        ("alias", "provider", "target", "version", "address"),
        ((info.alias, info.provider, info.target, info.version, info.base_url) for info in found),
        empty="No model is registered. `practicum models add` registers one.",
    )
