"""Runs: start, resume, stop and follow. `supervisor` does the work in between."""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from segue.base import files, paths
from segue.errors import BadInput, NoConsent, NotInstalled, Refused, SegueError
from segue.model.exit_reason import Stop, Why
from segue.ops.common import addresses, process
from segue.ops.common.desk import Desk
from segue.ops.handoff import consent, handoff_records, leases, plan
from segue.ops.handoff.execution import Tell
from segue.ops.run import leg, prewarm
from segue.ops.run.supervisor import Supervisor, free
from segue.ops.work import run_records
from segue.routing import UNFINISHED, Caps, Leg, Run, RunState

LONGEST_TASK = 100_000
LARGEST_CAP = 1e15
LAST_LINES = 8
START_SECONDS = 15.0


class Wish(Struct, frozen=True, kw_only=True):
    """Run that the user requests."""

    task: str
    chain: tuple[str, ...]
    caps: Caps = Caps()
    returns: bool = False
    prewarm: bool = False
    patience: float = process.PATIENCE_SECONDS
    arguments: tuple[tuple[str, str], ...] = ()


class Shown(Struct, frozen=True, kw_only=True):
    """Status of a run."""

    run: Run
    is_attended: bool
    """Whether a supervisor process is running."""
    is_agent_at_work: bool
    log: str
    lines: tuple[str, ...]
    """Last lines of its log."""


MayGo = Callable[[str, str], bool]
"""Asks the user whether a project's context may go to a vendor (first argument) for an agent (second)."""


class Begun(Struct, frozen=True):
    """Run that can be supervised, and whether it existed before."""

    run: Run
    is_old: bool = False
    stopped: str = ""
    """Stopped run of this folder with the same task, which could be resumed instead."""


def begin(desk: Desk, wish: Wish, may: MayGo) -> Begun:
    """Create a run, or update the unfinished run of this folder with the same task and chain. Nothing starts yet."""
    task = wish.task.strip()
    if not task:
        raise BadInput(what="The task is empty.", next='segue run "TASK" --chain AGENT,AGENT')
    if len(task) > LONGEST_TASK:
        raise BadInput(
            what=f"The task is longer than {LONGEST_TASK:,} characters.",
            next="put it into a file of the project and name that file in the task",
        )
    chain = _chain(desk, wish.chain)
    _check_arguments(wish.arguments, chain)
    check_caps(wish.caps)
    project = _folder(desk)
    _begun_here(desk, project, task, chain)  # refuse before the user is asked for consent
    _settle_consent(desk, chain, project, may)
    with run_records.alone(desk):
        known = _begun_here(desk, project, task, chain)
        now = desk.clock()
        run = known or Run(
            id=desk.new_id("r"), task=task, chain=chain, project=project, created_at=now, updated_at=now
        )
        wished = msgspec.structs.replace(
            run,
            caps=wish.caps,
            returns=wish.returns,
            prewarm=wish.prewarm,
            patience=wish.patience,
            arguments=wish.arguments,
        )
        if known is not None and run_records.is_attended(desk, known.id):
            return Begun(known, True)  # it keeps its options while it is supervised
        run_records.forget_stop(desk, run.id)
        return Begun(run_records.save(desk, wished), known is not None, _stopped_before(desk, run))


def _begun_here(desk: Desk, project: str, task: str, chain: tuple[str, ...]) -> Run | None:
    """Unfinished run of a folder with the same task and chain. Refuses if another run is unfinished, or if the worktree
    is held."""
    known = run_records.unfinished_here(desk, project)
    if known is None:
        _refuse_held(desk, desk.project)
    elif (known.task, known.chain) != (task, chain):
        verb = "attach" if run_records.is_attended(desk, known.id) else "resume"
        raise Refused(
            what=f"Run {known.id} of this folder is not finished ({known.state.value}). A folder can have one run.",
            next=f"segue run {verb} {known.id} continues it; segue run stop {known.id} ends it",
        )
    return known


def _stopped_before(desk: Desk, run: Run) -> str:
    last = next((one for one in run_records.listed(desk) if one.id != run.id), None)
    is_same = last is not None and (last.task, last.chain) == (run.task, run.chain)
    return last.id if last is not None and is_same and last.state is RunState.STOPPED else ""


def _folder(desk: Desk) -> str:
    """Folder in which the agents work."""
    project = paths.as_text(desk.project)
    is_text = project.encode(errors="replace").decode() == project
    if not desk.cwd.is_dir() or not Path(project).is_dir() or not is_text:
        raise BadInput(
            what=f"An agent cannot be started in {project.encode(errors='replace').decode()}.",
            next="run segue run in an existing folder whose path is valid UTF-8",
        )
    return project


def check_caps(caps: Caps) -> None:
    """Refuse invalid caps: they would let a run continue for ever."""
    for name, value in (("money", caps.usd), ("tokens", caps.tokens), ("time", caps.seconds)):
        if value is None:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not 0 < value <= LARGEST_CAP:
            raise BadInput(
                what=f"Invalid cap '{value}' for {name}.",
                next="segue run start --help lists the valid values",
            )
    if not isinstance(caps.tokens, int | None) or not 1 <= caps.week <= 100:
        raise BadInput(what="Invalid cap.", next="segue run start --help lists the valid values")


