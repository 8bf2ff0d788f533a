"""Handoff quality: what survives in a brief of a real transcript, judged mechanically (docs/quality.md).

    ./dev bench quality [--budget 2000,3000,8000,32000] [--strategies segue,last] [--sample N] [--agent NAME] [--cases]
    ./dev bench quality --explain CASE [--strategies segue]
    ./dev bench quality --controls [--strategies segue] [--sample N]

Cuts each transcript at 60 % of its calls and where its agent compacted, has every strategy make a brief of what is
before the cut, and judges the brief against what happened before and after. Without --folder it takes the published
transcripts of ../shared/data, if they are there. The judge (bench/_judge) shares no code with Segue.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import msgspec

from bench import _baselines, _controls
from bench import _tree as tree
from bench._judge import cases as judged
from bench._judge.cases import Case, Strategy
from bench._judge.picture import picture
from bench._judge.score import Score
from bench._judge.tokens import NAME as COUNTER
from bench._judge.truth import KINDS

OWN = "own"
"""The agent's own compaction: only where it made one, and it can be read."""


def segue(path: Path, agent: str, budget: int) -> str:
    # lazy: the judge and the baselines run without Segue
    from segue.ops.briefs import make

    return make.pack_file(path, budget=budget).text


STRATEGIES: dict[str, Strategy] = {
    "segue": segue,
    "bm25": _baselines.bm25,
    "mover": _baselines.mover,
    "last": _baselines.last,
    "dump": _baselines.dump,
    "ledger": _baselines.ledger,
}
NAMES = {
    "segue": "Segue",
    OWN: "the agent's own",
    "bm25": "BM25 + MMR",
    "mover": "session mover",
    "last": "last messages",
    "dump": "identifier dump",
    "ledger": "the judge's ledger",
}
AGENTS = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "OpenCode"}
USUAL = ["segue", OWN, "bm25", "mover", "last", "dump"]
SHOWN = ("hq", "br", "fr", "fp", "f1", "ideal", "st")
COLUMNS = {
    "br": "BR", "constraints": "constr", "commands": "status", "human": "human", "files": "files", "todos": "todos",
    "commits": "commit", "fr": "FR", "fp": "FP", "f1": "F1f", "ideal": "oracle", "st": "ST", "code": "code",
}  # fmt: skip


class Job(msgspec.Struct):
    """One case, and what is to be done with it."""

    path: str
    name: str
    agent: str
    calls: int = 0
    strategies: list[str] = []
    budgets: list[int] = []
    controls: list[str] = []
    stranger: str = ""
    """A brief of another project, for the control of that name."""


class Row(msgspec.Struct):
    """One brief, judged."""

    case: str
    agent: str
    strategy: str
    budget: int
    score: Score
    seconds: float
    problem: str = ""


# Cases and briefs


def find(folder: Path, agent: str) -> list[Job]:
    """Every case in a folder with enough calls; of an agent that has none, those with fewer."""
    found = [
        Job(str(path), case.name, case.agent, calls=case.calls)
        for path in sorted(folder.rglob("*.json*"))
        if path.is_file()
        for case in judged.cases(path.relative_to(folder).as_posix(), path.read_bytes())
        if agent in ("", case.agent)
    ]
    long = {job.agent for job in found if job.calls >= judged.FEWEST_CALLS}
    return [job for job in found if job.calls >= judged.FEWEST_CALLS or job.agent not in long]


def case_of(job: Job) -> Case:
    name = job.name.rpartition("@")[0]
    return next(one for one in judged.cases(name, Path(job.path).read_bytes()) if one.name == job.name)


def brief_of(case: Case, strategy: str, budget: int) -> str | None:
    if strategy == OWN:
        return _baselines.own(case.summary, budget) if case.summary else None
    return case.brief(STRATEGIES[strategy], budget)


def run(job: Job) -> list[Row]:
    case = case_of(job)
    return [row for budget in job.budgets for name in job.strategies for row in _rows(case, name, budget)]


def _rows(case: Case, strategy: str, budget: int) -> Iterator[Row]:
    begun = time.perf_counter()
    problem = ""
    try:
        brief = brief_of(case, strategy, budget)
    except Exception as error:  # noqa: BLE001 - whatever comes out is a finding
        brief, problem = "", f"{type(error).__name__}: {error}"
    if brief is not None:
        spent = time.perf_counter() - begun
        yield Row(case.name, case.agent, strategy, budget, case.judge(brief, budget), spent, problem)


