"""`segue run`: work on a task under supervision, switching agents at limits."""

from __future__ import annotations

import contextlib
import re
import signal
import sys
from collections.abc import Callable
from typing import Any

import click

from segue.base import clock
from segue.errors import BadInput, Declined, SegueError
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops.run import control
from segue.ops.run.control import Shown, Wish
from segue.ops.verify.verify import FOUND_UNSUPPORTED, FOUND_VIOLATION
from segue.ops.work import run_records
from segue.routing import UNFINISHED, Caps, Run, RunState

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
EXIT_CODES = {RunState.DONE: 0, RunState.STOPPED: 5, RunState.CAPPED: 5, RunState.FAILED: 6}
MARKS = {RunState.DONE: "ok", RunState.FAILED: "problem"}


class Length(click.ParamType[float]):
    """A duration: 90s, 30m, 8h, 2d."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        parts = re.findall(r"(\d+(?:\.\d+)?)([smhd])", str(value))
        if not parts or "".join(number + unit for number, unit in parts) != str(value):
            self.fail(f"Invalid duration '{value}': expected 90s, 30m, 8h or 2d.")
        return sum(float(number) * UNITS[unit] for number, unit in parts)


class Share(click.ParamType[int]):
    """A whole percentage."""

    name = "PERCENT"

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> int:
        text = str(value).removesuffix("%")
        if not text.isdecimal() or not 1 <= int(text) <= 100:
            self.fail(f"Invalid percentage '{value}': expected 1% to 100%.")
        return int(text)


class RunGroup(click.Group):
    """A group whose unknown commands are tasks; a near miss of a command is refused."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((arg for arg in args if not arg.startswith("-")), None)
        if args and args[0] not in ("--help", "-h") and first not in self.commands:
            refuse_nearly(args[0], list(self.commands))
            args = ["start", *args]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the options of `run start` too: users look for them here."""
        begin = self.commands["start"]
        context = click.Context(begin, info_name="start", parent=ctx)
        rows = [row for param in begin.params if (row := param.get_help_record(context)) is not None]
        with formatter.section("Options of segue run TASK"):
            formatter.write_dl(rows)
        self.format_commands(ctx, formatter)


def refuse_nearly(word: str, commands: list[str]) -> None:
    """Refuse a misspelt command, such as 'stauts': it is no task."""
    import difflib  # lazy: only a task needs it

    close = difflib.get_close_matches(word, commands, n=1, cutoff=0.7)
    if close and " " not in word:
        raise BadInput(
            what=f"Unknown command 'segue run {word}'.",
            next=f"segue run {close[0]}; if it is a task: segue run start {word}",
        )


def caps_of(
    max_usd: float | None, max_tokens: int | None, max_time: float | None, week: int | None
) -> dict[str, Any]:
    named = {"usd": max_usd, "tokens": max_tokens, "seconds": max_time, "week": week}
    return {name: value for name, value in named.items() if value is not None}


def _caps(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--week",
            type=Share(),
            help="Skip agents that have used this much of their weekly limit (setting run.week: 60%).",
        ),
        click.option("--max-time", type=Length(), help="Stop after this time, including waiting: 90m, 8h."),
        click.option(
            "--max-tokens", type=click.IntRange(min=1), metavar="N", help="Stop after this many tokens."
        ),
        click.option(
            "--max-usd",
            type=click.FloatRange(min=0, min_open=True),
            metavar="USD",
            help="Stop at this cost.",
        ),
    ):
        function = option(function)
    return function


def screen(shown: Shown | list[Shown]) -> str:
    if isinstance(shown, list):
        if not shown:
            return 'No runs yet. Start one: segue run "TASK" --chain AGENT,AGENT'
        older = [
            (one.run.id, _ended(one.run), _local(one.run.created_at), render.short(one.run.task, 50))
            for one in shown[1:]
        ]
        lines = [one_screen(shown[0])]
        if older:
            lines += ["", "Earlier", render.table(older, indent="  ")]
        return "\n".join(lines)
    return one_screen(shown)


def one_screen(shown: Shown) -> str:
    run = shown.run
    mark = "problem" if run.doubts else MARKS.get(run.state, "note")
    head = f"{render.mark(mark)} Run {run.id}: {state_in_words(shown)}"
    rows = [
        ("Task", render.short(" ".join(run.task.split()), 90)),
        ("Chain", " > ".join(run.chain) + (", then back" if run.returns else "")),
        ("Used", used(run)),
    ]
    for number, leg in enumerate(run.legs, 1):
        how = "done" if leg.ended_at is not None else "working" if shown.is_agent_at_work else "abandoned"
        if leg.stop is not None:
            how = f"{leg.stop.why.value}" + (f": {leg.stop.said}" if leg.stop.said else "")
        when = _local(leg.started_at)
        rows.append(("Who" if number == 1 else "", f"{when}  {leg.target}  {render.short(how, 80)}"))
    rows.append(("Log", shown.log))
    lines = [head, render.table(rows, indent="  ")]
    if run.state is RunState.DONE and run.leg and run.leg.reply:
        said = (render.clean(line) for line in run.leg.reply.strip().splitlines())
        lines += ["", *(f"  {line}" for line in said), ""]
    lines.append(f"  {next_step(shown)}")
    return "\n".join(lines)


def state_in_words(shown: Shown) -> str:
    run = shown.run
    why = f" ({render.clean(run.why)})" if run.why else ""
    if run.state in UNFINISHED and not shown.is_attended:
        at_work = "; its agent is still working" if shown.is_agent_at_work else ""
        return f"abandoned, no supervisor{at_work}{why}"
    if run.state is RunState.WAITING and run.until:
        return f"waiting until {_local(run.until)}{why}"
    return f"{_ended(run)}{why}"


def _ended(run: Run) -> str:
    return ", ".join(filter(None, (run.state.value, run.doubts)))


def used(run: Run) -> str:
    spent, caps = run.spent, run.caps
    money = f"${spent.usd:.2f}" + (f" of ${caps.usd:.2f}" if caps.usd is not None else "")
    tokens = f"{spent.tokens:,}" + (f" of {caps.tokens:,}" if caps.tokens is not None else "") + " tokens"
    time = render.minutes(spent.seconds / 60)
    time += f" of {render.minutes(caps.seconds / 60)}" if caps.seconds is not None else ""
    unpriced = f"; price unknown for {', '.join(spent.unpriced)}" if spent.unpriced else ""
    return f"{tokens}, {money}, {time}; agents are skipped from {caps.week}% of their weekly limit{unpriced}"


def next_step(shown: Shown) -> str:
    run = shown.run
    if run.state in UNFINISHED and shown.is_attended:
        return f"Follow: segue run attach {run.id} · Stop: segue run stop {run.id}"
    if run.state is RunState.DONE:
        return "Check the claims: segue verify · See the changes: git diff"
    return f"Resume: segue run resume {run.id}"


def _local(moment: str) -> str:
    return clock.parse(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def exit_code(shown: Shown | list[Shown]) -> int:
    if isinstance(shown, list):
        return exit_code(shown[0]) if len(shown) == 1 else 0
    if shown.run.doubts:
        return FOUND_VIOLATION if shown.run.broken else FOUND_UNSUPPORTED
    return EXIT_CODES.get(shown.run.state, 0)


@click.group(cls=RunGroup, invoke_without_command=False)
def run() -> None:
    """Work on a task unattended: switch along a chain of agents at a limit, return at the reset.

    Start a run with segue run "TASK" --chain AGENT,AGENT:MODEL. The commands below manage existing runs.
    """


@run.command("start", short_help="Start a run; the same as segue run TASK.")
@click.argument("task")
@click.option(
    "--chain",
    metavar="AGENT,AGENT",
    help="Agents in order of preference: AGENT, AGENT:MODEL or a model (setting run.chain).",
)
@click.option(
    "--return",
    "returns",
    is_flag=True,
    help="Finish with the preferred agent: wait for its reset, then check the work.",
)
@_caps
@click.option(
    "--patience",
    type=Length(),
    default="15m",
    help="How long an agent may be silent before it counts as hung.",
)
@click.option("--prewarm", is_flag=True, help="Send the next agent the context before the switch.")
@click.option(
    "--pass",
    "passed",
    multiple=True,
    metavar="AGENT=ARGUMENT",
    help="An option for an agent's program, such as its permissions; repeatable.",
)
@click.option("--background", is_flag=True, help="Run in the background; segue run attach follows it.")
@click.option(
    "--yes", "-y", is_flag=True, help="Send the context to all vendors of the chain without asking."
)
@answers(screen, exit_code)
def start(
    frame: Frame,
    task: str,
    chain: str | None,
    returns: bool,
    max_usd: float | None,
    max_tokens: int | None,
    max_time: float | None,
    week: int | None,
    patience: float,
    prewarm: bool,
    passed: tuple[str, ...],
    background: bool,
    yes: bool,
) -> Shown:
    """Work on a task unattended. At a limit, an overload, a full context, a crash or a hang, the next agent of the
    chain continues in the same folder.

    What an agent may do without asking is set in its own settings, or with --pass. Exits 12 if something you forbade
    was done, and 11 if a claim could not be confirmed or checked, or a call was refused.
    """
    settings = frame.desk.settings
    named = tuple(part.strip() for part in chain.split(",") if part.strip()) if chain is not None else None
    wish = Wish(
        task=task,
        chain=settings.run_chain if named is None else named,
        caps=Caps(**{"week": settings.run_week, **caps_of(max_usd, max_tokens, max_time, week)}),
        returns=returns,
        prewarm=prewarm or settings.run_prewarm,
        patience=patience,
        arguments=tuple(_argument(text) for text in passed),
    )
    begun = control.begin(frame.desk, wish, asking(frame, yes))
    if begun.is_old:
        frame.say(f"Resuming run {begun.run.id}, which has the same task.")
    if begun.stopped:
        frame.say(f"note: run {begun.stopped} was stopped. To resume it: segue run resume {begun.stopped}")
    return _go(frame, begun.run, background)


def _argument(text: str) -> tuple[str, str]:
    agent, mark, argument = text.partition("=")
    if not mark:
        raise BadInput(
            what=f"Invalid --pass '{text}': expected AGENT=--option.",
            next="segue run ... --pass AGENT=--option",
        )
    return agent.strip(), argument


def asking(frame: Frame, yes: bool) -> control.MayGo:
    """Ask the user about each vendor before the run starts."""

    def may(vendor: str, target: str) -> bool:
        if yes:
            return True
        if not sys.stdin.isatty():
            return False
        frame.say(
            f"At a limit, the work would continue in {target}, and this project's context would be sent to {vendor}."
        )
        if not click.confirm("Allow this?", default=False, err=True):
            raise Declined(
                agent="nobody yet",
                kept="",
                next="segue to AGENT --dry-run (shows what would be sent)",
            )
        return True

    return may


def _go(frame: Frame, begun: Run, background: bool) -> Shown:
    if background:
        control.in_background(frame.desk, begun)
    else:
        with contextlib.suppress(ValueError):  # not the main thread
            # Closing the terminal does not stop the run. Not SIG_IGN: the agent would inherit it.
            signal.signal(signal.SIGHUP, lambda _number, _frame: None)
        frame.say(f"Run {begun.id}. Press Ctrl-C to stop it; segue run resume resumes it.")
        control.supervise(frame.desk, begun, telling(frame))
    return control.shown(frame.desk, run_records.load(frame.desk, begun.id))


def telling(frame: Frame) -> Callable[[str], None]:
    return lambda text: frame.say("\n".join(render.clean(line) for line in text.splitlines()))


@run.command()
@click.argument("id", required=False)
@click.option("--all", "everywhere", is_flag=True, help="Include all folders.")
@answers(screen)
def status(frame: Frame, id: str | None, everywhere: bool) -> list[Shown]:
    """Show the runs of this folder, or the run with this id."""
    found = (
        [run_records.find(frame.desk, id)] if id else run_records.listed(frame.desk, everywhere=everywhere)
    )
    for lost in run_records.unreadable(frame.desk):
        frame.say(
            f"note: the record of run {render.clean(lost)} cannot be read. Details: segue run status {lost}"
        )
    return [control.shown(frame.desk, one) for one in found]


@run.command()
@click.argument("id", required=False)
@answers(screen, exit_code)
def attach(frame: Frame, id: str | None) -> Shown:
    """Follow a run's output until it ends. Ctrl-C does not stop the run."""
    known = run_records.find(frame.desk, id)
    last = control.follow(frame.desk, known, telling(frame))
    return control.shown(frame.desk, last)


