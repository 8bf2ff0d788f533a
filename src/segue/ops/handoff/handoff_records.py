"""Stored handoffs: read them and move them to the next state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from segue import agents
from segue.base import paths
from segue.errors import NotFound, Refused
from segue.model import Blob, Brief, Handoff, HandoffState, Receipt
from segue.model.conversation import Conversation
from segue.model.handoff import Event, HandoffEvent, transition
from segue.ops.briefs import context
from segue.ops.common.desk import Desk
from segue.ops.handoff import events, waiting_list
from segue.ops.work import discovery
from segue.store import HANDOFF


def get(desk: Desk, id: str) -> Handoff:
    if not desk.has_store:
        raise NotFound(noun="handoff", name=id, next="segue handoff list")
    return desk.shared.get(HANDOFF, id)


def listed(desk: Desk, limit: int, *, everywhere: bool = False) -> list[Handoff]:
    """Handoffs of this folder, or all of them, newest first."""
    known = desk.shared.all(HANDOFF) if desk.has_store else []
    here = discovery.work_folder(paths.as_text(desk.project))
    own = [
        one
        for one in known
        if everywhere or (one.delivery and discovery.work_folder(one.delivery.project) == here)
    ]
    return sorted(own, key=lambda one: one.created_at, reverse=True)[:limit]


def folder_of(desk: Desk, id: str) -> Path:
    """Folder of a running handoff: the target's output, and the brief if it is passed as a file."""
    return desk.places.data / "runs" / id


def last_here(desk: Desk) -> Handoff:
    """Latest handoff of this folder."""
    for handoff in listed(desk, 1):
        return handoff
    raise Refused(what="This folder has no handoffs yet.", next="segue to AGENT")


def brief_of(desk: Desk, handoff: Handoff) -> Brief:
    return msgspec.json.decode(desk.shared.content(handoff.package.brief), type=Brief)


def receipt_of(desk: Desk, handoff: Handoff) -> Receipt:
    return msgspec.json.decode(desk.shared.content(handoff.receipt), type=Receipt)


def violations_in(receipt: Receipt) -> tuple[str, ...]:
    """Prohibitions that were broken, with evidence."""
    return tuple(line.fact.value for line in receipt.lines if line.fact.kind == "violation")


def unconfirmed_in(receipt: Receipt) -> tuple[str, ...]:
    """Claims that could not be confirmed, with evidence."""
    return tuple(line.fact.value for line in receipt.lines if line.fact.kind == "assertion")


def conversation_of(desk: Desk, handoff: Handoff) -> Conversation:
    hash = handoff.package.conversation
    return msgspec.json.decode(desk.shared.content(hash), type=Conversation) if hash else Conversation()


def agent_of(address: str) -> str:
    return address.partition(":")[0]


def title_of(address: str) -> str:
    """Display name of an address: the agent, and the model if it names one."""
    name, _, model = address.partition(":")
    title = agents.get(name).title
    return f"{title} ({agents.model_title(model)})" if model else title


def keeper_of(desk: Desk, handoff: Handoff) -> str:
    """Agent whose transcript format the target uses."""
    if handoff.delivery and handoff.delivery.keeper:
        return handoff.delivery.keeper
    return keeper_for(desk, agent_of(handoff.target))


def keeper_for(desk: Desk, agent: str) -> str:
    named = agents.load(agent).keeps_transcripts_as
    return str(named(desk.env)) if named else agent


# Changing


def step(
    desk: Desk, handoff: Handoff, event: Event, *, keeps: Sequence[Blob] = (), **delivery: Any
) -> Handoff:
    """Move a handoff to its next state and update its delivery. `keeps` are stored contents that it refers to."""
    kind = f"handoff.{event.value.replace(' ', '_')}"

    def move(known: Handoff) -> Handoff:
        state = transition(known.state, event)
        return msgspec.structs.replace(_with(known, delivery), state=state, updated_at=desk.clock())

    return change(desk, handoff.id, kind, move, keeps)


def settle(desk: Desk, handoff: Handoff, *, keeps: Sequence[Blob] = (), **delivery: Any) -> Handoff:
    """Update the delivery of a handoff; its state stays."""
    return change(desk, handoff.id, "handoff.settled", lambda known: _with(known, delivery), keeps)


def _with(handoff: Handoff, delivery: dict[str, Any]) -> Handoff:
    if not delivery or handoff.delivery is None:
        return handoff
    return msgspec.structs.replace(handoff, delivery=msgspec.structs.replace(handoff.delivery, **delivery))


def change(
    desk: Desk, id: str, kind: str, move: Callable[[Handoff], Handoff], keeps: Sequence[Blob] = ()
) -> Handoff:
    def decide(present: Handoff | None) -> Handoff:
        if present is None:
            raise NotFound(noun="handoff", name=id, next="segue handoff list")
        return move(present)

    changed = desk.shared.record(HANDOFF, kind, id, decide, keeps=keeps).kept()
    if changed.state is not HandoffState.PREPARED:
        waiting_list.taken(desk, id)
    return changed


def package(desk: Desk, handoff: Handoff) -> Handoff:
    """Store the lossless context beside the brief, once. A prepared handoff is announced to its target from then on."""
    if handoff.package.context is not None:
        return handoff
    packed = context.of_transcript(
        desk, handoff.transcript, tier=handoff.tier, target=handoff.target, reason=handoff.reason
    )
    blob = desk.shared.keep(msgspec.msgpack.encode(packed))

    def put(known: Handoff) -> Handoff:
        whole = msgspec.structs.replace(
            known.package, context=blob.hash, size=packed.size, stored=packed.stored
        )
        return msgspec.structs.replace(known, package=whole)

    packaged = change(desk, handoff.id, "handoff.packaged", put)
    if packaged.state is HandoffState.PREPARED:
        waiting_list.wait(desk, packaged, brief_of(desk, packaged))
    return packaged


def renew_offers(desk: Desk) -> None:
    """Rewrite the notes of waiting handoffs after consent was given or withdrawn."""
    for id in waiting_list.offered(desk):
        with contextlib.suppress(NotFound):
            handoff = get(desk, id)
            if handoff.state is HandoffState.PREPARED:
                waiting_list.wait(desk, handoff, brief_of(desk, handoff))


def keep_proof(desk: Desk, handoff: Handoff, proof: Struct) -> Handoff:
    """Store the answers of a target that was asked questions."""
    hash = desk.shared.keep(msgspec.json.encode(proof)).hash
    return change(desk, handoff.id, "handoff.asked", lambda known: msgspec.structs.replace(known, proof=hash))


def finish(desk: Desk, handoff: Handoff, event: Event, told: HandoffEvent | None) -> Handoff:
    """Move a handoff to its next state and store its event. A rating given meanwhile stays."""

    def move(known: Handoff) -> Handoff:
        state = transition(known.state, event)
        rating = known.event.outcome.user_satisfaction if known.event else None
        outcome = told if told is None or rating is None else events.rated(told, rating)
        return msgspec.structs.replace(
            known, state=state, event=outcome or known.event, updated_at=desk.clock()
        )

    return change(desk, handoff.id, f"handoff.{event.value}", move)
