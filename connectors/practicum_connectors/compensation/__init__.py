"""How a call is undone, as far as the system's document says so: an offer, evaluated from the call and its answer."""

from practicum_connectors.compensation.expressions import Made
from practicum_connectors.compensation.ways import Ways

__all__ = ["Made", "Ways"]
