"""Background check of live conversations: warns of a limit that is near, once.

A hook starts this at most once a minute and does not wait for it. It reads what is new in the transcripts, so the
limits are known, and the tracker of a conversation near its limit is cached when a brief is needed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from segue import agents
from segue.agents.shared.settings.hook_settings import Manner
from segue.base import clock, files
from segue.errors import NotFound, SegueError
from segue.hooks import guard, limit_warnings, spool, waiting_handoffs
from segue.hooks.limit_warnings import Crossed
from segue.model import Handoff, HandoffState, Transcript
from segue.ops.briefs import make
from segue.ops.common import addresses
from segue.ops.common.desk import Desk, open_desk
from segue.ops.handoff import handoff_records, handoffs
from segue.ops.handoff.execution import Tell
from segue.ops.handoff.plan import Order
from segue.ops.index import refresh
from segue.ops.index.refresh import Pass
from segue.ops.usage import folder_status, limits
from segue.ops.usage.folder_status import Standing
from segue.ops.work import discovery
from segue.usage import budget

STAMP = "tended"
EVERY_SECONDS = 60
LIVE_SECONDS = 15 * 60
"""A conversation without an entry for longer is not live."""
SHOWN_SECONDS = 86_400
"""A warning that was not shown by then is out of date."""
NEXT = "`segue to AGENT --dry-run` shows what would go to another agent, `segue to AGENT` hands it over."


def tend(env: Mapping[str, str], cwd: Path) -> int:
    """Check all live conversations and return their number. One process at a time, at most once a minute."""
    desk = open_desk(env=env, cwd=cwd)
    try:
        with _alone(desk.places.data) as is_due:
            return look(desk) if is_due else 0
    except (SegueError, OSError) as error:
        guard.note_failure(desk.places.data, error, desk.clock())
        return 0
    finally:
        desk.close()


@contextlib.contextmanager
def _alone(data: Path) -> Iterator[bool]:
    stamp = data / STAMP
    fd = files.open_private(stamp, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        is_due = os.fstat(fd).st_size == 0 or stamp.stat().st_mtime <= time.time()
        if is_due:
            # The mtime lies in the future: the hook script decides by it alone whether a check is due.
            os.pwrite(fd, b"\n", 0)
            ahead = time.time() + EVERY_SECONDS
            os.utime(fd, (ahead, ahead))
        yield is_due
    finally:
        os.close(fd)


def look(desk: Desk) -> int:
    """Read what is new, and prepare warnings."""
    refresh.refresh(desk, [Pass.SPENDS, Pass.ENTRIES])
    since = clock.later(desk.clock(), -LIVE_SECONDS)
    known = limits.of_agents(desk)
    live = [
        work
        for work in discovery.works(desk)
        if work.main is not None and (work.main.updated_at or "") >= since
    ]
    told = limit_warnings.read(desk.places.data)
    for work in live:
        warn(desk, folder_status.stand(desk, work, known), told)
    limit_warnings.keep(desk.places.data, told)
    limit_warnings.sweep(desk.places.data, time.time() - SHOWN_SECONDS)
    spool.set_moments_aside(desk.places.data)
    _clear_waiting(desk)
    return len(live)


def _clear_waiting(desk: Desk) -> None:
    """Remove the notes of handoffs that were taken on another machine or have expired. Renew the others: settings may
    have been edited by hand."""
    for note in waiting_handoffs.notes(desk.places.data):
        try:
            is_waiting = handoff_records.get(desk, note.handoff).state is HandoffState.PREPARED
        except NotFound:
            is_waiting = False
        if not is_waiting or note.expires <= desk.clock():
            # A note has its handoff's id as its name, so nothing else can be removed.
            waiting_handoffs.drop(desk.places.data, note.handoff)
    handoff_records.renew_offers(desk)


def warn(desk: Desk, standing: Standing, told: limit_warnings.Told) -> None:
    """Prepare a warning for a conversation near a limit, once, and update its cached tracker."""
    transcript = standing.transcript
    manner = agents.load(transcript.agent).hooks if transcript else None
    if transcript is None or manner is None or standing.usage is None:
        return
    thresholds = folder_status.thresholds_of(desk)
    share = budget.worst_share(standing.usage, thresholds, transcript.model)
    urgency = thresholds.urgency(share.percent, share.model) if share else None
    name = f"{transcript.agent}-{transcript.id}"
    is_new, now = limit_warnings.news(
        told.get(name, {}), Crossed(share.window, urgency) if share and urgency else None
    )
    told.pop(name, None)  # the last checked is kept longest
    if now:
        told[name] = now
    if share and urgency:
        make.open_known(desk, transcript.id)
    if is_new and share:
        notes: list[str] = []
        handoff = prepared(desk, standing, notes.append) if desk.settings.handoff_auto else None
        text = f"Segue: {standing.recommendation}. {_sentence(budget.in_words(share, thresholds))} {_next(handoff)}"
        _lay_ready(desk, transcript, manner(), " ".join([text, *notes]))


def prepared(desk: Desk, standing: Standing, tell: Tell) -> Handoff | None:
    """Prepare a handoff of this work automatically (setting handoff.auto), to the first listed model that can take it;
    another agent comes before another model of the same agent. Nothing leaves this machine until it is executed."""
    names = dict.fromkeys((*desk.settings.run_chain, *desk.settings.handoff_models))
    here = standing.transcript.agent if standing.transcript else ""
    for name in sorted(names, key=lambda name: addresses.resolve(desk, name).agent == here):
        order = Order(to=name, session=standing.work.session.id, trigger=standing.trigger)
        with contextlib.suppress(SegueError):  # not installed, at its limit, or the source itself
            return handoffs.prepare_whole(desk, order, tell)
    return None


def _next(handoff: Handoff | None) -> str:
    if handoff is None:
        return NEXT
    title = handoff_records.title_of(handoff.target)
    return f"A handoff to {title} is prepared: `segue handoff execute {handoff.id} --open` goes on there."


def _lay_ready(desk: Desk, transcript: Transcript, manner: Manner, text: str) -> None:
    answer = guard.filled(msgspec.to_builtins(manner.warn), text)
    limit_warnings.put(desk.places.data, transcript.agent, transcript.id, msgspec.json.encode(answer))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