@run.command()
@click.argument("id", required=False)
@answers(screen)
def stop(frame: Frame, id: str | None) -> Shown:
    """Stop a run and its agent. Its changes remain, and it can be resumed."""
    return control.shown(frame.desk, control.stop(frame.desk, run_records.find(frame.desk, id)))


@run.command(short_help="Resume a stopped or abandoned run.")
@click.argument("id", required=False)
@click.option("--all", "every", is_flag=True, help="All runs without a supervisor, in the background.")
@click.option("--background", is_flag=True, help="Run in the background.")
@_caps
@answers(screen, exit_code)
def resume(
    frame: Frame,
    id: str | None,
    every: bool,
    background: bool,
    max_usd: float | None,
    max_tokens: int | None,
    max_time: float | None,
    week: int | None,
) -> list[Shown]:
    """Resume a stopped or abandoned run, also after a reboot; options change its caps."""
    desk = frame.desk
    due = control.to_take_up(desk) if every else [run_records.find(desk, id)]
    if not due:
        frame.say("note: no run lacks a supervisor. All runs: segue run status --all")
    caps = caps_of(max_usd, max_tokens, max_time, week)
    shown = []
    for one in due:
        try:
            shown.append(_go(frame, control.take_up(desk, one, caps), background or every))
        except SegueError as error:
            if not every:
                raise
            frame.say(f"note: {render.clean(str(error))}")  # resume the others nevertheless
    return shown


COMMANDS = {"run": run}