def _refuse_held(desk: Desk, project: Path) -> None:
    if held := leases.holder(desk, project):
        raise Refused(
            what=f"{held.holder} holds this worktree ({held.handoff}).", next=f"{held.back} ends the lease"
        )


def _chain(desk: Desk, names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise BadInput(
            what="The chain of agents is empty.",
            next='segue run "TASK" --chain AGENT,AGENT:MODEL; segue config set run.chain sets a default',
        )
    chain = tuple(str(addresses.resolve(desk, name)) for name in names)
    if twice := [name for name in chain if chain.count(name) > 1]:
        raise BadInput(
            what=f"{twice[0]} is in the chain twice.",
            next='segue run "TASK" --chain with each agent or AGENT:MODEL once',
        )
    missing: list[NotInstalled] = []
    for target in chain:
        try:
            plan.target_of(desk, target)
        except NotInstalled as error:
            missing.append(error)
    if len(missing) == len(chain):
        raise missing[0]
    return chain


def _check_arguments(arguments: tuple[tuple[str, str], ...], chain: tuple[str, ...]) -> None:
    named = {target.partition(":")[0] for target in chain}
    for agent, argument in arguments:
        if agent not in named or not argument.startswith("-"):
            raise BadInput(
                what=f"'{agent}={argument}' is not an option for an agent of the chain.",
                next="segue run ... --pass AGENT=--option",
            )


def _settle_consent(desk: Desk, chain: tuple[str, ...], project: str, may: MayGo) -> None:
    """Ask for consent for every vendor of the chain before anything starts, because nobody can be asked later. The user
    gives the task to the first agent, so that one needs no question."""
    vendors = {consent.vendor_of(desk, target): target for target in reversed(chain)}
    due = [vendor for vendor in vendors if not consent.is_given(desk, project, vendor, "")]
    for vendor in due:
        if vendors[vendor] != chain[0] and not may(vendor, vendors[vendor]):
            look = f"segue to {vendors[vendor]} --dry-run"
            raise NoConsent(vendor=vendor, kept="", again="segue run", look=look)
    for vendor in due:
        consent.give(desk, project, vendor)
    if due:
        handoff_records.renew_offers(desk)


def supervise(desk: Desk, run: Run, tell: Tell) -> Run:
    """Supervise a run until it ends. An interrupt stops it; it can be resumed."""
    with run_records.attended(desk, run):
        run = run_records.load(desk, run.id)
        if run.state not in UNFINISHED:
            return run
        process.end(prewarm.logs_of(desk, run.id))  # left by an earlier supervisor
        supervisor = Supervisor(desk, run, tell)
        try:
            return supervisor.work()
        except KeyboardInterrupt:
            leg = supervisor.run.leg
            if leg is not None and leg.ended_at is None:
                cut = Stop(why=Why.ASKED, said="you interrupted it")
                supervisor.change_leg(stop=cut, ended_at=desk.clock())
            supervisor.keep(state=RunState.STOPPED, why="you interrupted it")
            free(desk, supervisor.run)
            supervisor.tell(f"Stopped. segue run resume {run.id} resumes it.")
            raise
        except SegueError as error:
            run_records.log(desk, run.id, f"The run cannot continue: {error} Next: {error.next_step}")
            with contextlib.suppress(SegueError):  # the disk may be full
                supervisor.keep(why=str(error))
            raise
        finally:
            supervisor.ahead.end()


def take_up(desk: Desk, run: Run, caps: Mapping[str, object]) -> Run:
    """Resume a run that was left or that ended early, with new caps if some are named."""
    with run_records.alone(desk), run_records.attended(desk, run):
        run = run_records.load(desk, run.id)
        if run.state is RunState.DONE:
            raise Refused(what=f"Run {run.id} is done.", next=f"segue run status {run.id}")
        _refuse_in_the_way(desk, run)
        run_records.forget_stop(desk, run.id)
        return run_records.save(
            desk,
            msgspec.structs.replace(
                run,
                state=RunState.WORKING,
                why="",
                until=None,
                caps=_other(run.caps, caps),
                legs=(*run.legs[:-1], *(_reopened(leg) for leg in run.legs[-1:])),
                taken_up_at=desk.clock(),
            ),
        )


def _other(present: Caps, named: Mapping[str, object]) -> Caps:
    caps = msgspec.structs.replace(present, **named)
    check_caps(caps)
    return caps


def _refuse_in_the_way(desk: Desk, run: Run) -> None:
    """Refuse if the run's folder is missing, has another unfinished run, or is held by somebody else."""
    if not Path(run.project).is_dir():
        raise Refused(
            what=f"The folder of run {run.id}, {run.project}, does not exist.",
            next=f"restore it, then segue run resume {run.id}",
        )
    other = run_records.unfinished_here(desk, run.project)
    if other is not None and other.id != run.id:
        raise Refused(
            what=f"Run {other.id} of that folder is not finished ({other.state.value}). A folder can have one run.",
            next=f"segue run stop {other.id} ends it",
        )
    held = leases.holder(desk, Path(run.project))
    own = {run.id, *(leg.handoff for leg in run.legs if leg.handoff)}
    if held is not None and held.handoff not in own:
        _refuse_held(desk, Path(run.project))


def _reopened(leg: Leg) -> Leg:
    """Reopen a leg for the same agent, unless it must wait for a limit or its context is full."""
    stop = leg.stop
    if stop is None or stop.why is Why.CONTEXT:
        return leg
    if stop.why is Why.LIMIT and stop.limit is not None and stop.limit.resets_at:
        return leg
    return msgspec.structs.replace(leg, stop=None, ended_at=None, tries=1, again=None)


def stop(desk: Desk, run: Run) -> Run:
    """Stop a run and its agent. The work so far is kept."""
    if run.state not in UNFINISHED and not _ends_leftovers(desk, run):
        raise Refused(what=f"Run {run.id} is {run.state.value} already.", next=f"segue run status {run.id}")
    if run.state not in UNFINISHED:
        return run
    run_records.ask_to_stop(desk, run.id)
    deadline = time.monotonic() + 2 * process.GRACE_SECONDS + START_SECONDS
    while run_records.is_attended(desk, run.id) and time.monotonic() < deadline:
        time.sleep(process.LOOK_SECONDS)
    with run_records.attended(desk, run):
        run = run_records.load(desk, run.id)
        if run.state not in UNFINISHED:
            return run
        _ends_leftovers(desk, run)  # the agent may outlive its supervisor
        run_records.forget_stop(desk, run.id)
        run_records.log(desk, run.id, "The run is stopped: you stopped it.")
        return run_records.save(
            desk, msgspec.structs.replace(run, state=RunState.STOPPED, why="you stopped it", until=None)
        )


def _ends_leftovers(desk: Desk, run: Run) -> bool:
    """End processes that a dead supervisor left running. Returns whether there were any."""
    started = [prewarm.logs_of(desk, run.id), *([leg.logs_of(desk, run, run.leg)] if run.leg else [])]
    running_now = [logs for logs in started if process.is_running(logs)]
    for logs in running_now:
        process.end(logs)
    free(desk, run)
    return bool(running_now)


def in_background(desk: Desk, run: Run) -> None:
    """Start a supervisor that outlives this process and its terminal."""
    _refuse_in_the_way(desk, run)
    folder = run_records.folder(desk, run.id)
    files.make_private_folder(folder)
    with (folder / "supervisor.log").open("ab") as log:
        left = subprocess.Popen(
            [sys.executable, "-P", "-m", "segue", "run", "resume", run.id],
            cwd=run.project,
            env=_where_it_is(desk),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    left.returncode = 0  # it outlives this process, so Popen must not warn that it still runs
    deadline = time.monotonic() + START_SECONDS
    while not run_records.is_attended(desk, run.id):
        if run_records.load(desk, run.id).state not in UNFINISHED:
            return
        if time.monotonic() > deadline:
            raise Refused(
                what=f"The supervisor of run {run.id} did not start.",
                next=f"segue run resume {run.id} supervises it here; see {folder / 'supervisor.log'}",
            )
        time.sleep(NAP_SECONDS)


def _where_it_is(desk: Desk) -> dict[str, str]:
    """Environment of the user, with SEGUE_HOME as an absolute path."""
    home = desk.env.get("SEGUE_HOME", "")
    is_relative = bool(home) and not home.startswith(("/", "~"))
    return {**desk.env, **({"SEGUE_HOME": str(desk.cwd / home)} if is_relative else {})}


NAP_SECONDS = 0.05


def shown(desk: Desk, run: Run) -> Shown:
    path = run_records.folder(desk, run.id) / run_records.LOG
    return Shown(
        run=run,
        is_attended=run_records.is_attended(desk, run.id),
        is_agent_at_work=run.leg is not None and process.is_running(leg.logs_of(desk, run, run.leg)),
        log=str(path),
        lines=tuple(run_records.log_of(desk, run.id).splitlines()[-LAST_LINES:]),
    )


def to_take_up(desk: Desk) -> list[Run]:
    """Unfinished runs without a supervisor, for example after a restart of the machine."""
    return [
        run
        for run in run_records.listed(desk, everywhere=True)
        if run.state in UNFINISHED and not run_records.is_attended(desk, run.id)
    ]


def follow(desk: Desk, run: Run, show: Callable[[str], None]) -> Run:
    """Show the log, and follow it while the run is supervised."""
    seen = 0
    while True:
        is_on = run_records.is_attended(desk, run.id)
        text = run_records.log_of(desk, run.id)
        if len(text) > seen:
            show(text[seen:].rstrip("\n"))
            seen = len(text)
        if not is_on:
            return run_records.load(desk, run.id)
        with contextlib.suppress(KeyboardInterrupt):
            time.sleep(process.LOOK_SECONDS)
            continue
        return run_records.load(desk, run.id)
