"""Signatures: as the specification's own libraries make them."""

import pytest

from practicum_gateway.webhooks.outbox import address_of, parted
from practicum_gateway.webhooks.signatures import Envelope, is_signed, new_secret, signed
from tests.gateway.webhooks.chat import signature

# The vector with which the libraries of the specification are tested.
SECRET, ID, AT = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
BODY = b'{"test": 2432232314}'
EXPECTED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_specifications_vector() -> None:
    assert signature(SECRET, ID, str(AT), BODY) == EXPECTED
    envelope = signed(BODY, id=ID, at=AT, by=[SECRET])
    assert envelope == Envelope(ID, str(AT), EXPECTED)
    assert is_signed(BODY, envelope, at=AT, by=[SECRET])


def test_one_of_several_signatures_by_one_of_several_secrets() -> None:
    other, older = new_secret(), new_secret()
    both = signed(BODY, id=ID, at=AT, by=[other, SECRET])
    assert is_signed(BODY, both, at=AT, by=[older, SECRET])
    assert not is_signed(BODY, both, at=AT, by=[older])
    assert not is_signed(BODY, both, at=AT, by=[])


@pytest.mark.parametrize(("late", "fits"), [(300, True), (301, False), (-300, True), (-301, False)])
def test_the_time_may_be_five_minutes_off(late: int, fits: bool) -> None:
    envelope = signed(BODY, id=ID, at=AT, by=[SECRET])
    assert is_signed(BODY, envelope, at=AT + late, by=[SECRET]) is fits


@pytest.mark.parametrize(
    "envelope",
    [
        Envelope("", str(AT), EXPECTED),
        Envelope(f"{ID}x", str(AT), EXPECTED),
        Envelope(ID, f"{AT}.0", EXPECTED),
        Envelope(ID, f"{AT + 1}", EXPECTED),
        Envelope(ID, "٣", EXPECTED),
        Envelope(ID, "9" * 40, EXPECTED),
        Envelope(ID, str(AT), ""),
        Envelope(ID, str(AT), EXPECTED[:-4]),
        Envelope(ID, str(AT), EXPECTED.replace("v1,", "v1a,")),
        Envelope(ID, str(AT), "é" + EXPECTED),
        Envelope("a.1614265330", str(AT), signature(SECRET, "a.1614265330", str(AT), BODY)),
    ],
)
def test_anything_else_is_not_signed(envelope: Envelope) -> None:
    assert not is_signed(BODY, envelope, at=AT, by=[SECRET])
    assert SECRET not in repr(envelope)


def test_an_address_names_its_tenant() -> None:
    for tenant, name in (("main", "chat"), ("sales", "chat")):
        assert parted(address_of(tenant, name)) == (tenant, name)
    assert address_of("main", "chat") == "chat"
