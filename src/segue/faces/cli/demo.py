"""`segue demo`: one handoff from end to end, told step by step."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click
from msgspec import Struct

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.model import Fate
from segue.ops import demo as ops
from segue.ops.desk import open_desk


class Shown(Struct, frozen=True):
    story: ops.Story
    kept_in: str | None


def screen(shown: Shown) -> str:
    story = shown.story
    report, handoff = story.report, story.report.handoff
    passed, left_out = story.receipt.count(Fate.PASSED), story.receipt.count(Fate.NOT_PASSED)
    lines = [
        render.bold("1. An agent's transcript"),
        f"   {story.entries} entries, {render.size(story.bytes)}: a bug in invoices, half mended.",
        render.bold("2. Near its limit"),
        f"   {story.trigger.reasoning}.",
        f"   urgency {story.trigger.urgency.value}: the agent would soon stop, and its context be lost.",
        render.bold("3. Packed"),
        f"   package {render.size(handoff.package.size)} ({render.size(handoff.package.stored)} stored); "
        f"brief {story.brief.tokens} of {story.brief.budget} tokens, tier {story.brief.tier.value}:",
        "",
    ]
    for section in story.brief.sections:
        lines.append(f"   │ {render.bold(render.clean(section.title))}")
        lines += [f"   │ {render.clean(line)}" for line in section.lines]
    lines += [
        "",
        render.bold("4. Handed over"),
        "   to a separate program that knows nothing but the brief. What it holds was read back: "
        + ("the brief, byte for byte." if report.arrived_whole else "NOT what was sent."),
        render.bold("5. Proved"),
    ]
    for probe in report.probes:
        answer = render.clean(probe.answer[-1]) if probe.answer else "(it does not know)"
        lines.append(f"   {render.mark('ok' if probe.is_right else 'problem')} {probe.question}  {answer}")
    lines += [
        render.bold("6. Receipt"),
        f"   {passed} facts passed, {left_out} not passed:",
        *(
            f"   · {render.clean(line.fact.kind)} {render.clean(line.fact.subject)}: {line.reason}"
            for line in story.receipt.lines
            if line.fate is Fate.NOT_PASSED
        ),
        f"   handoff {handoff.id} is {handoff.state.value}; "
        f"{render.plural(story.operations, 'operation')} in the log, "
        + ("its chain verifies." if not story.log.flaws else "its chain does NOT verify."),
        "",
    ]
    lines.append(after(shown))
    return "\n".join(lines)


def after(shown: Shown) -> str:
    if shown.kept_in is None:
        return "All in a scratch folder, which is gone. segue demo --keep DIR keeps it to look around."
    home = render.clean(shown.kept_in)
    return (
        f"Kept in {home}. Look around:\n  SEGUE_HOME={home} segue log\n  SEGUE_HOME={home} segue session list"
    )


@click.command()
@click.option(
    "--keep", metavar="DIR", type=click.Path(path_type=Path), help="Keep everything in a new folder."
)
@answers(screen, exit_code=lambda shown: int(shown.story.report.handoff.state.value != "validated"))
def demo(frame: Frame, keep: Path | None) -> Shown:
    """Watch one handoff from end to end. Needs no agent, key or network; touches nothing of yours."""
    if keep is not None and keep.exists() and any(keep.iterdir()):
        raise click.UsageError(f"{keep} is there already and not empty.")
    folder = keep.absolute() if keep else Path(tempfile.mkdtemp(prefix="segue-demo-"))
    env = {"SEGUE_HOME": str(folder)}
    desk = open_desk(env=env, cwd=folder.parent, clock=frame.clock, new_id=frame.new_id)
    try:
        return Shown(ops.play(desk, folder / "project"), str(folder) if keep else None)
    finally:
        desk.close()
        if keep is None:
            shutil.rmtree(folder)


COMMANDS = {"demo": demo}
