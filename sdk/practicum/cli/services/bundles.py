"""A bundle becomes a model of this installation: its adapter is loaded, and the gateway told of it."""

from collections.abc import Callable
from pathlib import Path

from practicum.cli.services.adapters import Adapters
from practicum.cli.services.local import admin_of, serve_adapter
from practicum.cli.services.local_model import WEIGHTS
from practicum.cli.services.state import StateDirectory
from practicum.client.call import build
from practicum.contracts.base import JsonObject
from practicum.contracts.models import ModelSpec, ModelVersion, Sampling
from practicum.errors import ConfigurationError, NotFoundError
from practicum.stages.bundle import Bundle, check_template, read_bundle
from practicum.stages.serving import adapter_file, registration

SAMPLING = Sampling(temperature=0.0, max_tokens=160)
"""How a small local model is asked unless somebody says otherwise."""


def register_bundle(
    state: StateDirectory,
    alias: str,
    folder: Path,
    *,
    version: str | None = None,
    sampling: Sampling = SAMPLING,
    fields: JsonObject | None = None,
    report: Callable[[str], None],
) -> ModelVersion:
    """Serve a bundle's adapter here, and register it as a candidate for an alias.

    The alias goes on naming the version it names; where there is no such alias yet, this becomes its first version.
    The same bundle again is the same version.

    Args:
        state: the installation's folder.
        alias: the alias.
        folder: the bundle.
        version: what records shall call it; its stage and digest when None.
        sampling: defaults of its calls.
        fields: further fields of its registration, such as `constrained` or `examples`.
        report: told what happens, a line at a time.

    Returns:
        The version as the gateway knows it.

    Raises:
        ConfigurationError: the bundle cannot be served here, was trained with another template, or nothing runs here.
        ConflictError: the version is registered with other content, or another `up` or `down` is at work.
        RequestError: a field does not fit.
    """
    bundle = read_bundle(folder)
    check_template(bundle)
    adapter = adapter_file(folder, bundle)
    _check_base(folder, bundle)
    with admin_of(state) as client:
        number, url = serve_adapter(state, adapter, report)
        given = registration(alias, bundle, target=WEIGHTS, base_url=url, adapter=number)
        named = {} if version is None else {"version": version}
        spec = build(ModelSpec, "model", **{**given.model_dump(), "sampling": sampling, **named, **(fields or {})})
        try:
            known = client.models.add_version(spec)
        except NotFoundError:
            first = client.models.register(spec)
            known = next(each for each in client.models.versions(alias) if each.version == first.version)
    with state.lock():
        Adapters(state).remember(spec.model_copy(update={"version": known.version}))
    return known


def _check_base(folder: Path, bundle: Bundle) -> None:
    if bundle.base.name != WEIGHTS:
        raise ConfigurationError(
            f"{folder} is an adapter over '{bundle.base.name}', and the local model server serves '{WEIGHTS}'.",
            mend=f"Train it over '{WEIGHTS}', or serve its base yourself and register it with `practicum models add`.",
        )
