"""Policies from bundles: what a trainer saved, sampled in this process."""

from pathlib import Path

from practicum.codecs.registry import codec_named
from practicum.stages._trl.models import Loaded, load_base, settle
from practicum.stages._trl.policy import LocalPolicy
from practicum.stages.bases import base_of
from practicum.stages.bundle import Bundle, check_template, read_bundle
from practicum.stages.extra import require
from practicum.stages.finishing import weights_of
from practicum.stages.sampler import Sampler
from practicum.stages.serving import version_of
from practicum.stages.settings import Precision


def open_policy(
    bundle: Path,
    cache: Path,
    *,
    temperature: float = 0.0,
    turn_tokens: int = 160,
    seed: int = 1,
    precision: Precision = Precision.FLOAT32,
    threads: int | None = None,
) -> Sampler:
    """Load a bundle to sample from it.

    Args:
        bundle: its folder.
        cache: where converted bases are kept.
        temperature: at which to draw; 0 takes the likeliest token.
        turn_tokens: the most tokens of one turn.
        seed: makes the draws repeatable.
        precision: in which numbers it computes.
        threads: of torch on a CPU; None for its own choice.

    Raises:
        MissingExtraError: the extra `train` is not installed.
        ConfigurationError: the bundle, its base or its template is not what it was.
    """
    require()
    manifest = read_bundle(bundle)
    settle(seed, threads)
    loaded = load_bundle(bundle, manifest, cache, precision)
    return LocalPolicy(
        loaded, version=version_of(manifest), temperature=temperature, turn_tokens=turn_tokens, seed=seed
    )


def load_bundle(folder: Path, manifest: Bundle, cache: Path, precision: Precision) -> Loaded:
    """Load a bundle's model on its own base, to be sampled or trained on.

    Raises:
        ConfigurationError: the base or the template is not what it was.
    """
    check_template(manifest)
    model, adapter = weights_of(folder, manifest, base_of(manifest, cache))
    return load_base(model, codec_named(manifest.codec), precision, adapter=adapter)
