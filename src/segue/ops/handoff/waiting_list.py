"""Waiting handoffs: notes that a target's hook shows when a conversation starts.

A handoff waits from its preparation until it is executed, cancelled or undone. Hooks do not open the store, so the
text is made in advance: the start of the brief, what was left out, and the command that delivers the rest. Without
consent for the vendor, the note only says that a handoff is waiting.
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
"""Days after which a waiting handoff is no longer announced."""
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
    """Write the note that the target's hook shows. A failure is recorded and does not stop the handoff."""
    target, source = (address.partition(":")[0] for address in (handoff.target, handoff.source))
    manner = agents.load(target).hooks
    if manner is None or target == source or handoff.delivery is None:
        return
    form = msgspec.to_builtins(manner().tell)
    title = agents.get(source).title
    try:
        # Read first, so that a change during the next steps is noticed.
        files = desk.settings_files(Path(handoff.delivery.project))
        settings = waiting_handoffs.state_of([str(path) for path in files], desk.env)
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
            taken(desk, handoff.id)  # agents that were given the old text get the new one
        waiting_handoffs.put(desk.places.data, note)
    except (OSError, SegueError) as error:
        guard.note_failure(desk.places.data, error, desk.clock())


def offered(desk: Desk) -> list[str]:
    """Ids of the waiting handoffs."""
    return [note.handoff for note in waiting_handoffs.notes(desk.places.data)]


def taken(desk: Desk, handoff: str) -> None:
    """Remove the note of a handoff."""
    waiting_handoffs.drop(desk.places.data, handoff)


def _may_be_told(desk: Desk, handoff: Handoff, vendor: str) -> bool:
    source = consent.source_transcript(desk, handoff.transcript)
    before = consent.vendor_before(source) if source else ""
    folder = handoff.delivery.project if handoff.delivery else ""
    return Path(folder).is_dir() and consent.is_given(desk, folder, vendor, before)


def told(form: object, id: str, source: str, brief: Brief) -> str:
    """Text with as much of a brief as a hook's answer holds: the user's words first, then the sections from the end."""
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
