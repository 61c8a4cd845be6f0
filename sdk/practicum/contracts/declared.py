"""What a registration would say in a declaration: for whoever writes down what there is."""

from practicum.contracts.base import JsonObject, Value


class Declared(Value):
    """A registration as a declaration says it.

    Attributes:
        name: its name, which stands before the rest.
        said: what it says otherwise than by default. A credential is its reference where it is kept outside, and None
            where it is kept here: it is never given out.
        document: the document of a system that was handed over, with its overlay in it.
    """

    name: str
    said: JsonObject
    document: JsonObject | None = None
