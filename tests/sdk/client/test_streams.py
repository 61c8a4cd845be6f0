"""Reading an episode's events and waiting for its end, over connections that break."""

import time

import pytest

from practicum.client import AsyncPracticum, Practicum
from practicum.client.stream import EventBuffer
from practicum.contracts.episodes import Cause, Episode, EpisodeStatus
from practicum.errors import ConfigurationError, EpisodeError, GatewayUnavailableError, NotFoundError
from tests.sdk.client.conftest import KEY
from tests.sdk.stand_in import Answer, StandIn, episode, event, problem, serving, sse, stream

EVENTS = "/v1/episodes/ep1/events"
STARTED = event(1, "episode.started")
TURN = event(2, "turn.finished", text="line\u2028separator\u0085and\r\nmore")
ENDED = event(3, "episode.ended")
AWAY = problem(503, "gateway_unavailable", "The gateway is shutting down.")


def test_events_come_once_and_in_order_over_broken_connections(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/episodes/ep1", episode())
    gateway.on(
        "GET",
        EVENTS,
        stream(sse(STARTED)),
        stream(b": hello\n\n", sse(STARTED, TURN)[:-9]),
        stream(sse(TURN), 0.05, sse(ENDED)),
    )
    assert list(client.episodes.handle("ep1").events()) == [STARTED, TURN, ENDED]
    asked = [seen.query for seen in gateway.seen if seen.target == EVENTS]
    assert asked == [[("after", "0")], [("after", "1")], [("after", "1")]]
    assert gateway.seen[0].headers["accept"] == "text/event-stream"


async def test_the_async_client_resumes_too(gateway: StandIn, async_client: AsyncPracticum) -> None:
    gateway.on("GET", "/v1/episodes/ep1", episode())
    gateway.on("GET", EVENTS, stream(sse(STARTED)), stream(sse(STARTED, TURN, ENDED)))
    seen = [one async for one in async_client.episodes.events("ep1")]
    assert seen == [STARTED, TURN, ENDED]
    seen = [one async for one in async_client.episodes.handle("ep1").events(after=2)]
    assert seen == [ENDED]


def test_a_quiet_stream_is_taken_up_again(gateway: StandIn) -> None:
    gateway.on("GET", "/v1/episodes/ep1", episode())
    gateway.on("GET", EVENTS, stream(sse(STARTED), 30.0), stream(sse(ENDED)))
    with Practicum(gateway.url, KEY, timeout=0.3) as client:
        assert list(client.episodes.events("ep1")) == [STARTED, ENDED]


def test_reading_past_the_end_of_an_ended_episode_ends(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/episodes/ep1", episode(status=EpisodeStatus.COMPLETED))
    gateway.on("GET", EVENTS, stream(b": nothing more\n\n"))
    assert list(client.episodes.events("ep1", after=3)) == []


def test_an_unknown_episode_is_an_error_at_once(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", EVENTS, problem(404, "not_found", "There is no episode ep1."))
    with pytest.raises(NotFoundError, match="no episode ep1"):
        next(client.episodes.events("ep1"))


def test_a_stream_of_something_else_is_an_error(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", EVENTS, stream(b'data: {"tick": 1}\n\n'))
    with pytest.raises(ConfigurationError, match="something else"):
        next(client.episodes.events("ep1"))


def test_a_gateway_that_was_never_there_is_an_error_at_once() -> None:
    with serving() as gone:
        url = gone.url
    began = time.monotonic()
    with Practicum(url, KEY, patience=60) as client, pytest.raises(GatewayUnavailableError):
        next(client.episodes.events("ep1"))
    assert time.monotonic() - began < 5


def test_patience_with_a_lost_gateway_has_an_end(gateway: StandIn) -> None:
    gateway.on("GET", "/v1/episodes/ep1", episode())
    gateway.on("GET", EVENTS, stream(sse(STARTED)), Answer(503))
    with Practicum(gateway.url, KEY, patience=0.5) as client:
        events = client.episodes.events("ep1")
        assert next(events) == STARTED
        with pytest.raises(GatewayUnavailableError):
            next(events)


def test_waiting_for_the_result(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/episodes/ep1", episode(), episode(status=EpisodeStatus.COMPLETED))
    gateway.on("GET", EVENTS, stream(sse(STARTED), 0.1, sse(ENDED)))
    assert client.episodes.handle("ep1").result(timeout=10).answer == "Done."


def test_a_gateway_that_goes_away_is_waited_for(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/episodes/ep1", AWAY, episode(), AWAY, episode(status=EpisodeStatus.COMPLETED))
    gateway.on("GET", EVENTS, AWAY, stream(sse(STARTED, ENDED)))
    assert client.episodes.result("ep1", timeout=20).answer == "Done."


async def test_an_async_wait_outlasts_it_too(gateway: StandIn, async_client: AsyncPracticum) -> None:
    gateway.on("GET", "/v1/episodes/ep1", AWAY, episode(), AWAY, episode(status=EpisodeStatus.COMPLETED))
    gateway.on("GET", EVENTS, AWAY, stream(sse(STARTED, ENDED)))
    assert (await async_client.episodes.result("ep1", timeout=20)).answer == "Done."


def test_a_gateway_that_stays_away_is_not_waited_for_for_ever(gateway: StandIn) -> None:
    gateway.on("GET", "/v1/episodes/ep1", AWAY)
    with Practicum(gateway.url, KEY, patience=0.5) as client, pytest.raises(GatewayUnavailableError):
        client.episodes.result("ep1", timeout=20)


def test_waiting_has_an_end(gateway: StandIn, client: Practicum) -> None:
    gateway.on("GET", "/v1/episodes/ep1", episode())
    gateway.on("GET", EVENTS, stream(sse(STARTED), 30.0))
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"0\.4 s"):
        client.episodes.result("ep1", timeout=0.4)
    assert time.monotonic() - began < 3


async def test_async_waiting(gateway: StandIn, async_client: AsyncPracticum) -> None:
    gateway.on("GET", "/v1/episodes/ep1", episode())
    gateway.on("GET", EVENTS, stream(sse(STARTED), 30.0))
    with pytest.raises(TimeoutError, match=r"0\.3 s"):
        await async_client.episodes.result("ep1", timeout=0.3)
    gateway.on("GET", "/v1/episodes/ep1", episode(), episode(status=EpisodeStatus.COMPLETED))
    gateway.on("GET", EVENTS, stream(sse(STARTED, ENDED)))
    assert (await async_client.episodes.handle("ep1").result(5)).answer == "Done."


def test_run_returns_a_completed_result(gateway: StandIn, client: Practicum) -> None:
    gateway.on("POST", "/v1/episodes", Answer(201, episode().model_dump_json().encode()))
    gateway.on("GET", "/v1/episodes/ep1", episode(), episode(status=EpisodeStatus.COMPLETED))
    gateway.on("GET", EVENTS, stream(sse(ENDED)))
    assert client.run("Refund order 1042", model="local", tools=["crm.*"]).answer == "Done."


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        (episode(status=EpisodeStatus.EXHAUSTED, reason="12 steps were taken"), "exhausted: 12 steps were taken"),
        (episode(status=EpisodeStatus.FAILED, cause=Cause.INFRASTRUCTURE), "failed: caused by infrastructure"),
        (episode(status=EpisodeStatus.CANCELLED), "cancelled"),
    ],
)
def test_run_raises_for_every_other_ending(gateway: StandIn, client: Practicum, ended: Episode, told: str) -> None:
    gateway.on("POST", "/v1/episodes", Answer(201, episode().model_dump_json().encode()))
    gateway.on("GET", "/v1/episodes/ep1", ended)
    with pytest.raises(EpisodeError, match=told):
        client.run("Refund order 1042", model="local")


async def test_async_run_raises_too(gateway: StandIn, async_client: AsyncPracticum) -> None:
    gateway.on("POST", "/v1/episodes", Answer(201, episode().model_dump_json().encode()))
    gateway.on("GET", "/v1/episodes/ep1", episode(status=EpisodeStatus.FAILED))
    with pytest.raises(EpisodeError, match="failed"):
        await async_client.run("Refund order 1042", model="local")


def test_an_ended_episode_without_a_result_is_an_error(gateway: StandIn, client: Practicum) -> None:
    ended = episode(status=EpisodeStatus.COMPLETED).model_copy(update={"result": None})
    gateway.on("GET", "/v1/episodes/ep1", ended)
    with pytest.raises(EpisodeError, match="no result"):
        client.episodes.result("ep1")


def test_the_buffer_cuts_anywhere() -> None:
    text = b"id: 1\r\nevent: x\r\ndata: one\r\n\r\n: comment\n\ndata:two\ndata: three\n\n"
    for size in range(1, len(text)):
        buffer = EventBuffer()
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert [data for piece in pieces for data in buffer.feed(piece)] == [b"one", b"two\nthree"]
