"""The Python interface: the operations on this folder's session, as plain functions.

Each call stands alone: it reads what is on disk now, and leaves nothing open.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from segue import tiers
from segue.briefs.rewrite import Rewriter
from segue.errors import BadInput
from segue.model import Fact, Handoff, Preserve, Session, Transcript, Usage
from segue.model.delivery import Mode
from segue.model.task import TaskContext
from segue.ops.briefs import make, saved_handoffs, task
from segue.ops.briefs.make import Made, Wish
from segue.ops.common.desk import Desk, open_desk
from segue.ops.handoff import handoffs
from segue.ops.handoff.plan import Order
from segue.ops.run import control
from segue.ops.usage import folder_status, report
from segue.ops.usage.report import By, Report
from segue.ops.verify import verify as verification
from segue.ops.verify.verify import Verification
from segue.ops.work import sessions, transcripts
from segue.ops.work.transcripts import Wanted
from segue.routing import Caps, Run

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def _desk(project: str | Path | None) -> Iterator[Desk]:
    folder = Path(os.path.abspath(project or Path.cwd()))  # noqa: PTH100 - without following links
    if not folder.is_dir():
        raise BadInput(what=f"There is no folder {folder}.", next="segue session list --all")
    desk = open_desk(env=os.environ, cwd=folder)
    try:
        yield desk
    finally:
        desk.close()


def session(project: str | Path | None = None) -> Session | None:
    """A folder's session, this folder's if none is named; None where no agent has worked there yet."""
    with _desk(project) as desk:
        work = sessions.current(desk)
        return work.session if work else None


def get_or_create_session(project: str | Path | None = None) -> str:
    """The id of a folder's session. Where there is none, one is made; one that was only found is kept."""
    with _desk(project) as desk:
        return sessions.get_or_create(desk).id


def should_handoff(warning_only: bool = False, project: str | Path | None = None) -> tuple[bool, str]:
    """Whether a folder's session should be handed over, and the reason: 'normal', 'approaching_limit',
    'warning_threshold_reached' (with `warning_only`, and then False) or 'auto_switch_threshold_reached'."""
    with _desk(project) as desk:
        check = folder_status.check(desk, warning_only)
    return check.should_handoff, check.reason


def current_usage(project: str | Path | None = None) -> Usage | None:
    """How near a folder's session is to every limit; None where there is no session."""
    with _desk(project) as desk:
        standing = folder_status.standing_here(desk)
        return standing.usage if standing else None


def usage_report(by: str = "daily") -> Report:
    """Tokens and money: by 'daily', 'weekly', 'blocks', 'sessions', 'transcripts', 'projects', 'models' or
    'agents'."""
    with _desk(None) as desk:
        if by not in list(By):
            raise BadInput(what=f"Usage is not summed up by '{by}'.", next="segue usage --help")
        return report.report(desk, By(by))


def all_transcripts(text: str | None = None, agent: str | None = None) -> list[Transcript]:
    """Every transcript on this machine but those of sub-agents, the newest first; with a text, those in which its
    words were said."""
    with _desk(None) as desk:
        listing = transcripts.listing(desk, Wanted(agent=agent, text=text, limit=sys.maxsize))
    return [item.transcript for item in listing.transcripts]


def brief(
    transcript: str | None = None,
    *,
    budget: int | None = None,
    tier: str = "SELECTIVE",
    target: str = "",
    rewriter: Rewriter | None = None,
    project: str | Path | None = None,
) -> Made:
    """A brief of a transcript, named by its id or file, or of a folder's last one: `text` is what the next agent
    reads, `receipt` what became of every fact. `rewriter`, a function from text to text, may shorten the agent's
    prose; what it loses is put back."""
    with _desk(project) as desk:
        wish = Wish(tiers.named(tier, next="segue pack --help"), budget, target)
        return make.packed(desk, transcript, wish, rewriter=rewriter)


def transcript_facts(transcript: str | None = None, project: str | Path | None = None) -> tuple[Fact, ...]:
    """What was asked, done and found in a transcript, each with its current value; secrets are still in them."""
    with _desk(project) as desk:
        return make.open_known(desk, transcript).facts()


def current_task(project: str | Path | None = None) -> TaskContext:
    """What a folder's session is about: derived, with what a person said of it in its place."""
    with _desk(project) as desk:
        return task.show(desk).task


def prepare(
    session: Session | str | None = None,
    *,
    to: str,
    preserve: str | None = None,
    reason: str = "",
    project: str | Path | None = None,
    tell: Callable[[str], None] | None = None,
) -> Handoff:
    """Package a session's context for another agent; nothing leaves this machine. `preserve` is 'minimal', 'standard'
    or 'complete'. A handoff of this session that was prepared before is cancelled: `tell` is called with a note of
    that."""
    with _desk(project or (session.project if isinstance(session, Session) else None)) as desk:
        if preserve is not None and preserve not in list(Preserve):
            raise BadInput(what=f"There is no level '{preserve}'.", next="segue handoff prepare --help")
        order = Order(
            to=to,
            mode=Mode.HEADLESS,
            reason=reason,
            preserve=Preserve(preserve) if preserve else None,
            session=session.id if isinstance(session, Session) else session,
        )
        return handoffs.prepare_whole(desk, order, tell or _to_nobody)


