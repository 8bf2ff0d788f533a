"""What an agent that calls Segue's tools may read, and what it may do.

Everything an agent reads goes to the vendor of its model. So it sees one folder only, secrets are replaced, and the
words of another vendor's conversations are withheld until the user has consented: the same consent that a handoff
needs. Figures, ids and states are not withheld.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterable, Mapping
from time import sleep
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from segue import agents, redact
from segue.base import paths
from segue.base.text import begun
from segue.errors import AgentError, NotFound, NotTold, Refused, SettingsError
from segue.model import Handoff, Preserve, Relation, Tier, Transcript
from segue.model.delivery import Mode
from segue.ops import overview as folder_overview
from segue.ops.briefs import make
from segue.ops.briefs.make import Made, Wish
from segue.ops.common import redaction
from segue.ops.common.desk import Desk
from segue.ops.handoff import consent, handoffs, receipts, waiting_list
from segue.ops.handoff import plan as handoff_plan
from segue.ops.handoff.plan import Order
from segue.ops.overview import Overview
from segue.ops.usage.folder_status import Standing
from segue.ops.work import discovery, sessions
from segue.ops.work.discovery import Work
from segue.ops.work.sessions import Info

T = TypeVar("T")
WITHHELD = "(withheld: it has not gone to this vendor yet)"
LONGEST_REASON = 500
QUOTED = 200
"""How many characters of a caller's argument are quoted back to it."""
VERSION = re.compile(r"[/@ -]v?\d[\w.+-]{0,40}")
"""A version that may follow a program's name."""
MOST = 1_000_000
"""No limit: more handoffs than any folder has."""
BUDGETS = (200, 20_000)
"""The smallest and largest budget of a brief, in tokens."""
LOOKS, LOOK_SECONDS = 20, 0.1
"""How often to look for the caller's own transcript, which its program writes a moment after the call."""


class Caller(Struct, frozen=True):
    """The calling program: its own name, its agent, and the vendor that receives the answers."""

    name: str
    agent: str
    vendor: str
    transcript: str = ""
    """The calling transcript, where the program names it."""

    @property
    def title(self) -> str:
        return agents.get(self.agent).title if self.agent else self.name or "a program without a name"


def caller_of(desk: Desk, name: str, meta: Mapping[str, Any]) -> Caller:
    """The caller with this name. `meta` is what the call carries beside its arguments. An unknown name counts as a
    vendor of its own, which has received nothing so far."""
    name = name[:QUOTED]
    for agent in agents.names():
        with contextlib.suppress(AgentError):
            if any(_is_called(name, own) for own in agents.load(agent).CLIENTS or ()):
                transcript_of = agents.load(agent).caller_transcript
                transcript = transcript_of(desk.env, meta) if transcript_of else ""
                return Caller(name, agent, consent.vendor_of(desk, agent), transcript)
    # Commas separate vendors in the setting: consent for this name must not name another vendor.
    return Caller(name, "", f"client:{name.replace(',', ' ')}")


def _is_called(name: str, own: str) -> bool:
    """Whether a name is an agent's own, with or without a version. A longer name is another program's."""
    rest = name.removeprefix(own)
    return name == own or (rest != name and VERSION.fullmatch(rest) is not None)


def added_arguments() -> frozenset[str]:
    """The arguments that agents add to every tool call for their own use."""
    found: set[str] = set()
    for agent in agents.names():
        with contextlib.suppress(AgentError):
            found.update(agents.load(agent).ADDED_ARGUMENTS or ())
    return frozenset(found)


def refuse_unallowed(desk: Desk, what: str) -> None:
    if what not in desk.settings.mcp_allow:
        wanted = ",".join((*desk.settings.mcp_allow, what))
        raise Refused(
            what=f"Agents may not {what} handoffs here: the setting mcp.allow does not contain '{what}'.",
            next=f"segue config set mcp.allow {wanted} (only if the user wants that)",
        )


# Consent


