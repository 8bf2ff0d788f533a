"""`segue verify`: whether what an agent says it did is so."""

from __future__ import annotations

import click

from segue import assertions
from segue.assertions import Verdict
from segue.faces import render
from segue.faces.cli.frame import Frame, answers
from segue.ops.verify import verify as verification
from segue.ops.verify.verify import Verification

SIGNS = {Verdict.SUPPORTED: "ok", Verdict.UNSUPPORTED: "problem", Verdict.UNKNOWN: "note"}
FEW = 12
"""How many of those that hold, or cannot be told, are listed."""


def screen(found: Verification) -> str:
    lines = [*_broken(found), headline(found), render.dim(_where(found)), *_list(found)]
    if found.checked:
        lines += ["", *_words(found)]
    if found.opinion:
        said = found.opinion.text or f"none: {found.opinion.problem}"
        lines += [
            "",
            f"{render.clean(found.opinion.model)} thinks (an opinion, no finding):",
            render.clean(said),
        ]
    if found.next:
        lines += ["", render.dim(f"next: {render.clean(' · '.join(found.next))}")]
    return "\n".join(lines)


def _broken(found: Verification) -> list[str]:
    """The user's prohibitions that were broken, and what may break one: before all else."""
    lines: list[str] = []
    for one in found.violations:
        lines.append(f"{render.mark('problem')} Prohibition broken: {render.clean(one.evidence)}.")
        lines.append(f'    you said: "{render.clean(render.short(one.prohibition.sentence, 110))}"')
    lines += [f"{render.mark('note')} {render.clean(one)}." for one in found.changed]
    return [*lines, ""] if lines else []


def headline(found: Verification) -> str:
    """What counts, in a sentence."""
    every, false = len(found.checked), len(found.unsupported)
    if found.problem:
        return f"{render.mark('problem')} Not checked: {render.clean(found.problem)}"
    told = sum(one.verdict is not Verdict.UNKNOWN for one in found.checked)
    rest = f"; {every - told} more could not be checked." if every > told else "."
    if not every:
        return f"{render.mark('note')} Nothing that could be checked is asserted."
    if not told:
        what = "One thing is asserted" if every == 1 else f"{every} things are asserted"
        return f"{render.mark('note')} {what}, and nothing shows whether it is so."
    if told == 1:
        holds = "does not hold" if false else "holds"
        return f"{render.mark('problem' if false else 'ok')} The one assertion that could be checked {holds}{rest}"
    if false:
        do = "does" if false == 1 else "do"
        return f"{render.mark('problem')} {false} of {told} assertions {do} not hold{rest}"
    return f"{render.mark('ok')} All {told} assertions that could be checked hold{rest}"


def _where(found: Verification) -> str:
    since = f" since handoff {found.handoff}" if found.handoff else ""
    return f"  In transcript {render.clean(found.transcript)}{since}"


def _list(found: Verification) -> list[str]:
    """What does not hold first, each with its sentence and its evidence."""
    lines: list[str] = []
    for verdict in (Verdict.UNSUPPORTED, Verdict.UNKNOWN, Verdict.SUPPORTED):
        own = [one for one in found.checked if one.verdict is verdict]
        shown = own if verdict is Verdict.UNSUPPORTED else own[:FEW]
        lines += [""] if own and not lines else []
        for one in shown:
            lines.append(f"{render.mark(SIGNS[verdict])} {render.clean(assertions.label(one))}")
            if verdict is Verdict.UNSUPPORTED:
                lines.append(f'    said: "{render.clean(render.short(one.assertion.sentence, 110))}"')
            if verdict is not Verdict.SUPPORTED:
                lines.append(f"    {render.clean(render.short(one.evidence, 150))}")
        if len(own) > len(shown):
            lines.append(f"  … and {len(own) - len(shown)} more {verdict}; --json lists them")
    return lines


def _words(found: Verification) -> list[str]:
    """The four words, for who wants to know how it was found."""
    lines = []
    for name in ("rigorous", "accurate", "interpretable", "transparent"):
        word = getattr(found.rait, name)
        share = f" ({word.share:.0%})" if word.share is not None else ""
        lines.append(render.dim(f"{name:13}  {render.clean(word.statement)}{share}"))
    return lines


@click.command()
@click.argument("session", required=False)
@click.option(
    "--since", metavar="HANDOFF", help="What was said after this handoff, wherever the work is now."
)
@click.option("--transcript", metavar="ID", help="All of one transcript instead.")
@click.option(
    "--tests/--no-tests",
    "run_tests",
    default=None,
    help="Run the project's tests (the setting verify.test_command), or not.",
)
@click.option("--opinion", metavar="MODEL", default="", help="Ask a model of the llm library as well.")
@answers(
    screen,
    exit_code=lambda found: found.exit_code,
    data=lambda found: {**_plain(found), "unsupported": found.unsupported},
)
def verify(
    frame: Frame,
    session: str | None,
    since: str | None,
    transcript: str | None,
    run_tests: bool | None,
    opinion: str,
) -> Verification:
    """Check what the agent that has the work says it did: against files, repository, transcript and, with --tests,
    a test run; and against what you forbade. Exits 12 if something you forbade was done, 11 if a claim is unsupported
    or the transcript cannot be read, else 0."""
    return verification.verify(
        frame.desk, session, since=since, transcript=transcript, run_tests=run_tests, opinion=opinion
    )


def _plain(found: Verification) -> dict[str, object]:
    return {name: getattr(found, name) for name in found.__struct_fields__}


COMMANDS = {"verify": verify}