def execute(
    handoff: Handoff | str, *, yes: bool = False, prove: bool = False, anyway: bool = False
) -> Handoff:
    """Run the target of a handoff to its end, headless. `yes` lets the context go to a vendor that has had nothing of
    the project yet; without it, that is refused. With `prove`, a throw-away copy is asked first what it knows; if
    it fails, the target is started only with `anyway`."""
    with _desk_of(handoff) as desk:
        handed = handoffs.execute_named(
            desk,
            _id(handoff),
            None,
            Mode.HEADLESS,
            may=lambda _handoff: yes,
            tell=_to_nobody,
            prove=prove,
            doubt=lambda _proof: anyway,
        )
        return handed.handoff


def validate(handoff: Handoff | str) -> handoffs.Report:
    """Look at what the target of a handoff holds, in its own records: `is_proved` says whether they show it."""
    with _desk_of(handoff) as desk:
        return handoffs.validate(desk, _id(handoff))


def run(
    task: str,
    chain: Sequence[str],
    *,
    returns: bool = False,
    usd: float | None = None,
    tokens: int | None = None,
    seconds: float | None = None,
    yes: bool = False,
    project: str | Path | None = None,
) -> Run:
    """Work on a task headless, from agent to agent along a chain, until it is done or nobody can go on: `state` tells.
    With `returns` the first agent has the last word. The caps are in money, tokens and seconds; `yes` lets the context
    go to every vendor of the chain."""
    with _desk(project) as desk:
        caps = Caps(usd=usd, tokens=tokens, seconds=seconds, week=desk.settings.run_week)
        names = chain.split(",") if isinstance(chain, str) else chain
        wish = control.Wish(task=task, chain=tuple(names), caps=caps, returns=returns)
        begun = control.begin(desk, wish, lambda _vendor, _target: yes)
        return control.supervise(desk, begun.run, _to_nobody)


def verify(
    session: Session | str | None = None,
    *,
    run_tests: bool | None = None,
    opinion: str = "",
    project: str | Path | None = None,
) -> Verification:
    """Check what the agent that has a session's work asserts, since it was handed over: `unsupported` is what the
    world contradicts, each with its evidence. `run_tests` runs the command of the setting verify.test_command."""
    with _desk(project or (session.project if isinstance(session, Session) else None)) as desk:
        id = session.id if isinstance(session, Session) else session
        return verification.verify(desk, id, run_tests=run_tests, opinion=opinion)


def handoff_history(limit: int = 10) -> list[Handoff]:
    """The last handoffs, the newest first; each with its event: what set it off, what it kept, how it went."""
    with _desk(None) as desk:
        return handoffs.listed(desk, limit)


def save_handoff(
    conversation_history: list[dict[str, str]] | None = None,
    current_task: str = "",
    files_being_worked_on: list[str] | None = None,
    next_steps: list[str] | None = None,
    context: dict[str, Any] | None = None,
    reason: str = "token_limit_approaching",
    project: str | Path | None = None,
) -> str:
    """Save the state of a folder's work as a JSON file; its path. Without a history, the last messages of the folder's
    session are saved."""
    with _desk(project) as desk:
        return str(
            saved_handoffs.save(
                desk,
                conversation_history=conversation_history,
                current_task=current_task,
                files_being_worked_on=files_being_worked_on or [],
                next_steps=next_steps or [],
                context=context,
                reason=reason,
            )
        )


def load_handoff(handoff_id: str | None = None) -> dict[str, Any] | None:
    """What was saved last, or under an id; None where there is nothing."""
    with _desk(None) as desk:
        return saved_handoffs.load(desk, handoff_id)


def list_handoffs() -> list[dict[str, Any]]:
    """Everything that was saved, the newest first, in a few fields each."""
    with _desk(None) as desk:
        return saved_handoffs.listed(desk)


def _id(handoff: Handoff | str) -> str:
    return handoff if isinstance(handoff, str) else handoff.id


def _desk_of(handoff: Handoff | str) -> AbstractContextManager[Desk]:
    """The desk where a handoff is carried out: in its own project."""
    delivery = handoff.delivery if isinstance(handoff, Handoff) else None
    return _desk(delivery.project if delivery else None)


def _to_nobody(_text: str) -> None:
    pass


def auto_handoff(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator that says, before each call, when the limit of this folder's session is near."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        due, reason = should_handoff()
        if due:
            print(f"\n⚠️  Token limit approaching ({reason})", file=sys.stderr)
            print("Consider creating handoff before continuing...", file=sys.stderr)
        return function(*args, **kwargs)

    return wrapper


__all__ = [
    "all_transcripts",
    "auto_handoff",
    "brief",
    "current_task",
    "current_usage",
    "execute",
    "get_or_create_session",
    "handoff_history",
    "list_handoffs",
    "load_handoff",
    "prepare",
    "run",
    "save_handoff",
    "session",
    "should_handoff",
    "transcript_facts",
    "usage_report",
    "validate",
    "verify",
]