def may_be_told(desk: Desk, caller: Caller, work: Work) -> bool:
    """Whether the words of a session may go to the caller's vendor. Words of unknown origin go to nobody."""
    whose = [(one.agent, one.model, one.project) for one in work.transcripts]
    # What was handed over from a deleted transcript still exists.
    for handoff in desk.shared.handoffs_of(work.session.id) if work.is_kept else ():
        agent, _, model = handoff.source.partition(":")
        whose.append((agent, model, work.session.project))
    return bool(whose) and all(_may_have(desk, caller, *one) for one in whose)


def _may_have(desk: Desk, caller: Caller, agent: str, model: str, folder: str) -> bool:
    """Whether the caller's vendor may read what an agent and its model said in a folder."""
    try:
        has_it = consent.vendor_behind(agent, model)
        is_its_own = agent == caller.agent and not agents.get(agent).families
    except AgentError:
        has_it, is_its_own = "", False
    # An agent without models of its own is its own vendor: it has its own words already.
    folder = folder or paths.as_text(desk.project)
    with contextlib.suppress(SettingsError):  # unreadable settings of another worktree allow nothing
        return is_its_own or consent.is_given(desk, folder, caller.vendor, has_it)
    return False


def refuse_unasked(desk: Desk, caller: Caller, work: Work | None) -> None:
    if _is_told(desk, caller, work):
        return
    # Work cannot be handed to an unknown program: only the setting can allow it.
    asking = f"segue to {caller.agent} asks the user for consent; " if caller.agent else ""
    raise NotTold(
        caller=caller.title,
        vendor=caller.vendor,
        asking=asking,
        allowed=shlex.quote(",".join((*desk.settings.vendors_allowed, caller.vendor))),
    )


def _work_told(desk: Desk, caller: Caller, work: Work) -> Work:
    """A session, without its words unless the caller may read them."""
    if may_be_told(desk, caller, work):
        return work
    return msgspec.structs.replace(
        work,
        session=msgspec.structs.replace(work.session, title=WITHHELD, task=None),
        transcripts=tuple(_silent(one) for one in work.transcripts),
    )


def _silent(transcript: Transcript) -> Transcript:
    return msgspec.structs.replace(transcript, title=WITHHELD, branch="")


def _handoff_told(handoff: Handoff, is_told: bool) -> Handoff:
    if is_told:
        return handoff
    delivery = handoff.delivery and msgspec.structs.replace(handoff.delivery, reason="", arguments=())
    return msgspec.structs.replace(handoff, reason=WITHHELD, not_passed=(), event=None, delivery=delivery)


# Asking


def overview(desk: Desk, caller: Caller) -> Overview:
    """The limits of all agents, this folder's session (never the calling one), and the next step."""
    shown = folder_overview.overview(desk, caller=own_id(desk, caller))
    standing = shown.standing
    if standing is not None and not may_be_told(desk, caller, standing.work):
        standing = _standing_told(standing, _work_told(desk, caller, standing.work))
    last = shown.last_handoff
    last = _handoff_told(last, _is_told(desk, caller, _work_of(desk, last))) if last else None
    return msgspec.structs.replace(shown, standing=standing, last_handoff=last)


def _standing_told(standing: Standing, work: Work) -> Standing:
    own = _silent(standing.transcript) if standing.transcript else None
    return msgspec.structs.replace(standing, work=work, transcript=own)


def listed(desk: Desk, caller: Caller, limit: int) -> list[Work]:
    """This folder's sessions, the last active first."""
    return [_work_told(desk, caller, work) for work in _works(desk)][:limit]


def _works(desk: Desk, caller: str = "") -> list[Work]:
    here = discovery.work_folder(paths.as_text(desk.project))
    return [
        work
        for work in sessions.listed(desk, caller=caller)
        if work.is_current or discovery.work_folder(work.session.project) == here
    ]


def session(desk: Desk, caller: Caller, id: str) -> Info:
    """One of this folder's sessions; without an id the current one, and never the calling one."""
    work = _named(desk, caller, id)
    known = desk.shared.handoffs_of(work.session.id) if work.is_kept else []
    is_told = may_be_told(desk, caller, work)
    return Info(_work_told(desk, caller, work), tuple(_handoff_told(one, is_told) for one in known))


