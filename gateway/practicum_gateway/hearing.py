"""What is done in a house when another gateway tells that something changed."""

from collections.abc import Awaitable, Callable

from practicum_gateway.house import House
from practicum_gateway.store.notices import Notice, Topic


def _rules(house: House, _: str) -> None:
    house.rulebook.forget()


def _keys(house: House, _: str) -> None:
    house.keys.forget()


def _cancelled(house: House, episode: str) -> None:
    house.episodes.cancelled_elsewhere(episode)


def _events(house: House, episodes: str) -> None:
    for episode in episodes.split():
        house.record.bell.ring_here(episode)


def _messages(house: House, _: str) -> None:
    house.webhooks.carry()


def _issuers(house: House, _: str) -> Awaitable[None]:
    return house.issuers.open()


def _connectors(house: House, name: str) -> Awaitable[None]:
    return house.catalogue.changed_elsewhere(name)


def _webhooks(house: House, _: str) -> Awaitable[None]:
    return house.webhooks.open()


def _seals(house: House, identity: str) -> Awaitable[None]:
    return house.rotation.follow(identity)


_AT_ONCE: dict[str, Callable[[House, str], None]] = {
    Topic.RULES: _rules,
    Topic.KEYS: _keys,
    Topic.CANCELLED: _cancelled,
    Topic.EVENTS: _events,
    Topic.MESSAGES: _messages,
}
_IN_A_WHILE: dict[str, Callable[[House, str], Awaitable[None]]] = {
    Topic.ISSUERS: _issuers,
    Topic.CONNECTORS: _connectors,
    Topic.WEBHOOKS: _webhooks,
    Topic.SEALS: _seals,
}


def follow(house: House, notice: Notice) -> Awaitable[None] | None:
    """Follow a notice as far as that takes no time; gives what takes some, if anything does.

    A topic that is not known comes from a newer release, which tells of nothing that is kept here.

    Args:
        house: the one that it is about.
        notice: what was told.
    """
    if (at_once := _AT_ONCE.get(notice.topic)) is not None:
        at_once(house, notice.subject)
    elif (in_a_while := _IN_A_WHILE.get(notice.topic)) is not None:
        return in_a_while(house, notice.subject)
    return None
