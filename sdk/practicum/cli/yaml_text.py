"""YAML files as the JSON that they stand for; needs PyYAML, which the extra `connectors` brings."""

import re
from importlib import import_module
from typing import Any

from pydantic import JsonValue

from practicum.errors import ConfigurationError, MissingExtraError

_WORDS: dict[str, JsonValue] = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def parse_yaml(text: str, source: str) -> JsonValue:
    """The value of a YAML text by the rules of YAML 1.2, in which `on` and dates are text; keys are always text.

    Args:
        text: the YAML.
        source: where it came from, for the error.

    Raises:
        ConfigurationError: it is no YAML.
        MissingExtraError: PyYAML is not installed.
    """
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        raise MissingExtraError("connectors", f"Reading YAML ({source})") from None
    try:
        return _value(yaml.compose(text, Loader=yaml.SafeLoader), ())
    except yaml.YAMLError as error:
        raise ConfigurationError(f"{source} is no YAML: {error}.", mend="Mend the text there.") from None
    except RecursionError:
        raise ConfigurationError(f"{source} nests too deep to be read.", mend="Flatten it.") from None


def _value(node: Any, above: tuple[Any, ...]) -> JsonValue:
    """The value of a PyYAML node; an alias is a second place of the same node."""
    if any(node is one for one in above):
        raise ConfigurationError("A YAML alias stands inside what it names.", mend="Write recursion with `$ref`.")
    inside = (*above, node)
    match getattr(node, "id", None):
        case "mapping":
            return {str(key.value): _value(value, inside) for key, value in node.value}
        case "sequence":
            return [_value(item, inside) for item in node.value]
        case "scalar":
            return _scalar(node)
        case _:
            return None  # an empty text has no node


def _scalar(node: Any) -> JsonValue:
    text: str = node.value
    if node.style is not None:
        return text
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