def _named(desk: Desk, caller: Caller, id: str) -> Work:
    if not id:
        return _current(desk, caller)
    known = [(work.session.id, work) for work in _works(desk)]
    return _find_only(known, id, noun="session of this folder", next="segue session list")


def _find_only(known: Iterable[tuple[str, T]], id: str, *, noun: str, next: str) -> T:
    """The one with this id or unique prefix."""
    matches = [pair for pair in known if pair[0].startswith(id)]
    exact = [pair for pair in matches if pair[0] == id] or matches
    if len(exact) == 1:
        return exact[0][1]
    raise NotFound(noun=noun, name=id[:QUOTED], next=next)


def _current(desk: Desk, caller: Caller) -> Work:
    """This folder's session, except the calling conversation."""
    for work in _works(desk, own_id(desk, caller)):
        if work.is_current:
            return work
    raise NotFound(
        noun="session other than the calling one in the folder",
        name=paths.as_text(desk.project),
        next="pass a session id (the tool `sessions` lists them)",
    )


def brief(desk: Desk, caller: Caller, of: str, tier: Tier, budget: int) -> Made:
    """The brief of this folder's session, of one of its transcripts, of a session's last one, or of a handoff."""
    least, most = BUDGETS
    if of.startswith("h-"):
        made = receipt(desk, caller, of)
        if made.brief.tokens > most:
            raise Refused(
                what=f"The brief of {of} has {made.brief.tokens:,} tokens, which is too long for one answer.",
                next=f"read the receipt of {of} for a summary; segue show {of} prints the whole brief",
            )
        return made
    is_transcript = of and not of.startswith("s-")
    work, transcript = _transcript(desk, of) if is_transcript else _last_of(_named(desk, caller, of))
    refuse_unasked(desk, caller, work)
    # The full tier would take half of the caller's context.
    asked = budget or (most if tier is Tier.FULL else 0)
    wanted = min(max(asked, least), most) if asked else None
    return make.packed(desk, transcript.id, Wish(tier, wanted, caller.agent))


def _transcript(desk: Desk, id: str) -> tuple[Work, Transcript]:
    """A transcript of this folder's sessions, by its id or the start of it; never by a file."""
    known = [(one.id, (work, one)) for work in _works(desk) for one in work.transcripts]
    return _find_only(known, id, noun="transcript of this folder", next="segue session info")


def _last_of(work: Work) -> tuple[Work, Transcript]:
    return work, handoff_plan.source_of(work)


def receipt(desk: Desk, caller: Caller, id: str) -> Made:
    """The receipt of a handoff of this folder; without an id, of the last one."""
    handoff = _handoff(desk, id)
    refuse_unasked(desk, caller, _work_of(desk, handoff))
    return receipts.get(desk, handoff.id)


def history(desk: Desk, caller: Caller, limit: int) -> list[Handoff]:
    """This folder's handoffs, the last first."""
    known = handoffs.listed(desk, limit)
    works = {work.session.id: work for work in _works(desk)} if known else {}
    return [_handoff_told(one, _is_told(desk, caller, works.get(one.session))) for one in known]


def handoff(desk: Desk, caller: Caller, id: str) -> Handoff:
    one = _handoff(desk, id)
    return _handoff_told(one, _is_told(desk, caller, _work_of(desk, one)))


def _is_told(desk: Desk, caller: Caller, work: Work | None) -> bool:
    return work is not None and may_be_told(desk, caller, work)


def _handoff(desk: Desk, id: str) -> Handoff:
    known = handoffs.listed(desk, MOST)
    noun, next = "handoff of this folder", "segue handoff list"
    if id:
        return _find_only([(one.id, one) for one in known], id, noun=noun, next=next)
    if known:
        return known[0]
    raise NotFound(noun=noun, name=paths.as_text(desk.project), next=next)


def _work_of(desk: Desk, handoff: Handoff) -> Work | None:
    return next((work for work in _works(desk) if work.session.id == handoff.session), None)


# Doing


