"""The public Python API: operations on a folder's session.

Each call is independent: it reads the current state from disk and leaves nothing open.
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
    """The session of a folder (the current one by default); None if no agent has worked there."""
    with _desk(project) as desk:
        work = sessions.current(desk)
        return work.session if work else None


def get_or_create_session(project: str | Path | None = None) -> str:
    """The id of a folder's session; creates one if there is none, and saves one that was only found."""
    with _desk(project) as desk:
        return sessions.get_or_create(desk).id


def should_handoff(warning_only: bool = False, project: str | Path | None = None) -> tuple[bool, str]:
    """Is a handoff of a folder's session due? Also returns the reason: 'normal', 'approaching_limit',
    'warning_threshold_reached' (with `warning_only`, and then False) or 'auto_switch_threshold_reached'."""
    with _desk(project) as desk:
        check = folder_status.check(desk, warning_only)
    return check.should_handoff, check.reason


def current_usage(project: str | Path | None = None) -> Usage | None:
    """Usage of a folder's session against every limit; None without a session."""
    with _desk(project) as desk:
        standing = folder_status.standing_here(desk)
        return standing.usage if standing else None


def usage_report(by: str = "daily") -> Report:
    """Tokens and cost by 'daily', 'weekly', 'blocks', 'sessions', 'transcripts', 'projects', 'models' or
    'agents'."""
    with _desk(None) as desk:
        if by not in list(By):
            raise BadInput(what=f"Unknown grouping '{by}'.", next="segue usage --help")
        return report.report(desk, By(by))


def all_transcripts(text: str | None = None, agent: str | None = None) -> list[Transcript]:
    """Every transcript on this machine except those of sub-agents, newest first; with `text`, those that contain its
    words."""
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
    """A brief of a transcript (id or file; a folder's latest by default): `text` is what the next agent reads,
    `receipt` whether each fact was passed. `rewriter`, a function from text to text, may shorten the agent's prose;
    facts that it loses are put back."""
    with _desk(project) as desk:
        wish = Wish(tiers.named(tier, next="segue pack --help"), budget, target)
        return make.packed(desk, transcript, wish, rewriter=rewriter)


def transcript_facts(transcript: str | None = None, project: str | Path | None = None) -> tuple[Fact, ...]:
    """The facts of a transcript with their current values; secrets are NOT removed."""
    with _desk(project) as desk:
        return make.open_known(desk, transcript).facts()


def current_task(project: str | Path | None = None) -> TaskContext:
    """The task of a folder's session, with the user's edits."""
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
    or 'complete'. An earlier prepared handoff of this session is cancelled; `tell` receives a note of that."""
    with _desk(project or (session.project if isinstance(session, Session) else None)) as desk:
        if preserve is not None and preserve not in list(Preserve):
            raise BadInput(what=f"Unknown level '{preserve}'.", next="segue handoff prepare --help")
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
    """Run the target of a handoff headless to its end. Without `yes`, sending to a vendor that has received nothing of
    the project is refused. With `prove`, a throw-away copy of the target is questioned first; if it fails, the target
    starts only with `anyway`."""
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
    """Check that the target's transcript contains the handoff; `is_proved` is the answer."""
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
    """Work on a task headless along a chain of agents until it is done or no agent can continue; see `state`. With
    `returns` the first agent finishes. Caps are in US dollars, tokens and seconds; `yes` allows sending the context to
    every vendor of the chain."""
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
    """Check the claims of a session's current agent since the handoff: `unsupported` lists contradicted claims with
    evidence. `run_tests` runs the command of the setting verify.test_command."""
    with _desk(project or (session.project if isinstance(session, Session) else None)) as desk:
        id = session.id if isinstance(session, Session) else session
        return verification.verify(desk, id, run_tests=run_tests, opinion=opinion)


def handoff_history(limit: int = 10) -> list[Handoff]:
    """The latest handoffs, newest first; each with its event: trigger, preserved context, outcome."""
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
    """Save the state of a folder's work as a JSON file and return its path. Without a history, the session's latest
    messages are saved."""
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
    """The latest saved state, or one by its id; None if there is none."""
    with _desk(None) as desk:
        return saved_handoffs.load(desk, handoff_id)


def list_handoffs() -> list[dict[str, Any]]:
    """Summaries of all saved states, newest first."""
    with _desk(None) as desk:
        return saved_handoffs.listed(desk)


def _id(handoff: Handoff | str) -> str:
    return handoff if isinstance(handoff, str) else handoff.id


def _desk_of(handoff: Handoff | str) -> AbstractContextManager[Desk]:
    """Open the desk of a handoff's project."""
    delivery = handoff.delivery if isinstance(handoff, Handoff) else None
    return _desk(delivery.project if delivery else None)


def _to_nobody(_text: str) -> None:
    pass


def auto_handoff(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: before each call, warn if a handoff of this folder's session is due."""

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
