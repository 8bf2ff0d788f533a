"""`segue demo`: one complete handoff, step by step."""

from __future__ import annotations

from pathlib import Path

import click

from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.model import Fate, HandoffState
from segue.ops import demo as ops
from segue.ops.demo import Story


def screen(story: Story) -> str:
    report, handoff = story.report, story.report.handoff
    passed, left_out = story.receipt.count(Fate.PASSED), story.receipt.count(Fate.NOT_PASSED)
    kept = story.receipt.count(Fate.RECOVERABLE)
    lines = [
        render.bold("1. An agent's transcript"),
        f"   {story.entries} entries, {render.size(story.bytes)}: a bug in invoices, half fixed.",
        render.bold("2. Near its limit"),
        f"   {story.trigger.reasoning}.",
        f"   urgency {story.trigger.urgency.value}: the agent would soon stop and lose its context.",
        render.bold("3. Packed"),
        f"   package {render.size(handoff.package.size)} ({render.size(handoff.package.stored)} stored); "
        f"brief {story.brief.tokens} of {story.brief.budget} tokens, tier {story.brief.tier.value}:",
        "",
    ]
    for section in story.brief.sections:
        lines.append(f"   │ {render.bold(render.clean(section.title))}")
        lines += [f"   │ {render.clean(part)}" for line in section.lines for part in line.splitlines()]
    lines += [
        "",
        render.bold("4. Handed over"),
        "   to a separate program that knows only the brief. Its transcript was read back: "
        "it contains the brief, byte for byte.",
        render.bold("5. Proved"),
    ]
    for graded in report.proof.report.results if report.proof else ():
        answer = render.clean("; ".join(graded.answer or ()) or "(unknown)")
        question = render.clean(graded.probe.question.partition("?")[0] + "?")
        lines.append(f"   {render.mark('ok' if graded.is_right else 'problem')} {question}  {answer}")
    lines += [
        render.bold("6. Receipt"),
        f"   {render.plural(passed, 'fact')} passed, {kept} recoverable, {left_out} not passed:",
        *(
            f"   · {render.clean(line.fact.kind)} {render.clean(line.fact.subject)}: {line.reason}"
            for line in story.receipt.lines
            if line.fate is Fate.NOT_PASSED
        ),
        f"   · overall: {handoff.not_passed[-1]}",
        f"   handoff {handoff.id} is {handoff.state.value}; "
        f"{render.plural(story.operations, 'operation')} in the log, "
        + ("its chain verifies." if not story.log.flaws else "its chain does NOT verify."),
        "",
    ]
    lines.append(after(story))
    return "\n".join(lines)


def after(story: Story) -> str:
    if not story.is_kept:
        return "The scratch folder was deleted. To keep it: segue demo --keep DIR"
    home = render.clean(story.home)
    commands = "segue log · segue session list (in a checkout: ./dev segue log)"
    return f"Saved. To look around, set SEGUE_HOME={home}\n  {commands}"


@click.command()
@click.option(
    "--keep", metavar="DIR", type=click.Path(path_type=Path), help="Keep the demo's files in a new folder."
)
@answers(screen, exit_code=lambda story: int(story.report.handoff.state is not HandoffState.VALIDATED))
def demo(frame: Frame, keep: Path | None) -> Story:
    """Watch one handoff from end to end. Needs no agent, key or network, and changes none of your files."""
    return ops.run(keep, clock=frame.clock, new_id=frame.new_id)


COMMANDS = {"demo": demo}