class Prepared(Struct, frozen=True):
    """A handoff that an agent prepared. The notes name the user's handoffs that it replaced."""

    handoff: Handoff
    notes: tuple[str, ...]


def prepare(desk: Desk, caller: Caller, to: str, reason: str, preserve: Preserve | None) -> Prepared:
    """Package this folder's work for another agent. Nothing starts, nothing leaves, and nobody is notified."""
    refuse_unallowed(desk, "prepare")
    prepared = _prepared(desk, caller, to, reason, preserve)
    waiting_list.taken(desk, prepared.handoff.id)
    return prepared


def offer(desk: Desk, caller: Caller, to: str, reason: str, preserve: Preserve | None) -> Prepared:
    """Prepare a handoff and leave it waiting: the target hears of it when it starts in this folder."""
    refuse_unallowed(desk, "offer")
    return _prepared(desk, caller, to, reason, preserve)


def _prepared(desk: Desk, caller: Caller, to: str, reason: str, preserve: Preserve | None) -> Prepared:
    """The agent's reason is recorded, but not passed on: the next agent would take it for the user's."""
    own = await_own(desk, caller)
    work = handoff_plan.work_here(desk, own[0].session.id if own else None)
    if own:  # not what another agent has written in the session since
        rest = (one for one in work.transcripts if one.id != own[1].id)
        work = msgspec.structs.replace(work, transcripts=(own[1], *rest), aside=work.aside - {own[1].id})
    refuse_unasked(desk, caller, work)
    said = begun(" ".join(reason.split()), LONGEST_REASON)
    to = to[:QUOTED]
    with handoffs.alone(desk, work.session.id, to):
        plan = handoff_plan.plan(desk, Order(to=to, mode=Mode.HEADLESS, preserve=preserve), work)
        # The plan's reasoning is "requested by the user; limits": keep the second part.
        figures = plan.trigger.reasoning.partition("; ")[2]
        asked = f"{caller.title} asked for it" + (f": {said}" if said else "")
        why = redaction.redact(desk, "; ".join(filter(None, (asked, figures)))).text
        plan = msgspec.structs.replace(plan, trigger=msgspec.structs.replace(plan.trigger, reasoning=why))
        notes: list[str] = []
        handoff = handoffs.package(desk, handoffs.prepare(desk, plan, notes.append))
        return Prepared(handoff, tuple(notes))


# The conversation that calls


def own_id(desk: Desk, caller: Caller) -> str:
    """The id of the calling transcript; empty if there is none yet."""
    own = _own(desk, caller) if caller.transcript else await_own(desk, caller)
    return own[1].id if own else ""


def await_own(desk: Desk, caller: Caller) -> tuple[Work, Transcript] | None:
    """Wait until the agent has written the calling transcript. A quick model calls before that; another transcript of
    this folder, or none, would be taken for it."""
    for _ in range(LOOKS if caller.agent else 0):
        if own := _own(desk, caller):
            return own
        sleep(LOOK_SECONDS)
    return None


def _own(desk: Desk, caller: Caller) -> tuple[Work, Transcript] | None:
    """The calling transcript and its session: by its id, or the agent's newest one here. For a sub-agent it is the
    transcript that started it."""
    known = [
        (work, one)
        for work in _works(desk)
        for one in work.transcripts
        if one.agent == caller.agent and caller.transcript in ("", one.id)
    ]
    if not known:
        return None
    work, one = max(known, key=lambda pair: pair[1].updated_at or "")
    return work, (work.main or one) if one.relation is Relation.SUBAGENT else one


def without_secrets(desk: Desk, texts: list[str]) -> list[str]:
    """Texts without secrets. All are scanned as one, so a secret recognised in one text is replaced in all."""
    joined = make.APART.join(texts)
    if not redact.scan(joined, desk.settings.redact_allow):
        return texts
    clean = redaction.redact(desk, joined).text.split(make.APART)
    if len(clean) == len(texts):
        return clean
    # A secret spanned two texts: scan each text separately.
    return [redaction.redact(desk, text).text for text in texts]
