"""Which operation undoes another, and with which arguments, as the document says.

In this order:

1. what `x-practicum: {compensation: ...}` (or `x-practicum-compensation`) states at the operation;
2. a link of the success response that is marked with it, or that leads from a POST to the DELETE of an item of the
   same collection, named by something in the answer;
3. POST `/things` answered with 201, where the same document has DELETE `/things/{id}` and the answer says which: by its
   `Location`, or by a member with the name of the variable or the name `id`.

Where two ways are open, or a way leaves an argument out, there is none.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urljoin, urlsplit

from pydantic import JsonValue

from practicum.contracts.base import JsonObject
from practicum.contracts.tools import Effect
from practicum.errors import DocumentError
from practicum_connectors.catalogue.plan import Place, ToolPlan
from practicum_connectors.catalogue.stated import COMPENSATION, OVERRIDES, stated
from practicum_connectors.compensation.expressions import Made, NowhereError, argument, broken, needs_answer, value_of
from practicum_connectors.document.operations import VARIABLE
from practicum_connectors.document.pointers import Node, Pointers, as_list, as_node, is_node, text_of
from practicum_connectors.exchange import origin_of

_CREATED = 201
_SUCCESS = re.compile(r"2(\d\d|XX)", re.IGNORECASE)
_OPERATION = re.compile(r"([A-Za-z]+) +(/.*)", re.DOTALL)
_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}")
_MOST_LINKS = 200  # they are looked at after each call; more than anybody writes by hand are not
_LOCATIONS: dict[str, Place] = {"path": "path", "query": "query", "header": "header", "cookie": "cookie"}


@dataclass(frozen=True, slots=True)
class Call:
    """A call that undoes another.

    Attributes:
        tool: exposed name.
        arguments: complete.
    """

    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class _Written:
    """A way that is written out: templates of arguments by key, and perhaps of the body as a whole."""

    target: ToolPlan
    arguments: Mapping[str, JsonValue]
    body: JsonValue = None

    def call(self, made: Made) -> Call:
        arguments = {key: value_of(template, made) for key, template in self.arguments.items()}
        if self.body is not None:
            arguments |= _spread(self.target, value_of(self.body, made))
        return Call(self.target.tool.name, arguments)


class Ways:
    """How the operations of one connector are undone."""

    def __init__(self, plans: Mapping[str, ToolPlan]) -> None:
        """Know its tools.

        Args:
            plans: by exposed name; what is no tool undoes nothing.
        """
        self._by_id: dict[str, list[ToolPlan]] = {}
        self._by_place = {(plan.operation.method, plan.operation.path): plan for plan in plans.values()}
        self._deletes: dict[str, list[ToolPlan]] = {}
        for plan in plans.values():
            for name in {plan.operation.operation_id, plan.tool.operation} - {None}:
                self._by_id.setdefault(str(name), []).append(plan)
            if plan.operation.method == "DELETE":
                self._deletes.setdefault(_shape(plan.operation.path), []).append(plan)

    def undoing(self, made: Made, pointers: Pointers) -> Call | None:
        """The call that undoes one that was made; whether its arguments fit is for the caller to see.

        Args:
            made: the call; without an answer, only what needs none is found.
            pointers: of the document that its operation stands in.
        """
        if made.plan.tool.effect is Effect.READ:
            return None
        said = stated(made.plan.operation.extensions).compensation
        try:
            if said is not None:
                way = self._stated(said)
                return None if isinstance(way, str) else way.call(made)
            linked = list(self._linked(made, pointers))
            if linked:
                return linked[0].call(made) if len(linked) == 1 else None
            return self._inferred(made)
        except NowhereError:
            return None

    def may_undo(self, plan: ToolPlan) -> bool:
        """Whether it is worth looking at an answer: the document says something of undoing an operation.

        Args:
            plan: the operation's.
        """
        if plan.tool.effect is Effect.READ:
            return False
        said = stated(plan.operation.extensions).compensation
        if said is not None:
            return said is not False
        responses = (as_node(node) for node in plan.operation.responses.values())
        linked = any("links" in node or "$ref" in node for node in responses)
        return linked or _item_shape(plan.operation.path) in self._deletes

    def note(self, plan: ToolPlan) -> str | None:
        """Why what is stated of undoing an operation leads to no offer; None where it does, or nothing is stated."""
        said = stated(plan.operation.extensions).compensation
        way = None if said is None or said is False else self._stated(said)
        return f"How it is undone cannot be offered: {way}" if isinstance(way, str) else None

    def _stated(self, said: object) -> _Written | str:
        """The way that an extension states, or what is wrong with it."""
        node, given = as_node(said), as_node(as_node(said).get("arguments"))
        named = text_of(node.get("operation")).strip()
        target = self._named(named)
        if target is None:
            return f"`{named}` is no operation, or not one alone, that became a tool." if named else "it names none."
        arguments: dict[str, JsonValue] = {}
        for name, template in given.items():
            key = _key(target, name)
            if key is None:
                return f"{target.tool.name} takes no `{name}`."
            if (wrong := broken(template)) is not None:
                return f"`{wrong}` is no expression that is known here."
            arguments[key] = template
        missing = [one.key for one in target.arguments.values() if one.required and one.key not in arguments]
        return f"{target.tool.name} needs {', '.join(missing)} as well." if missing else _Written(target, arguments)

    def _named(self, name: str) -> ToolPlan | None:
        """The tool of an operation given by its id, by METHOD and path, or by a tool's name in the connector."""
        found = self._by_id.get(name, [])
        if found:
            return found[0] if len(found) == 1 else None
        placed = _OPERATION.fullmatch(name)
        return None if placed is None else self._by_place.get((placed[1].upper(), placed[2]))

    def _linked(self, made: Made, pointers: Pointers) -> Iterator[_Written]:
        for link in _links(made, pointers):
            target, marked = self._target(link), _is_marked(link)
            given = as_node(link.get("parameters"))
            if target is None or "server" in link or (not marked and not _deletes_item(made.plan, target, given)):
                continue
            keys = {name: _key(target, name) for name in given}
            if None not in keys.values():
                yield _Written(
                    target,
                    {key: given[name] for name, key in keys.items() if key is not None},
                    link.get("requestBody"),
                )

    def _target(self, link: Node) -> ToolPlan | None:
        named = link.get("operationId")
        if isinstance(named, str):
            found = [plan for plan in self._by_id.get(named, []) if plan.operation.operation_id == named]
            return found[0] if len(found) == 1 else None
        parts = text_of(link.get("operationRef")).split("/")
        if len(parts) != 4 or parts[:2] != ["#", "paths"]:  # noqa: PLR2004 (#, paths, the path, the method)
            return None
        path = unquote(parts[2]).replace("~1", "/").replace("~0", "~")
        return self._by_place.get((parts[3].upper(), path))

    def _inferred(self, made: Made) -> Call | None:
        plan, response = made.plan, made.response
        if response is None or response.status != _CREATED:
            return None
        if plan.operation.method != "POST" or plan.tool.effect is not Effect.CREATE:
            return None
        targets = self._deletes.get(_item_shape(plan.operation.path), [])
        if len(targets) != 1 or targets[0].tool.effect is not Effect.DELETE:
            return None
        *above, item = VARIABLE.findall(targets[0].operation.path)
        parents = VARIABLE.findall(plan.operation.path)
        values = [*(argument(made, "path", name) for name in parents), _created(made, item)]
        arguments: JsonObject = {}
        for name, value in zip((*above, item), values, strict=True):
            key = targets[0].key_of("path", name)
            if key is None:  # such as one behind a `#`, which is no part of the address
                raise NowhereError
            arguments[key] = _as_kind(value, targets[0].arguments[key].schema)
        return Call(targets[0].tool.name, arguments)


