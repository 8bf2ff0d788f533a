"""Handoffs that wait: what the agent that is to have one is told when it begins, by its hook.

A handoff waits from when it was prepared to when it is executed, cancelled or undone. The words are put together then,
as a hook opens no store: the head of the brief, what of it was left out, and how to have the rest. What may not go to
the vendor yet is not told; that it is there, is.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from segue import agents
from segue.base import clock, fence
from segue.briefs import prompt, render
from segue.errors import SegueError
from segue.hooks import guard, waiting_handoffs
from segue.hooks.waiting_handoffs import Waiting
from segue.model import Brief, Handoff, Origin, Section
from segue.ops.common import redaction
from segue.ops.common.desk import Desk
from segue.ops.handoff import consent, leases

DAYS = 7
"""A handoff that nobody took by then is no news any more."""
ABOUT = (
    "Segue: a handoff of the work in this folder from {source} to you is waiting ({id}). The following is for your "
    "information: continue this work only if the user asks you to. `segue handoff execute {id}` delivers the whole "
    "handoff."
)
WITHHELD = (
    "Segue: a handoff of the work in this folder from {source} to you is waiting ({id}). Its content may not go to "
    "{vendor} before the user agrees: `segue handoff execute {id}` asks the user and delivers it."
)


def wait(desk: Desk, handoff: Handoff, brief: Brief) -> None:
    """Let the target's hook know of a handoff. That it cannot be told by a hook is no reason not to prepare it."""
    target, source = (address.partition(":")[0] for address in (handoff.target, handoff.source))
    manner = agents.load(target).hooks
    if manner is None or target == source or handoff.delivery is None:
        return
    form = msgspec.to_builtins(manner().tell)
    title = agents.get(source).title
    try:
        # Before anything is decided: what changes meanwhile is a change.
        settings = waiting_handoffs.state_of(_settings_files(desk, handoff.delivery.project), desk.env)
        vendor = consent.vendor_of(desk, handoff.target)
        text = withheld = WITHHELD.format(source=title, id=handoff.id, vendor=vendor)
        if _may_be_told(desk, handoff, vendor):
            text = told(form, handoff.id, title, brief)
            allow = desk.settings_in(Path(handoff.delivery.project)).redact_allow
            redaction.assure_clean(text, allow, brief.nonce)
        note = Waiting(
            handoff=handoff.id,
            root=str(leases.root_of(Path(handoff.delivery.project))),
            source=source,
            target=target,
            expires=clock.later(handoff.created_at, DAYS * 86_400),
            text=text,
            withheld=withheld,
            settings=settings,
        )
        if any(
            known.handoff == handoff.id and known.text != text
            for known in waiting_handoffs.notes(desk.places.data)
        ):
            taken(desk, handoff.id)  # who was given the old words is to have the new ones
        waiting_handoffs.put(desk.places.data, note)
    except (OSError, SegueError) as error:
        guard.note_failure(desk.places.data, error, desk.clock())


def offered(desk: Desk) -> list[str]:
    """The handoffs that wait to be taken, by their ids."""
    return [note.handoff for note in waiting_handoffs.notes(desk.places.data)]


def taken(desk: Desk, handoff: str) -> None:
    """It waits no more."""
    waiting_handoffs.drop(desk.places.data, handoff)


def _settings_files(desk: Desk, folder: str) -> list[str]:
    return [str(path) for path in desk.settings_files(Path(folder))]


def _may_be_told(desk: Desk, handoff: Handoff, vendor: str) -> bool:
    known = (entry.transcript for entry in desk.index.transcripts().values())
    source = next((one for one in known if one and one.id == handoff.transcript), None)
    before = consent.vendor_before(source) if source else ""
    folder = handoff.delivery.project if handoff.delivery else ""
    return Path(folder).is_dir() and consent.is_given(desk, folder, vendor, before)


def told(form: object, id: str, source: str, brief: Brief) -> str:
    """As much of a brief as an answer holds: the person's words first, then from the next step backwards."""
    order = [section for section in brief.sections if section.origin is Origin.HUMAN]
    order += [section for section in reversed(brief.sections) if section.origin is not Origin.HUMAN]
    kept: dict[str, Section] = {}
    if not waiting_handoffs.fits(form, _text(id, source, brief, kept)):
        brief = msgspec.structs.replace(brief, not_passed=())
    for section in order:
        for line in section.lines:
            before = kept.get(section.title)
            lines = (*before.lines, line) if before else (line,)
            tried = {**kept, section.title: msgspec.structs.replace(section, lines=lines)}
            if not waiting_handoffs.fits(form, _text(id, source, brief, tried)):
                break
            kept = tried
    return _text(id, source, brief, kept)


def _text(id: str, source: str, brief: Brief, kept: dict[str, Section]) -> str:
    sections = tuple(kept[section.title] for section in brief.sections if section.title in kept)
    shown = msgspec.structs.replace(brief, sections=sections)
    text = render.render(shown).removeprefix(render.HEADING).strip("\n")
    cut = [section.title for section in brief.sections if section != kept.get(section.title)]
    parts = [ABOUT.format(source=source, id=id), f"{prompt.marker(id)}\n{text}"]
    if cut:
        names = "; ".join(fence.one_line(title, 80) for title in cut)
        parts.append(f"Left out or shortened here: {names}. `segue show {id}` shows all of it.")
    return "\n\n".join(parts) + "\n"
