"""The handoff document: sender, receiver, tier, payload, exclusions and expected output. Pure.

    handoff:
      from_agent: command
      to_agent: coordinator
      context_level: MINIMAL
      payload:
        mode: all
      not_passed:
        - file_contents
      origins:                  # optional: received items of the payload, with sender and tier
        mode: {from_agent: user, context_level: MINIMAL}
      expected_output:
        format: yaml
        schema: ImprovementReport

The same in YAML, JSON and Python. There are no other fields: anything beside the payload would pass unchecked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from segue import tiers
from segue.base import yaml_json
from segue.base.yaml_json import Notation
from segue.errors import BadInput, Refused
from segue.model import ExpectedOutput, Tier, Value
from segue.tiers import Misfit, Received, fields, shapes
from segue.tiers.fields import Field, Pattern

FORMATS = ("yaml", "json", "markdown")
NEXT = "segue protocol schema shows the fields of a handoff document"
MOST_ENTRIES = 100
"""The most entries of `not_passed` and of `origins`: nobody reads more."""
REQUIRED = ("from_agent", "to_agent", "context_level", "payload", "not_passed", "expected_output")
KNOWN = (*REQUIRED, "origins")


class HandoffForm(Value, frozen=True):
    """The content of a handoff document."""

    from_agent: str
    to_agent: str
    context_level: Tier
    payload: dict[str, Any]
    not_passed: tuple[str, ...]
    expected_output: ExpectedOutput
    origins: dict[str, Received] = msgspec.field(default_factory=dict)
    """By path: the items that were received, with sender and tier. All others are the sender's own."""


# Documents


def read(data: bytes | str, name: str = "the document") -> tuple[HandoffForm, Notation]:
    """A parsed document, and its notation. `check` checks whether it keeps to its tier."""
    value, written_in = yaml_json.read(data, name, next=NEXT)
    return from_plain(value, name), written_in


def write(form: HandoffForm, written_in: Notation = Notation.YAML) -> str:
    return yaml_json.write(to_plain(form), written_in)


def to_plain(form: HandoffForm) -> dict[str, Any]:
    """A form as JSON values, under its `handoff` key."""
    expected = {"format": form.expected_output.format, "schema": form.expected_output.schema}
    plain: dict[str, Any] = {
        "from_agent": form.from_agent,
        "to_agent": form.to_agent,
        "context_level": form.context_level.value,
        "payload": form.payload,
        "not_passed": list(form.not_passed),
        "expected_output": {key: value for key, value in expected.items() if value},
    }
    if form.origins:
        plain["origins"] = {path: _received_plain(one) for path, one in form.origins.items()}
    return {"handoff": msgspec.to_builtins(plain)}


def _received_plain(received: Received) -> dict[str, str]:
    plain = {"from_agent": received.from_agent}
    return (
        plain if received.context_level is None else plain | {"context_level": received.context_level.value}
    )


def from_plain(value: Any, name: str = "the document") -> HandoffForm:
    """A form from JSON values, with or without the `handoff` key."""
    reader = _Reader(name)
    body = value
    if isinstance(value, Mapping) and "handoff" in value:
        reader.only(value, ("handoff",), "")
        body = value["handoff"]
    body = reader.object(body, "handoff" if body is not value else "it")
    reader.only(body, KNOWN, "")
    missing = [key for key in REQUIRED if key not in body]
    if missing:
        extra = ": write [] if nothing is left out" if missing == ["not_passed"] else ""
        raise reader.wrong(f"lacks {', '.join(missing)}{extra}")
    return HandoffForm(
        from_agent=reader.line(body["from_agent"], "from_agent"),
        to_agent=reader.line(body["to_agent"], "to_agent"),
        context_level=reader.tier(body["context_level"], "context_level"),
        payload=reader.object(body["payload"], "payload"),
        not_passed=reader.lines(body["not_passed"], "not_passed"),
        expected_output=reader.expected(body["expected_output"]),
        origins=reader.origins(body.get("origins"), body["payload"]),
    )


