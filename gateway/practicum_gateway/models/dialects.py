"""Whether a model is spoken to in the dialect that it was taught: what its chat template, or its name, says. Pure."""

from practicum.codecs.bodies import DEFAULT_CODEC
from practicum.codecs.detect import suits_name, suits_template
from practicum.codecs.registry import CODECS
from practicum.contracts.checks import Capability, Finding
from practicum.contracts.models import ModelSpec


def dialect(spec: ModelSpec, template: str | None) -> Finding | None:
    """What is known of the codec of a model; None for one whose prompts its provider renders.

    Args:
        spec: the model.
        template: its chat template, where its server tells it.
    """
    if not spec.provider.renders:
        return None
    used = spec.codec or DEFAULT_CODEC
    if spec.bundle is not None:
        return _found(True, f"it was trained in '{used}', and is asked in it")
    if template:
        suits, why = suits_template(template), "its server's chat template"
    else:
        suits, why = suits_name(spec.target), f"its server tells no chat template, and its name '{spec.target}'"
    if suits == used:
        return _found(True, f"{why} is of the family of '{used}', in which it is asked")
    asked = f"it is asked in '{used}'" + ("" if spec.codec else ", since its registration names no codec")
    if suits is None:
        known = ", ".join(codec.name for codec in CODECS)
        return _found(None, f"{why} is of no family that is known: {asked}; the codecs are {known}")
    return _found(
        False if template else None,
        f"{why} is of the family of '{suits}', and {asked}: register it again with --codec {suits}",
    )


def advice(spec: ModelSpec, template: str | None) -> str | None:
    """What whoever registers a model should know of its codec; None where there is nothing to say."""
    found = dialect(spec, template)
    if found is None or found.able or spec.bundle is not None:
        return None
    return f"{found.said[0].upper()}{found.said[1:]}."


def _found(able: bool | None, said: str) -> Finding:
    return Finding(capability=Capability.DIALECT, able=able, said=said)