# What is shown


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def figures(rows: list[Row]) -> dict[str, float | None]:
    """The means over cases; of a kind of fact, over the cases that have any."""
    found = {name: mean([getattr(row.score, name) for row in rows]) for name in SHOWN}
    for kind in KINDS:
        found[kind] = mean([row.score.kinds[kind] for row in rows if kind in row.score.kinds])
    found["code"] = mean([row.score.code for row in rows if row.score.code is not None])
    found["tokens"] = mean([float(row.score.tokens) for row in rows])
    return found


def show(rows: list[Row], strategies: list[str], budgets: list[int]) -> None:
    for title, some in groups(rows):
        print(f"\n{title}: {len({row.case for row in some})} cases")
        heads = "".join(f"{head:>7}" for head in COLUMNS.values())
        print(f"{'':>8}{'budget':>8}{'cases':>7}{'HQ':>7}{heads}{'tokens':>8}")
        for budget in budgets:
            for strategy in strategies:
                these = [row for row in some if row.strategy == strategy and row.budget == budget]
                if these:
                    print(line_of(strategy, budget, these))


def groups(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    """All cases; those where the agent's own compaction stands beside; each agent's."""
    yield "all", rows
    compacted = {row.case for row in rows if row.strategy == OWN}
    if compacted and len(compacted) < len({row.case for row in rows}):
        yield "where the agent compacted", [row for row in rows if row.case in compacted]
    agents = {row.agent for row in rows}
    for name, title in AGENTS.items() if len(agents) > 1 else ():
        if name in agents:
            yield title, [row for row in rows if row.agent == name]


def line_of(strategy: str, budget: int, rows: list[Row]) -> str:
    found = figures(rows)
    cells = "".join(_cell(found[name]) for name in COLUMNS)
    return (
        f"{strategy:>8}{budget:>8}{len(rows):>7}{found['hq'] or 0:>7.1f}{cells}{found['tokens'] or 0:>8.0f}"
    )


def _cell(value: float | None) -> str:
    return f"{'–':>7}" if value is None else f"{value:>7.3f}".replace(" 0.", "  .")


def show_cases(rows: list[Row]) -> None:
    for row in sorted(rows, key=lambda row: (row.strategy, row.budget, row.score.hq)):
        score = row.score
        kinds = " ".join(f"{name}={value:.2f}" for name, value in score.kinds.items())
        print(
            f"{row.strategy} {row.budget} HQ {score.hq:5.1f} BR {score.br:.2f} FR {score.fr:.2f} FP {score.fp:.2f}"
            f" ST {score.st:.2f} {score.tokens} tokens {row.seconds:.2f} s {row.case} | {kinds}"
        )


def explain(case: Case, strategy: str, budget: int) -> None:
    """Everything that a brief lost, kept too long, or named in vain."""
    brief = brief_of(case, strategy, budget)
    if brief is None:
        return
    score = case.judge(brief, budget)
    print(f"\n== {case.name}, {strategy} at {budget}: HQ {score.hq:.1f}, {score.tokens} tokens\n{brief}\n")
    print(f"BR {score.br:.3f}:", " ".join(f"{name}={value:.2f}" for name, value in score.kinds.items()))
    for fact in score.missed:
        print(f"  missed {fact.kind}: {fact.subject[:300]!r} {fact.value} {fact.more[:100]}".rstrip())
    print(f"ST {score.st:.3f}")
    for one in score.stale:
        print(f"  stale {one}")
    print(
        f"FR {score.fr:.3f} FP {score.fp:.3f} F1f {score.f1:.3f}, oracle {case.ideal(budget):.3f}; "
        f"the rest uses {len(case.rest.used)} references, {len(case.rest.weights)} of them shown before"
    )
    weights = case.rest.weights
    print("  not named:", ", ".join(f"{one} ({weights[one]:.1f})" for one in score.unnamed[:80]))
    print("  named in vain:", ", ".join(score.unused[:200]))
    used = sorted(set(weights) - set(score.unnamed))
    print("  named and used:", ", ".join(used[:200]))


def draw(rows: list[Row], budgets: list[int], note: str) -> str:
    points: dict[str, dict[int, float]] = {}
    names = dict(NAMES)
    whole = len({row.case for row in rows})
    for name in NAMES:
        for budget in budgets:
            these = [row.score.hq for row in rows if row.strategy == name and row.budget == budget]
            if these:
                points.setdefault(name, {})[budget] = sum(these) / len(these)
                names[name] = NAMES[name] if len(these) == whole else f"{NAMES[name]} ({len(these)} cases)"
    return picture(points, names, note)


# Controls


def control(job: Job) -> list[_controls.Outcome]:
    case = case_of(job)
    strategy = STRATEGIES[job.strategies[0]]
    return [
        outcome for name in job.controls for outcome in _controls.CONTROLS[name](case, strategy, job.stranger)
    ]


def check_controls(jobs: list[Job], options: argparse.Namespace, strategy: str) -> int:
    """Every control on a sample of cases; each brief is also shown to the judge of another project's case."""
    chosen = options.controls.split(",") if options.controls else list(_controls.CONTROLS)
    projects = {_controls.project_of(job.name) for job in jobs}
    for job in jobs:
        job.strategies, job.controls = (
            [strategy],
            [name for name in chosen if len(projects) > 1 or name != "stranger"],
        )
        others = [one for one in jobs if _controls.project_of(one.name) != _controls.project_of(job.name)]
        if others and "stranger" in job.controls:
            other = case_of(random.Random(job.name).choice(others))
            job.stranger = other.brief(STRATEGIES[strategy], _controls.BUDGET)
    with ProcessPoolExecutor(options.workers) as pool:
        outcomes = [outcome for some in pool.map(control, jobs) for outcome in some]
    verdicts = _controls.verdicts(outcomes)
    print(f"controls of {strategy} on {len(jobs)} cases, seed {options.seed}, tokens by {COUNTER}")
    for verdict in verdicts:
        print(f"  {'holds' if verdict.holds else 'FAILS'}  {verdict.says}")
    return int(not all(verdict.holds for verdict in verdicts))


# The command


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="of transcripts, your own for instance")
    parser.add_argument("--strategies", default=",".join(USUAL), help=f"of {', '.join(NAMES)}")
    parser.add_argument("--budget", default="3000", help="tokens; several with commas")
    parser.add_argument("--sample", type=int, default=0, help="so many cases only")
    parser.add_argument("--agent", default="", choices=["", *AGENTS], metavar="NAME", help=", ".join(AGENTS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cases", action="store_true", help="every brief on a line of its own")
    parser.add_argument("--explain", metavar="CASE", help="what was missed, stale or named in vain")
    parser.add_argument(
        "--controls",
        nargs="?",
        const="",
        metavar="NAMES",
        help=f"all, or some of {','.join(_controls.CONTROLS)}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="score against budget, as a picture")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    unknown = set(options.strategies.split(",")) - set(NAMES)
    if unknown:
        print(
            f"no such strategy: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}", file=sys.stderr
        )
        return 2
    if options.folder is not None:
        return measure(options.folder, options)
    if not tree.ARCHIVE.exists():
        print("which folder? ./dev bench quality --folder FOLDER", file=sys.stderr)
        return 2
    with tree.scratch("quality") as scratch:
        return measure(tree.unpacked(Path(scratch)), options)


def measure(folder: Path, options: argparse.Namespace) -> int:
    strategies = options.strategies.split(",")
    budgets = [int(one) for one in options.budget.split(",")]
    jobs = find(folder, options.agent)
    if options.explain:
        jobs = [job for job in jobs if options.explain in job.name]
    if not jobs:
        print("no transcript here has enough calls to be cut", file=sys.stderr)
        return 2
    if options.explain:
        for job in jobs:
            case = case_of(job)
            for budget in budgets:
                for strategy in strategies:
                    explain(case, strategy, budget)
        return 0
    if options.sample:
        jobs = random.Random(options.seed).sample(jobs, min(options.sample, len(jobs)))
    if options.controls is not None:
        return check_controls(jobs, options, strategies[0])
    return compare(jobs, options, strategies, budgets)


def compare(jobs: list[Job], options: argparse.Namespace, strategies: list[str], budgets: list[int]) -> int:
    for job in jobs:
        job.strategies, job.budgets = strategies, budgets
    begun = time.perf_counter()
    with ProcessPoolExecutor(options.workers) as pool:
        rows = [row for some in pool.map(run, jobs) for row in some]
    spent = time.perf_counter() - begun
    print(f"{len(jobs)} cases, seed {options.seed}, tokens by {COUNTER}, {spent:.0f} s")
    if options.cases:
        show_cases(rows)
    show(rows, strategies, budgets)
    problems = [row for row in rows if row.problem]
    for row in problems[:10]:
        print(f"PROBLEM: {row.case}: {row.problem}")
    if len(problems) > 10:
        print(f"PROBLEM: and {len(problems) - 10} more")
    if options.json:
        options.json.write_bytes(msgspec.json.encode(rows))
    if options.svg:
        note = f"mean over {len(jobs)} cases of real transcripts, cut at 60 % of their calls and where the agent compacted"
        options.svg.write_text(draw(rows, budgets, note))
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