class _Reader:
    """Parses a document, and collects what is wrong with it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def wrong(self, what: str) -> BadInput:
        return BadInput(what=f"{self.name} {what}.", next=NEXT)

    def only(self, value: Mapping[str, Any], known: Sequence[str], where: str) -> None:
        for key in value:
            if key in known:
                continue
            import difflib  # lazy: only a mistake needs it

            close = difflib.get_close_matches(str(key)[:60], known, n=1)
            nearest = f": did you mean {close[0]}?" if close else f"; the known ones are {', '.join(known)}."
            raise BadInput(
                what=f"{self.name} has an unknown field '{where}{str(key)[:60]}'{nearest}", next=NEXT
            )

    def object(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise self.wrong(f"is not a handoff document: {where} is {_kind(value)} instead of fields")
        return dict(value)

    def line(self, value: Any, where: str) -> str:
        if not isinstance(value, str) or not value.strip() or shapes.is_content("", value):
            raise self.wrong(f"has {_kind(value)} as {where}: expected one line of text")
        return value

    def lines(self, value: Any, where: str) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise self.wrong(f"has {_kind(value)} as {where}: expected a list of lines")
        if len(value) > MOST_ENTRIES:
            raise self.wrong(f"has {len(value):,} entries in {where}; at most {MOST_ENTRIES:,} are allowed")
        return tuple(self.line(entry, f"{where}[{index}]") for index, entry in enumerate(value))

    def tier(self, value: Any, where: str) -> Tier:
        if value not in list(Tier):
            tiers.named(str(value), next=f"use one of {', '.join(Tier)} as {where}; {NEXT}")
            raise self.wrong(f"has '{value}' as {where}: tiers are written in capitals")
        return Tier(value)

    def expected(self, value: Any) -> ExpectedOutput:
        body = self.object(value, "expected_output")
        self.only(body, ("format", "schema"), "expected_output.")
        wanted = body.get("format")
        if wanted not in FORMATS:
            raise self.wrong(
                f"has {_kind(wanted)} as expected_output.format: expected one of {', '.join(FORMATS)}"
            )
        if wanted == "markdown" and "schema" not in body:
            return ExpectedOutput(format=wanted, schema="")
        return ExpectedOutput(format=wanted, schema=self.line(body.get("schema"), "expected_output.schema"))

    def origins(self, value: Any, payload: Mapping[str, Any]) -> dict[str, Received]:
        body = self.object({} if value is None else value, "origins")
        if len(body) > MOST_ENTRIES:
            raise self.wrong(f"has {len(body):,} entries in origins; at most {MOST_ENTRIES:,} are allowed")
        return {path: self._origin(path, one, payload) for path, one in body.items()}

    def _origin(self, path: str, value: Any, payload: Mapping[str, Any]) -> Received:
        pattern = fields.parse(path)
        if not _is_there(payload, pattern):
            raise self.wrong(f"has origins of '{path[:60]}', which is not in the payload")
        body = self.object(value, f"origins.{path[:60]}")
        self.only(body, ("from_agent", "context_level"), f"origins.{path[:60]}.")
        level = body.get("context_level")
        return Received(
            from_agent=self.line(body.get("from_agent"), f"origins.{path[:60]}.from_agent"),
            context_level=None if level is None else self.tier(level, f"origins.{path[:60]}.context_level"),
        )


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return "a long text" if shapes.is_content("", value) else f"'{value[:60]}'"
    names = {bool: "true or false", dict: "an object", list: "a list"}
    return names.get(
        type(value), f"{value!r:.60}" if isinstance(value, int | float) else type(value).__name__
    )


# Tier down, never up


def check(form: HandoffForm, received: Sequence[HandoffForm] = ()) -> tuple[Misfit, ...]:
    """Every field of a form that may not be passed.

    With what the sender itself received, the origins are checked too: a field with the name of a received one must
    fit the tier that it was received at, unless `origins` says that it is the sender's own.
    """
    origins, lies = _origins(form, received)
    return (*lies, *tiers.misfits(form.payload, form.context_level, form.not_passed, origins))


def require(form: HandoffForm, received: Sequence[HandoffForm] = ()) -> HandoffForm:
    """The form itself if it may be passed; otherwise an error that names the first field that may not."""
    found = check(form, received)
    if found:
        more = f" ({len(found) - 1:,} more)" if len(found) > 1 else ""
        raise Refused(
            what=f"The payload is wider than {form.context_level}: {found[0]}{more}.",
            next=f"segue protocol reduce FILE --to {form.context_level} removes what does not fit",
        )
    return form


def reduce(form: HandoffForm, to: Tier) -> tuple[HandoffForm, tuple[Misfit, ...]]:
    """A form reduced to a narrower tier (or its own), and the removed fields. The rest is unchanged."""
    if not form.context_level.allows(to):
        raise Refused(
            what=f"A handoff at {form.context_level} cannot be made {to}: tier down, never up.",
            next="make a new one from what the sender has itself; segue protocol reduce --help",
        )
    kept = tiers.cut(form.payload, to, form.not_passed, form.origins)
    origins = {path: one for path, one in form.origins.items() if _is_there(kept.payload, fields.parse(path))}
    reduced = msgspec.structs.replace(
        form,
        context_level=to,
        payload=kept.payload,
        not_passed=_grown(form.not_passed, kept),
        origins=origins,
    )
    return reduced, kept.fallen


def pass_on(
    received: HandoffForm | Iterable[HandoffForm],
    *,
    to_agent: str,
    context_level: Tier,
    own: Mapping[str, Any],
    expected_output: ExpectedOutput,
    not_passed: Sequence[str] = (),
    only: Sequence[str] | None = None,
) -> HandoffForm:
    """A form for the next agent: received items with their origins, and the sender's own.

    `only` names the received fields that are passed on; None means all. An own field replaces a received one of the
    same name.
    """
    forms = [received] if isinstance(received, HandoffForm) else list(received)
    if len({one.to_agent for one in forms}) != 1:
        raise BadInput(what="The handoffs to pass on must all be to the same agent.", next=NEXT)
    payload: dict[str, Any] = {}
    origins: dict[Pattern, Received] = {}
    for one in map(_Handed, forms):
        goes_on = {key for key in one.payload if key not in own and (only is None or key in only)}
        payload |= {key: value for key, value in one.payload.items() if key in goes_on}
        origins = {pattern: held for pattern, held in origins.items() if pattern[0] not in goes_on}
        origins |= {pattern: one.held(pattern) for pattern in one.patterns() if pattern[0] in goes_on}
    return HandoffForm(
        from_agent=forms[0].to_agent,
        to_agent=to_agent,
        context_level=context_level,
        payload=payload | dict(own),
        not_passed=tuple(not_passed),
        expected_output=expected_output,
        origins={fields.show(pattern): held for pattern, held in origins.items()},
    )


def _is_there(payload: Mapping[str, Any], pattern: Pattern | None) -> bool:
    return pattern is not None and next(fields.find(payload, pattern), None) is not None


def _grown(not_passed: tuple[str, ...], kept: tiers.Kept) -> tuple[str, ...]:
    """`not_passed` with the removed fields: `payload.files[].content`, with a count if some are left."""
    gone = Counter(fields.general(field) for field in kept.unlisted)
    left = Counter(fields.general(field) for field in fields.every(kept.payload)) if gone else Counter()
    added = []
    for pattern, count in gone.items():
        some = f" ({count:,} of {count + left[pattern]:,})" if left[pattern] else ""
        entry = fields.show(pattern) + some
        added.append(entry if len(entry) <= shapes.ONE_LINE else entry[: shapes.ONE_LINE - 1] + "…")
    entries = [*not_passed, *(entry for entry in added if entry not in not_passed)]
    if len(entries) > MOST_ENTRIES:
        entries[MOST_ENTRIES - 1 :] = [f"and {len(entries) - MOST_ENTRIES + 1:,} more fields"]
    return tuple(entries)


def _told(form: HandoffForm) -> dict[Pattern, Received]:
    """The origins of a form. A pattern for one item comes after one for all items, as in `tiers`."""
    told = {pattern: one for path, one in form.origins.items() if (pattern := fields.parse(path))}
    return dict(sorted(told.items(), key=lambda item: -item[0].count(fields.EVERY)))


def _covers(pattern: Pattern, other: Pattern) -> bool:
    """Whether a pattern matches the same as another one, or something inside it."""
    return len(pattern) <= len(other) and all(
        step == inner or (step is fields.EVERY and isinstance(inner, int))
        for step, inner in zip(pattern, other, strict=False)
    )


class _Handed:
    """A received form, and the origins of its items."""

    def __init__(self, form: HandoffForm) -> None:
        self.payload = form.payload
        self.from_agent = form.from_agent
        self.tier = form.context_level
        # From the outside in.
        self.told = dict(sorted(_told(form).items(), key=lambda item: len(item[0])))

    def held(self, pattern: Pattern) -> Received:
        """The sender and tier of an item: from its own origin, else from that of what contains it."""
        told = [one for other, one in self.told.items() if _covers(other, pattern)]
        before = told[-1].context_level if told else None
        return Received(from_agent=self.from_agent, context_level=tiers.limit(self.tier, before))

    def patterns(self) -> list[Pattern]:
        """Each field, and the origins of what is inside it. They make no difference if all of it has the form's own
        tier."""
        inner: list[Pattern] = []
        for pattern in self.told:
            if len(pattern) > 1 and _is_there(self.payload, pattern):
                around = [pattern[:1], *(other for other in inner if _covers(other, pattern)), pattern]
                if any(self.held(one).context_level is not self.tier for one in around):
                    inner.append(pattern)
        return [*((key,) for key in self.payload), *inner]


def _origins(form: HandoffForm, received: Sequence[HandoffForm]) -> tuple[dict[str, Received], list[Misfit]]:
    """The origin of each item, from the form and from what its sender received."""
    for one in received:
        if one.to_agent != form.from_agent:
            what = f"The received handoff was to {one.to_agent}, but this handoff is from {form.from_agent}."
            raise BadInput(what=what, next="segue protocol check --help")
    handed = [_Handed(one) for one in received]
    lies = []
    for pattern, said in _told(form).items() if received else ():
        if said.context_level is not None and (problem := _lie(form, pattern, said, handed)):
            lies.append(Misfit(path=fields.show(pattern), reason=problem))
    return form.origins | _implied(form, handed), lies


def _implied(form: HandoffForm, handed: Sequence[_Handed]) -> dict[str, Received]:
    """The origins that are missing in a form: of items with the name of a received one that are not declared the
    sender's own."""
    implied: dict[str, Received] = {}
    told = _told(form)
    is_own = {
        field: one.context_level is None
        for pattern, one in told.items()
        for field, _value in fields.find(form.payload, pattern)
    }
    for pattern in dict.fromkeys(pattern for one in handed for pattern in one.patterns()):
        if pattern in told or pattern[0] not in form.payload:
            continue
        held = [one.held(pattern) for one in handed if _is_there(one.payload, pattern)]
        implied[fields.show(pattern)] = min(held, key=_width)
        for field, _value in fields.find(form.payload, pattern):
            if _nearest(is_own, field):
                implied[fields.show(field)] = Received(from_agent=form.from_agent)
    return implied


def _nearest(is_own: Mapping[Field, bool], field: Field) -> bool:
    """The origin of a field, else of what contains it."""
    return next((is_own[field[:end]] for end in range(len(field), 0, -1) if field[:end] in is_own), False)


def _width(received: Received) -> int:
    return list(Tier).index(received.context_level) if received.context_level else 0


def _lie(form: HandoffForm, pattern: Pattern, told: Received, handed: Sequence[_Handed]) -> str | None:
    """What is wrong with an origin, given what the sender received."""
    # The index of an item in a list does not matter.
    wanted = tuple(fields.EVERY if isinstance(step, int) else step for step in pattern)
    senders = [one for one in handed if one.from_agent == told.from_agent and _is_there(one.payload, wanted)]
    held = [one.held(pattern) for one in senders]
    if not held:
        return f"declared as from {told.from_agent[:60]}, who did not pass it to {form.from_agent[:60]}"
    widest = min(held, key=_width).context_level
    if widest is not None and told.context_level is not None and not widest.allows(told.context_level):
        return (
            f"declared as received at {told.context_level}, but {told.from_agent[:60]} passed it at {widest}"
        )
    return None
