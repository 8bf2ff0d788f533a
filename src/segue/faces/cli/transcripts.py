"""`segue transcripts`: list, search and read agents' transcripts on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers, to_json
from segue.faces.cli.options import moment_option
from segue.model import INTERRUPT, Entry, EntryKind
from segue.ops.index.refresh import Unused, unused_in_words
from segue.ops.work import transcripts as ops
from segue.ops.work.transcripts import Confirmed, Listing, Shown, Wanted

COLOURS = {
    EntryKind.PROMPT: "green",
    EntryKind.REPLY: "cyan",
    EntryKind.LIMIT: "red",
    EntryKind.SUMMARY: "magenta",
}
SHORT = 12
"""Maximum number of lines shown of a result."""


def list_screen(listing: Listing) -> str:
    if not listing.transcripts:
        nothing = "No matching transcripts. All: segue transcripts · Installed agents: segue doctor"
        return "\n".join([nothing, *unused_lines(listing.unused)])
    rows: list[tuple[str, ...]] = [
        ("id", "agent", "last written", "state", "turns", "tokens", "project", "title")
    ]
    for item in listing.transcripts:
        transcript = item.transcript
        rows.append(
            (
                transcript.id[:13],
                transcript.agent,
                render.local(transcript.updated_at) if transcript.updated_at else "-",
                item.state.value,
                str(transcript.turns),
                f"{item.tokens.total:,}",
                render.short(transcript.project or "(unknown)", 32, from_end=True),
                render.short(transcript.title, 60),
            )
        )
    lines = [render.table(rows, right={4, 5})]
    if listing.left_out:
        lines.append(render.dim(f"and {listing.left_out:,} more (--limit N shows more)"))
    broken = sum(item.transcript.broken for item in listing.transcripts)
    if broken:
        lines.append(
            render.dim(f"{render.plural(broken, 'line')} in these could not be read and were skipped")
        )
    lines += [render.dim("not read: " + render.clean(problem)) for problem in listing.problems[:5]]
    lines += unused_lines(listing.unused)
    return "\n".join(lines)


def unused_lines(unused: Iterable[Unused]) -> list[str]:
    return [render.dim(render.clean(f"not used: {line}")) for line in unused_in_words(unused)]


def confirmed_screen(confirmed: Confirmed) -> str:
    if not confirmed.project:
        return "That transcript is not in a project folder; it counts as yours already."
    where = f"{confirmed.agent}'s transcripts in {confirmed.project}"
    state = "count as yours" if confirmed.is_confirmed else "are not used until you confirm them"
    return render.clean(f"{where} {state}.")


@click.group(invoke_without_command=True)
@click.option("--agent", help="Only transcripts of this agent.")
@click.option(
    "--project", help="Only transcripts of this folder and its worktrees; '.' is the current folder."
)
@moment_option("--since", "Only transcripts written since then: 2026-11-16, 3d, today.")
@moment_option("--until", "Only transcripts written before then.")
@click.option("--text", help="Only transcripts that contain these words.")
@click.option("--subagents", is_flag=True, help="Include transcripts of sub-agents.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Maximum number.")
@answers(list_screen)
def transcripts(
    frame: Frame,
    agent: str | None,
    project: str | None,
    since: str | None,
    until: str | None,
    text: str | None,
    subagents: bool,
    limit: int,
) -> Listing:
    """List the transcripts on this machine, newest first."""
    folder = os.path.abspath(frame.cwd / project) if project else None  # noqa: PTH100 - without following links
    wanted = Wanted(agent, folder, since, until, text, subagents, limit)
    return ops.listing(frame.desk, wanted, frame.progress("Reading transcripts"))


@transcripts.command("confirm")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--undo", "take_back", is_flag=True, help="Withdraw the confirmation.")
@answers(confirmed_screen)
def confirm(frame: Frame, file: Path, take_back: bool) -> Confirmed:
    """Confirm that the transcripts an agent keeps in a project folder are yours.

    FILE is one of them. Unconfirmed transcripts are listed, but no command uses them. Transcripts tracked by git are
    never used.
    """
    return ops.confirm(frame.desk, frame.cwd / file, take_back=take_back)


@transcripts.command("show")
@click.argument("id")
@click.option("--follow", "-f", is_flag=True, help="Start near the end and print new entries until Ctrl-C.")
@click.option("--full", is_flag=True, help="Show results and notes in full.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, one entry per line.")
@click.pass_obj
def show(frame: Frame, id: str, follow: bool, full: bool, as_json: bool) -> None:
    """Print one transcript: ID is its id, a prefix of it, or a file."""
    frame.as_json = frame.as_json or as_json
    shown = ops.find(frame.desk, id)
    try:
        _print(
            frame,
            shown,
            ops.follow(shown) if follow else ops.entries(shown, whole=full),
            full,
            paged=not follow,
        )
    except KeyboardInterrupt:
        return


def _print(frame: Frame, shown: Shown, entries: Iterable[Entry], full: bool, *, paged: bool) -> None:
    if frame.as_json:
        for entry in entries:
            frame.print(to_json(entry, indent=0))
        return
    texts = _texts(shown, entries, full)
    if paged and sys.stdout.isatty():
        # Like git: less shows colours, and exits if everything fits on the screen.
        os.environ.setdefault("LESS", "FRX")
        shows_colours = "R" in os.environ["LESS"] and "less" in os.environ.get("PAGER", "less")
        click.echo_via_pager(texts, color=shows_colours and frame.has_colour(sys.stdout))
        return
    for text in texts:
        frame.print(text.rstrip("\n"))


def _texts(shown: Shown, entries: Iterable[Entry], full: bool) -> Iterator[str]:
    yield render.dim(f"{shown.source.agent}  {render.clean(shown.source.path)}") + "\n"
    day, told = "", ""
    for entry in entries:
        text = entry_text(entry, full)
        reported = _reported(entry)
        if not text or (reported and reported == told and not full):
            continue
        told = reported or told
        if entry.at and (now := render.local(entry.at)[:10]) != day:
            day = now
            yield render.dim(f"── {day}") + "\n"
        yield text + "\n"


def _reported(entry: Entry) -> str:
    """Limits that a note reports."""
    if entry.kind is not EntryKind.NOTE:
        return ""
    shares = [
        f"{limit.window} {limit.used_percent:.0f}%"
        for limit in entry.limits
        if limit.used_percent is not None
    ]
    return " · ".join(shares)


def entry_text(entry: Entry, full: bool = False) -> str:
    """Format an entry; notes only with `full`."""
    reported = _reported(entry)
    is_silent = entry.kind is EntryKind.NOTE or (entry.kind is EntryKind.THOUGHT and not entry.text)
    if is_silent and not full and not reported and entry.tool != INTERRUPT:
        return ""
    who = f"{entry.kind.value} {entry.tool or ''}".strip()
    if reported:
        who = f"{who}: limits {reported}" if full else f"limits {reported}"
    status = f" → {entry.status}" if entry.status is not None else " → failed" if entry.is_error else ""
    when = render.local(entry.at)[11:] if entry.at else "--:--"
    aside = f" [{entry.subagent[:12]}]" if entry.subagent else ""
    head = click.style(f"{when} {render.clean(who + aside + status)}", fg=COLOURS.get(entry.kind), bold=True)
    lines = entry.text.expandtabs(4).splitlines()
    is_short = entry.kind in (EntryKind.RESULT, EntryKind.THOUGHT, EntryKind.CALL, EntryKind.NOTE)
    if is_short and not full and len(lines) > SHORT:
        lines = [*lines[:SHORT], f"… {render.plural(len(lines) - SHORT, 'more line')}"]
    body = "\n".join("  " + render.clean(line if full else render.short(line, 2000)) for line in lines)
    return f"{head}\n{body}" if body else head


COMMANDS = {"transcripts": transcripts}