def _links(made: Made, pointers: Pointers) -> Iterator[Node]:
    """The links of the response that was given; while there is none, those of the only response of success.

    Raises:
        NowhereError: they are too many to be looked at.
    """
    responses = {status: node for status, node in made.plan.operation.responses.items() if _SUCCESS.fullmatch(status)}
    if made.response is not None:
        exact = str(made.response.status)
        names = [name for name in (exact, f"{exact[0]}XX", f"{exact[0]}xx") if name in responses][:1]
    else:
        names = list(responses) if len(responses) == 1 else []
    for name in names:
        links = _followed(pointers, as_node(_followed(pointers, responses[name])).get("links"))
        if len(links) > _MOST_LINKS:
            raise NowhereError
        for link in links.values():
            yield _followed(pointers, link)


def _followed(pointers: Pointers, node: object) -> Node:
    try:
        return pointers.follow(node) if is_node(node) else as_node(None)
    except DocumentError:
        return as_node(None)


def _is_marked(link: Node) -> bool:
    return link.get(COMPENSATION, as_node(link.get(OVERRIDES)).get("compensation")) is True


def _deletes_item(plan: ToolPlan, target: ToolPlan, given: Node) -> bool:
    """Whether a link leads from a POST to the DELETE of an item of its collection, which the answer names."""
    ours, theirs = plan.operation, target.operation
    if (ours.method, theirs.method) != ("POST", "DELETE") or _shape(theirs.path) != _item_shape(ours.path):
        return False
    key = target.key_of("path", VARIABLE.findall(theirs.path)[-1])
    return any(_key(target, name) == key and needs_answer(template) for name, template in given.items())


