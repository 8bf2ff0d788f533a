"""`segue verify`: check an agent's claims."""

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
"""Maximum number of supported and of unknown claims listed."""


def screen(found: Verification) -> str:
    lines = [*_broken(found), headline(found), render.dim(_where(found)), *_list(found)]
    if found.checked:
        lines += ["", *_words(found)]
    if found.opinion:
        said = found.opinion.text or f"none: {found.opinion.problem}"
        lines += [
            "",
            f"{render.clean(found.opinion.model)} says (an opinion, not evidence):",
            render.clean(said),
        ]
    if found.next:
        lines += ["", render.dim(f"next: {render.clean(' · '.join(found.next))}")]
    return "\n".join(lines)


def _broken(found: Verification) -> list[str]:
    """Broken prohibitions and suspicious changes; shown first."""
    lines: list[str] = []
    for one in found.violations:
        lines.append(f"{render.mark('problem')} Prohibition broken: {render.clean(one.evidence)}.")
        lines.append(f'    you said: "{render.clean(render.short(one.prohibition.sentence, 110))}"')
    lines += [f"{render.mark('note')} {render.clean(one)}." for one in found.changed]
    return [*lines, ""] if lines else []


def headline(found: Verification) -> str:
    every, false = len(found.checked), len(found.unsupported)
    if found.problem:
        return f"{render.mark('problem')} Not checked: {render.clean(found.problem)}"
    told = sum(one.verdict is not Verdict.UNKNOWN for one in found.checked)
    rest = f"; {every - told} more could not be checked." if every > told else "."
    if not every:
        return f"{render.mark('note')} No claims that can be checked."
    if not told:
        what = "One claim" if every == 1 else f"{every} claims"
        return f"{render.mark('note')} {what}; no evidence for or against."
    if told == 1:
        holds = "does not hold" if false else "holds"
        return (
            f"{render.mark('problem' if false else 'ok')} The one claim that could be checked {holds}{rest}"
        )
    if false:
        do = "does" if false == 1 else "do"
        return f"{render.mark('problem')} {false} of {told} claims {do} not hold{rest}"
    return f"{render.mark('ok')} All {told} claims that could be checked hold{rest}"


def _where(found: Verification) -> str:
    since = f" since handoff {found.handoff}" if found.handoff else ""
    return f"  In transcript {render.clean(found.transcript)}{since}"


def _list(found: Verification) -> list[str]:
    """List claims with sentence and evidence; unsupported ones first."""
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
    """The four RAIT scores."""
    lines = []
    for name in ("rigorous", "accurate", "interpretable", "transparent"):
        word = getattr(found.rait, name)
        share = f" ({word.share:.0%})" if word.share is not None else ""
        lines.append(render.dim(f"{name:13}  {render.clean(word.statement)}{share}"))
    return lines


@click.command()
@click.argument("session", required=False)
@click.option("--since", metavar="HANDOFF", help="Check only claims made after this handoff.")
@click.option("--transcript", metavar="ID", help="Check all of one transcript instead.")
@click.option(
    "--tests/--no-tests",
    "run_tests",
    default=None,
    help="Run the project's tests (setting verify.test_command), or not.",
)
@click.option("--opinion", metavar="MODEL", default="", help="Also ask a model of the llm library.")
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
    """Check the current agent's claims against files, repository, transcript and (with --tests) a test run, and check
    its actions against what you forbade.

    Exits 12 if something you forbade was done, 11 if a claim is unsupported or the transcript cannot be read, else 0.
    """
    return verification.verify(
        frame.desk, session, since=since, transcript=transcript, run_tests=run_tests, opinion=opinion
    )


def _plain(found: Verification) -> dict[str, object]:
    return {name: getattr(found, name) for name in found.__struct_fields__}


COMMANDS = {"verify": verify}
