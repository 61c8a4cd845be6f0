"""What is counted of requests: how each ended, with which error code, on which route, how long it took."""

import itertools
from collections.abc import Iterator

from practicum_gateway.metrics.instruments import Counter, Family, Histogram


class RequestMeter:
    """Counts requests of all tenants."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self.requests = Counter(
            "practicum.requests",
            "{request}",
            "Requests by how they ended: success, refused (4xx) or error (5xx), with the error's code.",
            *("route", "outcome", "code"),
        )
        self.seconds = Histogram(
            "practicum.request.duration", "s", "From a request's head to the end of its answer.", "route"
        )

    def families(self) -> Iterator[Family]:
        """What it stands at."""
        return itertools.chain(self.requests.families(), self.seconds.families())
