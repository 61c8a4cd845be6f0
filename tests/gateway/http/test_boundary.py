"""Whatever becomes of a request, who sent it is told so as a problem."""

import asyncio
import json

from starlette.types import Message, Receive, Scope, Send

from practicum_gateway.http.middleware import Boundary


async def test_a_request_that_the_gateway_does_not_live_to_answer_may_be_sent_again() -> None:
    """A bare 500 of the server would look like another program's, and end the episode that asked."""
    begun, sent = asyncio.Event(), list[Message]()

    async def never(_scope: Scope, _receive: Receive, _send: Send) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "method": "GET", "path": "/v1/episodes", "headers": []}
    request = asyncio.create_task(Boundary(never)(scope, receive, send))
    await begun.wait()
    request.cancel()  # as when the loop ends
    await asyncio.wait([request])
    assert sent[0]["status"] == 503
    assert json.loads(sent[1]["body"])["code"] == "gateway_unavailable"
