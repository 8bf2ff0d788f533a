"""The content that each tier passes, decided by its shape and not by its label. Pure.

    FULL        everything, nested as it is, contents included
    SELECTIVE   fields, flat objects and lists of them; contents
    FILTERED    fields of one line, lists of flat items
    MINIMAL     fields of one line, lists of names
    METADATA    fields of one line, and flat objects and lists of them: figures, names, one description each

Nothing that `not_passed` lists is passed at any tier. Tier down, never up: what was received at a tier is passed on
at that tier or a narrower one, so such an item must fit both. What an agent made or read itself is its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from segue.errors import BadInput
from segue.model import Tier, Value
from segue.tiers import exclusions, fields, shapes
from segue.tiers.fields import Field, Pattern

MANY = 1000
"""At most this many misfits are reported in full."""


class Shape(StrEnum):
    """The shape of a part of a brief."""

    CONSTRAINT = "constraint"
    """A user's constraint or correction: it passes at every tier."""
    SCALAR = "scalar"
    """A count, an id, a name, a setting."""
    SUMMARY = "summary"
    """A name with a description of one line."""
    ITEM = "item"
    """A flat item with all its fields."""
    QUOTE = "quote"
    """Conversation, and free text of others."""
    CONTENT = "content"
    """File content and code."""


ALLOWED = {
    Tier.FULL: frozenset(Shape),
    Tier.SELECTIVE: frozenset(Shape),
    Tier.FILTERED: frozenset({Shape.CONSTRAINT, Shape.SCALAR, Shape.SUMMARY, Shape.ITEM}),
    Tier.MINIMAL: frozenset({Shape.CONSTRAINT, Shape.SCALAR}),
    Tier.METADATA: frozenset({Shape.CONSTRAINT, Shape.SCALAR, Shape.SUMMARY}),
}
"""The shapes that each tier passes in a brief."""


def passes(tier: Tier, shape: Shape) -> bool:
    return shape in ALLOWED[tier]


def limit(wanted: Tier, received: Tier | None = None) -> Tier:
    """The tier at which something may be passed on: never wider than it was received; one's own is free."""
    return wanted if received is None or received.allows(wanted) else received


def named(text: str, *, next: str = "segue protocol schema") -> Tier:
    """The tier with that name, in any case."""
    name = text.strip().upper()
    if name in list(Tier):
        return Tier(name)
    import difflib  # lazy: only a mistake needs it

    close = difflib.get_close_matches(name[:60], list(Tier), n=1, cutoff=0.5)
    nearest = f"did you mean {close[0]}?" if close else f"the tiers are {', '.join(Tier)}."
    raise BadInput(what=f"'{text[:60]}' is not a tier: {nearest}", next=next)


class Misfit(Value, frozen=True):
    """A field of a payload that may not be passed."""

    path: str
    """Its path: 'payload.agent_files[0].content'."""
    reason: str
    allowed: tuple[Tier, ...] = ()
    """The tiers that would pass it, narrowest first."""

    def __str__(self) -> str:
        *others, last = self.allowed or ("no tier",)
        names = f"{', '.join(others)} or {last}" if others else last
        return f"{self.path}: {self.reason}; {names} would allow it"


class Received(Value, frozen=True):
    """The sender of an item of a payload, and the tier; without a tier it is that agent's own."""

    from_agent: str
    context_level: Tier | None = None


class Kept(Value, frozen=True):
    """The payload that a tier passes, and the fields that were removed."""

    payload: dict[str, Any]
    fallen: tuple[Misfit, ...]
    unlisted: tuple[Field, ...]
    """The removed fields that `not_passed` did not list."""


class _Found(Struct, frozen=True):
    reason: str
    by_shape: bool = False
    """Whether another tier might pass it."""
    is_listed: bool = False


