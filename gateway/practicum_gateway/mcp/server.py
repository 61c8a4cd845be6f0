"""The MCP server, by the official SDK: imported when the first MCP client comes, since that takes a second.

Every request stands alone. The SDK serves the current revision of the protocol and those before it over the same
endpoint; what an older client's session is for, see `sessions`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from typing import Any, cast

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from starlette.types import Receive, Scope, Send

from practicum.contracts.problems import Problem
from practicum_gateway.access.principals import Principal
from practicum_gateway.house import House
from practicum_gateway.mcp import answers
from practicum_gateway.mcp.calls import Made, Wish, is_waiting, make
from practicum_gateway.mcp.sessions import key_of
from practicum_gateway.mcp.shown import Display

KEY_META = "practicum/idempotencyKey"
"""Where a call's `_meta` may give its idempotency key."""
KEY_HEADER = "idempotency-key"
"""The header in which clients give it that cannot say anything of a call but headers."""
_INSTRUCTIONS = (
    "Tools of your company's own systems. Some calls wait until a person approves them; who asks cannot approve. "
    "Such a call says so and is not made yet: make the same call again later, with the same arguments."
)
_LONGEST_KEY = 200

Told = Callable[[Exception], Problem]
"""Says what an error is to the outside, and logs it where that is due."""
_Context = ServerRequestContext[Any, Any]


class McpServer:
    """Serves MCP requests that the gateway's door has let in."""

    def __init__(self, told: Told, *, most: int, progress_seconds: float = 10.0) -> None:
        """Make the server.

        Args:
            told: what is said of an error.
            most: the largest body in bytes; it was weighed already.
            progress_seconds: how often a client that wants to know hears that a call goes on.
        """
        # What the SDK logs of an error quotes what was handled; errors of ours are logged by `told`.
        logging.getLogger("mcp").setLevel(logging.CRITICAL)
        self._told = told
        self._display = Display()
        self._most = most
        self._progress_seconds = progress_seconds
        self._server: Server[Any] = Server(
            "practicum",
            version=version("practicum"),
            title="Practicum gateway",
            instructions=_INSTRUCTIONS,
            get_tool_input_schema=_nothing_mirrored,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        self._server.middleware.clear()  # spans are ours, and name no caller's words

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; the house, the caller and the session are in its state."""
        manager = StreamableHTTPSessionManager(self._server, stateless=True, max_request_body_size=self._most)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    async def _list_tools(self, ctx: _Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        with self._boundary():
            house, caller = _of(ctx)
            stored = None if caller.episode is None else await house.episodes.stored(caller, caller.episode)
            shown = await self._display.to(house, caller, stored)
            return answers.page(*shown.page(None if params is None else params.cursor))

    async def _call_tool(self, ctx: _Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        with self._boundary():
            house, caller = _of(ctx)
            wish = _wish(ctx, params)
            async with _progress(ctx, self._progress_seconds):
                made = await make(house, caller, wish, self._display)
            if is_waiting(made) and _takes_questions(ctx) and not _declined(params):
                return _question(made)
            return answers.result(made)

    @contextmanager
    def _boundary(self) -> Generator[None]:
        try:
            yield
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001  # the boundary of this protocol: classify, log once, tell nothing
            raise answers.error(self._told(error)) from None


def _state(ctx: _Context) -> dict[str, Any]:
    """What the door and the endpoint noted of the request."""
    if ctx.request is None:
        raise AssertionError("the SDK serves requests of HTTP alone here")
    state: dict[str, Any] = ctx.request.scope["state"]
    return state


def _of(ctx: _Context) -> tuple[House, Principal]:
    state = _state(ctx)
    return state["house"], state["principal"]


def _wish(ctx: _Context, params: CallToolRequestParams) -> Wish:
    session: str | None = _state(ctx).get("mcp_session")
    request = ctx.request_id
    return Wish(
        tool=params.name,
        arguments=params.arguments or {},
        key=_given_key(ctx),
        derived=None if session is None or request is None else key_of(session, request),
        approval=params.request_state,
        waits=_accepted(params),
    )


def _given_key(ctx: _Context) -> str | None:
    header = None if ctx.request is None else ctx.request.headers.get(KEY_HEADER)
    key = cast("dict[str, object]", ctx.meta or {}).get(KEY_META, header)
    if key is None:
        return None
    if not isinstance(key, str) or not 1 <= len(key) <= _LONGEST_KEY or not key.isprintable():
        told = f"An idempotency key (_meta['{KEY_META}']) is a text of 1 to {_LONGEST_KEY} characters."
        raise MCPError(INVALID_PARAMS, told)
    return key


def _answer(params: CallToolRequestParams) -> ElicitResult | None:
    answer = (params.input_responses or {}).get(answers.QUESTION)
    return answer if isinstance(answer, ElicitResult) else None


def _accepted(params: CallToolRequestParams) -> bool:
    answer = _answer(params)
    return answer is not None and answer.action == "accept"


def _declined(params: CallToolRequestParams) -> bool:
    answer = _answer(params)
    return answer is not None and answer.action != "accept"


def _question(made: Made) -> InputRequiredResult:
    if made.tool is None or made.observation.approval is None:
        raise AssertionError("a call that waits is one of a tool")
    return answers.question(made.tool, made.observation.approval)


def _takes_questions(ctx: _Context) -> bool:
    """Whether the client can be asked for input: it speaks the present revision and shows forms."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    capabilities = ctx.session.client_capabilities
    asked = None if capabilities is None else capabilities.elicitation
    return asked is not None and (asked.form is not None or asked.url is None)


@asynccontextmanager
async def _progress(ctx: _Context, every_seconds: float) -> AsyncGenerator[None]:
    """Tells a client that wants to know, every now and then, that the call still goes on."""

    async def tell() -> None:
        past = 0.0
        while True:
            await asyncio.sleep(every_seconds)
            past += every_seconds
            await ctx.session.report_progress(past, message=f"{past:.0f} s")

    telling = asyncio.create_task(tell())
    # A client that is gone hears nothing, which is no reason to complain.
    telling.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        yield
    finally:
        telling.cancel()


def _nothing_mirrored(_tool: str) -> None:
    """No argument of a tool is mirrored in a header."""
