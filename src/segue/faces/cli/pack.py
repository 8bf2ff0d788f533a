"""`segue pack`, `segue show`, `segue diff`: make a brief, look at what it passed, and compare."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from segue.briefs import select
from segue.briefs.rewrite import Change
from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli.frame import Frame, answers, to_json
from segue.faces.screens.receipts import receipt as receipt_screen
from segue.model import Fact, Fate, Tier
from segue.ops.briefs import context, make
from segue.ops.briefs.make import Made, Wish
from segue.ops.handoff import compare, receipts
from segue.ops.handoff.compare import Changed, Difference
from segue.ops.handoff.receipts import Listed

LINES = 12
"""How many facts of a kind are listed, unless all are asked for."""
FEW = 5
NOT_KEPT = ". It could not be kept, so segue show does not know it. segue doctor tells more."


@click.command()
@click.argument("transcript", required=False, metavar="[TRANSCRIPT_FILE_OR_ID]")
@click.option(
    "--budget", type=int, metavar="TOKENS", help="At most this long; by default what the tier needs."
)
@click.option(
    "--tier",
    type=click.Choice([tier.value for tier in Tier], case_sensitive=False),
    default=Tier.SELECTIVE.value,
    show_default=True,
    help="How much may be passed.",
)
@click.option(
    "--for",
    "target",
    metavar="AGENT",
    default="",
    help="Who will read it: decides how tokens are counted, and how many fit.",
)
@click.option(
    "--rewrite",
    metavar="MODEL",
    default="",
    help="Let a model of the llm library make the agent's prose shorter; it gets that prose, without secrets.",
)
@click.option(
    "--package",
    "package",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the whole context to a new file as well: all that was said and done, SECRETS INCLUDED.",
)
@click.option("--markdown", "is_markdown", is_flag=True, help="Print Markdown, for agents: the default.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.option("--debug", is_flag=True, help="Show the traceback of what goes wrong.")
@click.pass_obj
def pack(
    frame: Frame,
    transcript: str | None,
    budget: int | None,
    tier: str,
    target: str,
    rewrite: str,
    package: Path | None,
    is_markdown: bool,
    as_json: bool,
    debug: bool,
) -> None:
    """Make a brief of a transcript, or of this folder's last one: what the next agent needs, within a budget.

    The brief goes to stdout. No agent is started, and nothing leaves this machine but what --rewrite sends.
    """
    frame.debug = frame.debug or debug
    frame.as_json = frame.as_json or as_json
    if frame.as_json and is_markdown:
        raise BadInput(what="A brief is printed as JSON or as Markdown, not as both.", next="segue help pack")
    made = make.packed(frame.desk, transcript, Wish(Tier(tier), budget, target, rewrite), tell=frame.say)
    if package is not None:
        whole = context.package(frame.desk, transcript, frame.cwd / package, tier=Tier(tier), target=target)
        frame.say(
            f"Context packaged ({render.size(whole.stored)}, {render.size(whole.size)} unpacked): {package}"
        )
    frame.print(to_json(made.brief) if frame.as_json else made.text.rstrip("\n"))
    for change in made.changes:
        frame.say(render.clean(_changed(change)))
    frame.say(_told(made, is_kept=make.is_kept(frame.desk, made.id)))


def _changed(change: Change) -> str:
    """What became of a text that a model was asked to rewrite."""
    if change.problem:
        return f"{change.before:,} characters stay as they were: {change.problem}"
    told = f"{change.before:,} characters are {change.after:,} now"
    for what, items in (("put back", change.put_back), ("left out as made up", change.dropped)):
        if items:
            more = f" and {len(items) - FEW} more" if len(items) > FEW else ""
            told += f"; {what}: {', '.join(render.short(item, 60) for item in items[:FEW])}{more}"
    return told


def _told(made: Made, *, is_kept: bool) -> str:
    receipt = made.receipt
    return (
        f"{made.id}: {made.brief.tokens:,} of {made.brief.budget:,} tokens ({made.brief.counter}); "
        f"{render.plural(receipt.count(Fate.PASSED), 'fact')} passed, {receipt.count(Fate.RECOVERABLE)} recoverable, "
        f"{receipt.count(Fate.NOT_PASSED)} not passed"
        + (f"; {render.plural(receipt.redacted, 'secret')} replaced" if receipt.redacted else "")
        + (f". segue show {made.id} tells which." if is_kept else NOT_KEPT)
    )


def list_screen(listed: list[Listed]) -> str:
    if not listed:
        return "No brief was made yet. segue pack makes one."
    rows = [("id", "tier", "tokens", "of")]
    rows += [
        (one.id, one.tier.value, f"{one.tokens:,}", render.clean(render.short(one.title, 70)))
        for one in listed
    ]
    return render.table(rows, right={2}) + "\nsegue show ID tells what one of them passed."


class Asked(Struct, frozen=True):
    shown: Made | list[Listed]
    with_facts: bool


def _shown(asked: Asked) -> str:
    if isinstance(asked.shown, list):
        return list_screen(asked.shown)
    screen = receipt_screen(asked.shown)
    if not asked.with_facts:
        return screen
    lines = [screen, ""]
    for line in asked.shown.receipt.lines:
        where = f"  {line.pointer}" if line.pointer else ""
        why = f" ({line.reason})" if line.reason else ""
        lines.append(render.clean(f"{line.fate.value:<12} {_named(line.fact)}{why}{where}"))
    return "\n".join(lines)


def show_data(asked: Asked) -> Any:
    shown = asked.shown
    if not isinstance(shown, Made):
        return shown
    fields = {name: getattr(shown, name) for name in shown.__struct_fields__}
    return {**fields, "preservation": select.preservation(shown.receipt)}


@click.command()
@click.argument("id", required=False)
@click.option("--facts", "with_facts", is_flag=True, help="Every fact, with what became of it.")
@answers(_shown, data=show_data)
def show(frame: Frame, id: str | None, with_facts: bool) -> Asked:
    """Show what a brief or a handoff passed, what it did not, and why.

    Without an ID, list the briefs that were made last. `segue transcripts show POINTER` shows what can be looked up.
    """
    return Asked(receipts.listed(frame.desk) if id is None else receipts.get(frame.desk, id), with_facts)


def _named(fact: Fact) -> str:
    """A fact in a line: by its subject and value, or by its words alone where the subject is only an id."""
    said = f"{fact.subject}: {fact.value}" if fact.subject and fact.subject != fact.value else fact.value
    if fact.kind in ("instruction", "plan", "reply", "talk"):
        said = fact.value or fact.entry
    elif fact.kind in ("name", "content"):
        said = fact.subject
    return f"{fact.kind}: {render.short(' '.join(said.split()), 100)}"


def diff_screen(found: Difference) -> str:
    lines = [f"{render.clean(found.before)} -> {render.clean(found.after)}"]
    lines += _part("New", [_named(fact) for fact in found.added])
    lines += _part("Changed", [_turned(change) for change in found.changed])
    lines += _part("Gone", [_named(fact) for fact in found.gone])
    lines += _part("Passed in one only", [_turned(change) for change in found.fates])
    return "\n".join(lines) if len(lines) > 1 else f"{lines[0]}\nNo fact differs."


def _turned(change: Changed) -> str:
    subject = render.short(" ".join(change.subject.split()), 80)
    about = f"{change.kind}: {subject}: " if subject else f"{change.kind}: "
    before, after = (" ".join(value.split()) for value in (change.before, change.after))
    # Of two long texts that begin alike, from a little before where they part.
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    same = max(0, len([*alike]) - 10) if len(before) > 40 else 0
    before, after = (f"…{value[same:]}" if same else value for value in (before, after))
    return f"{about}{render.short(before, 40)} -> {render.short(after, 40)}"


def _part(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    shown = ["  " + render.clean(item) for item in items[:LINES]]
    more = (
        [render.dim(f"  and {len(items) - LINES} more (--json has them all)")] if len(items) > LINES else []
    )
    return ["", f"{title} ({len(items)})", *shown, *more]


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@answers(diff_screen)
def diff(frame: Frame, before: str, after: str) -> Difference:
    """Compare two briefs, handoffs or moments.

    A and B are each the id of a brief or handoff, a transcript (its id or file), or a transcript at a moment:
    ID@2026-11-16T10:00:00Z.
    """
    return compare.compare(frame.desk, before, after)


COMMANDS = {"pack": pack, "show": show, "diff": diff}