def misfits(
    payload: Mapping[str, Any],
    tier: Tier,
    not_passed: Sequence[str] = (),
    origins: Mapping[str, Received] | None = None,
) -> tuple[Misfit, ...]:
    """Every field of a payload that may not be passed at a tier."""
    return _told(payload, tier, _found(payload, tier, not_passed, origins or {}))


def cut(
    payload: Mapping[str, Any],
    tier: Tier,
    not_passed: Sequence[str] = (),
    origins: Mapping[str, Received] | None = None,
) -> Kept:
    """A payload reduced to what a tier passes: whole values only, none shortened or changed."""
    found = _found(payload, tier, not_passed, origins or {})
    return Kept(
        payload=fields.without(payload, found),
        fallen=_told(payload, tier, found),
        unlisted=tuple(field for field, one in found.items() if not one.is_listed),
    )


def _found(
    payload: Mapping[str, Any], tier: Tier, not_passed: Sequence[str], origins: Mapping[str, Received]
) -> dict[Field, _Found]:
    """Each field that does not fit, with the most important reason."""
    found: dict[Field, _Found] = {}
    for field, reason in exclusions.listed(payload, not_passed):
        found.setdefault(field, _Found(reason, is_listed=True))
    for field, reason in shapes.beyond(payload, tier):
        found.setdefault(field, _Found(reason, by_shape=True))
    for field, reason in risen(payload, origins):
        found.setdefault(field, _Found(reason))
    return found


def _told(payload: Mapping[str, Any], tier: Tier, found: Mapping[Field, _Found]) -> tuple[Misfit, ...]:
    first = list(found.items())[:MANY]
    others = [other for other in reversed(Tier) if other is not tier]
    if not any(one.by_shape for _field, one in first):
        others = []
    beyond = {other: _Reach(field for field, _reason in shapes.beyond(payload, other)) for other in others}
    return tuple(
        Misfit(
            path=fields.show(field),
            reason=one.reason,
            allowed=tuple(o for o in others if not beyond[o].touches(field)) if one.by_shape else (),
        )
        for field, one in first
    )


class _Reach:
    """Fields that do not fit: whether a field is one of them, inside one, or contains one."""

    def __init__(self, found: Iterable[Field]) -> None:
        self.fields = set(found)
        self.above = {field[:end] for field in self.fields for end in range(1, len(field))}

    def touches(self, field: Field) -> bool:
        return field in self.above or any(field[:end] in self.fields for end in range(1, len(field) + 1))


# Tier down, never up


def risen(payload: Mapping[str, Any], origins: Mapping[str, Received]) -> Iterator[tuple[Field, str]]:
    """Every field that is wider than it was received."""
    if not origins:
        return
    places: dict[Field, Received] = {}
    inner: dict[Field, list[Field]] = {}
    for pattern, received in _by_pattern(origins):
        places |= {field: received for field, _value in fields.find(payload, pattern)}
    for field in places:
        above = next((field[:end] for end in range(len(field) - 1, 0, -1) if field[:end] in places), None)
        if above is not None:
            inner.setdefault(above, []).append(field)
    for field, received in places.items():
        tier = received.context_level
        if tier is not None:
            for way, reason in shapes.beyond(_alone(payload, field, inner.get(field, ())), tier):
                yield (*field, *way[1:]), f"received at {tier} from {received.from_agent[:60]}: {reason}"


def _by_pattern(origins: Mapping[str, Received]) -> list[tuple[Pattern, Received]]:
    """The patterns of the origins. A pattern for one item comes after one for all items."""
    parsed = {pattern: received for text, received in origins.items() if (pattern := fields.parse(text))}
    return sorted(parsed.items(), key=lambda item: -item[0].count(fields.EVERY))


def _alone(payload: Mapping[str, Any], field: Field, inner: Sequence[Field]) -> dict[str, Any]:
    """One item as a payload of its own, without the items inside it that have their own origin."""
    [(_field, value)] = fields.find(payload, field)
    name = next(step for step in reversed(field) if isinstance(step, str))
    return fields.blanked({name: value}, [(name, *other[len(field) :]) for other in inner])