def _created(made: Made, variable: str) -> JsonValue:
    """What names the thing that was made: its Location, or a member of the answer; both have to agree.

    Raises:
        NowhereError: nothing does, or it cannot be told which.
    """
    body = as_node(made.body)
    named = [body[name] for name in dict.fromkeys((variable, "id")) if _names(body.get(name))]
    location = None if made.response is None else made.response.header("location")
    if location is not None:
        place = _item_at(made.url, location)
        named = [value for value in named if str(value) == place] or [place]
    if not named or len({str(value) for value in named}) > 1:
        raise NowhereError
    return named[0]


def _item_at(url: str, location: str) -> str:
    """The item of a collection that an address names.

    Raises:
        NowhereError: it is none of the collection's.
    """
    try:
        above, place = urlsplit(url), urlsplit(urljoin(url, location))
        same = origin_of(url) == origin_of(place.geturl())
    except ValueError:
        raise NowhereError from None
    prefix = f"{above.path.rstrip('/')}/"
    item = place.path.removeprefix(prefix).rstrip("/")
    if not same or not place.path.startswith(prefix) or not item or "/" in item or place.query:
        raise NowhereError
    return unquote(item)


def _as_kind(value: JsonValue, schema: object) -> JsonValue:
    """A name as the number or the text that an argument asks for; a path writes both in the same way."""
    said = as_node(schema).get("type")
    kinds = as_list(said) or [said]
    if isinstance(value, str) and "integer" in kinds and "string" not in kinds and _INTEGER.fullmatch(value):
        return int(value)
    return str(value) if isinstance(value, int) and kinds == ["string"] else value


def _names(value: object) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))


def _key(plan: ToolPlan, name: str) -> str | None:
    """The key of an argument given by `path.id`, by its name on the wire where only one has it, or by its key."""
    place, dot, rest = name.partition(".")
    if dot and place in _LOCATIONS and (key := plan.key_of(_LOCATIONS[place], rest)) is not None:
        return key
    keys = [one.key for one in plan.arguments.values() if one.name == name]
    if len(keys) == 1:
        return keys[0]
    return name if name in plan.arguments else None


def _spread(plan: ToolPlan, body: JsonValue) -> JsonObject:
    """A body as the arguments of a tool.

    Raises:
        NowhereError: the tool takes no such body.
    """
    if plan.body is not None and not plan.body.flat:
        return dict.fromkeys([one.key for one in plan.arguments.values() if one.place == "body"], body)
    if plan.body is None or not isinstance(body, dict):
        raise NowhereError
    keys = {name: plan.key_of("member", name) for name in body}
    if None in keys.values():
        raise NowhereError
    return {key: body[name] for name, key in keys.items() if key is not None}


def _shape(path: str) -> str:
    """A path whatever its variables are called; a plain `{}` in it is none of them."""
    return VARIABLE.sub("{*}", path.rstrip("/"))


def _item_shape(path: str) -> str:
    """The shape of the items of a collection."""
    return f"{_shape(path)}/{{*}}"
