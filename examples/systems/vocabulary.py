"""The words and numbers that the example company is made of, in two halves that share nothing."""

from collections.abc import Callable
from dataclasses import dataclass

_HELD_OUT_ONE_IN = 3
"""One number in three is held out; the others train."""


@dataclass(frozen=True)
class Vocabulary:
    """What names and numbers may be drawn from.

    Attributes:
        first_names: given names.
        last_names: family names.
        cities: where customers live.
        domains: of email addresses.
        products: product names.
        services: names of services.
        tests: names of tests that can fail.
        subjects: what tickets are about.
        takes: whether a number may be used as an order, customer, product or build number.
    """

    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    cities: tuple[str, ...]
    domains: tuple[str, ...]
    products: tuple[str, ...]
    services: tuple[str, ...]
    tests: tuple[str, ...]
    subjects: tuple[str, ...]
    takes: Callable[[int], bool]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(","))


TRAIN = Vocabulary(
    first_names=_words(
        "Anna, Ben, Carla, David, Emma, Frank, Grace, Henry, Irene, Jack, Karen, Leo, Maria, Nina, Oscar, Paula,"
        "Robert, Sarah, Thomas, Ursula, Victor, Wendy, Adam, Julia"
    ),
    last_names=_words(
        "Adams, Baker, Clark, Davis, Evans, Fisher, Green, Harris, Jackson, King, Lewis, Miller, Nelson, Owens, Parker,"
        "Roberts, Smith, Taylor, Turner, Walker, White, Young, Cooper, Morris"
    ),
    cities=_words("Oslo, Porto, Lyon, Graz, Bergen, Turin, Leeds, Ghent"),
    domains=_words("north.example, river.example, mail.example, cloud.example, garden.example, copper.example"),
    products=_words("desk lamp, office chair, bookshelf, coffee table, floor mat, wall clock, kettle, toaster, mirror"),
    services=_words(
        "search, orders, inventory, accounts, gateway, reports, pricing, catalog, sessions, exports, media, alerts"
    ),
    tests=_words(
        "test_login, test_rounding, test_timeout, test_upload, test_cache, test_limits, test_parser, test_retry,"
        "test_sorting, test_headers, test_unicode, test_totals"
    ),
    subjects=_words(
        "parcel is late, wrong colour, invoice is missing, address has changed, wants a callback, password reset,"
        "asks for a quote, delivery was refused, double charge, manual is missing, app keeps crashing, cannot log in"
    ),
    takes=lambda number: number % _HELD_OUT_ONE_IN != 1,
)

HELD_OUT = Vocabulary(
    first_names=_words("Laura, Peter, Alice, Simon, Helen, Martin, Diana, George, Nora, Felix, Clara, Philip"),
    last_names=_words("Brown, Wilson, Moore, Martin, Hughes, Bell, Reed, Cole, Stone, Hayes, Wood, Price"),
    cities=_words("Bern, Malmo, Cork, Utrecht"),
    domains=_words("post.example, harbor.example, valley.example"),
    products=_words("standing desk, paper tray, radio, vase"),
    services=_words("billing, shipping, checkout, profile, payments, reviews, tracking, loyalty"),
    tests=_words("test_refund, test_signup, test_currency, test_paging, test_export, test_dates"),
    subjects=_words(
        "box arrived empty, needs a receipt, screen stays black, wants to return it, lost the key, price is wrong"
    ),
    takes=lambda number: number % _HELD_OUT_ONE_IN == 1,
)
