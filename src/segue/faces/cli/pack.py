"""`segue pack`, `segue show`, `segue diff`: make a brief, look at what it passed, and compare."""

from __future__ import annotations

from pathlib import Path

import click

from segue.briefs.rewrite import Change
from segue.errors import BadInput
from segue.faces import render
from segue.faces.cli.frame import Frame, to_json
from segue.model import Fate, Tier
from segue.ops.briefs import context, make
from segue.ops.briefs.make import Made, Wish

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


COMMANDS = {"pack": pack}
