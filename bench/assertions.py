"""Assertions: how many planted false ones are caught, and how many true ones are accused (docs/verification.md).

    ./dev bench assertions [--count N] [--seed N] [--show] [--transcripts FOLDER]

Plants assertions of six kinds, false and true, in replies about work in real code trees: packages of this environment
and Segue itself, each as a fresh repository. Every case is a transcript of some work that was really done to the tree,
and a reply about it with one planted assertion among other prose. The bars: of the false ones at least 95 % are
caught, of the true ones at most 2 % are accused, for each kind. --transcripts counts assertions in real replies.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import _assertions_said as said
from segue import assertions
from segue.assertions import Checked, Kind, Verdict
from segue.base import clock
from segue.model import Entry, EntryKind, Origin
from segue.ops.index.tracked_transcript import Meaning
from segue.ops.verify.evidence import RealWorld

ROOT = Path(__file__).parent.parent
PACKAGES = ("click", "rich", "_pytest", "tomlkit", "llm", "attr")
COUNT, SEED = 100, 20_261_116
RECALL_BAR, FALSE_BAR = 0.95, 0.02
LONG_AGO = 1_700_000_000
FILES = (Kind.CREATED, Kind.CHANGED, Kind.PATH)
SYMBOLS = (Kind.ADDED, Kind.SYMBOL)
DEFINED = re.compile(r"^\s*(?:def|class) ([A-Za-z]\w{5,40})", re.MULTILINE)
QUIET = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


# Code trees


@dataclass
class Tree:
    """A repository with real code in it, and what can be said of it."""

    folder: Path
    files: list[str] = field(default_factory=list)
    symbols: dict[str, list[str]] = field(default_factory=dict)

    def git(self, *arguments: str) -> None:
        moment = f"@{LONG_AGO} +0000"
        env = {**os.environ, **QUIET, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments]
        subprocess.run(command, cwd=self.folder, env=env, check=True, capture_output=True)

    def begin(self) -> None:
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Begin")
        for path in self.folder.rglob("*"):
            if ".git" not in path.relative_to(self.folder).parts:
                os.utime(path, (LONG_AGO, LONG_AGO))
        self.git("update-index", "-q", "--refresh")
        for path in sorted(self.folder.rglob("*.py")):
            found = sorted(set(DEFINED.findall(path.read_text(errors="replace"))))
            if found and path.stat().st_size < 200_000:
                name = str(path.relative_to(self.folder))
                self.files.append(name)
                self.symbols[name] = found

    def restore(self, touched: Sequence[str]) -> None:
        for name in touched:
            path = self.folder / name
            if name in self.symbols:
                self.git("checkout", "-q", "--", name)
                os.utime(path, (LONG_AGO, LONG_AGO))
            else:
                path.unlink(missing_ok=True)
        self.git("update-index", "-q", "--refresh")


def trees(scratch: Path) -> list[Tree]:
    site = Path(sysconfig.get_paths()["purelib"])
    made = []
    for name in PACKAGES:
        tree = Tree(scratch / name)
        for path in (site / name).rglob("*.py"):
            target = tree.folder / name / path.relative_to(site / name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
        made.append(tree)
    own = Tree(scratch / "segue")
    for folder in ("src", "tests", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".sql") and path.is_file():
                target = own.folder / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    for tree in [*made, own]:
        tree.begin()
    return [*made, own]


# A transcript of work


class Work:
    """What is done to a tree, as a transcript shows it; the tree really changes."""

    def __init__(self, tree: Tree, rng: random.Random) -> None:
        self.tree, self.rng = tree, rng
        self.entries: list[Entry] = []
        self.touched: list[str] = []

    def put(self, kind: EntryKind, origin: Origin, text: str, **more: object) -> None:
        id = f"e{len(self.entries)}"
        self.entries.append(
            Entry(id=id, kind=kind, origin=origin, text=text, cwd=str(self.tree.folder), **more)  # type: ignore[arg-type]
        )

    def call(self, tool: str, arguments: dict[str, str], output: str, status: int = 0) -> None:
        id = f"c{len(self.entries)}"
        self.put(EntryKind.CALL, Origin.ASSISTANT, json.dumps(arguments), tool=tool, call=id)
        self.put(EntryKind.RESULT, Origin.TOOL, output, call=id, status=status, is_error=bool(status))

    def run(self, command: str, output: str, status: int = 0) -> None:
        self.call("Bash", {"command": command}, output, status)

    def write(self, name: str, text: str) -> None:
        path = self.tree.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.touched.append(name)
        self.call("Write", {"file_path": str(path), "content": text}, "The file was written.")

    def edit(self, name: str, text: str) -> None:
        path = self.tree.folder / name
        before = path.read_text(errors="replace")
        path.write_text(f"{before}\n{text}")
        self.touched.append(name)
        last = before[-40:]
        self.call(
            "Edit",
            {"file_path": str(path), "old_string": last, "new_string": f"{last}\n{text}"},
            "The file has been updated.",
        )

    def invented(self) -> str:
        """A name that is nowhere in the tree."""
        first = self.rng.choice(
            ["reconcile", "quantise", "interleave", "marshal", "defragment", "coalesce", "enumerate_all"]
        )
        second = self.rng.choice(
            ["ledger", "shards", "quorum", "envelopes", "checkpoints", "manifests", "tensors"]
        )
        return f"{first}_{second}_{self.rng.randrange(100, 999)}"

    def some_file(self) -> str:
        return self.rng.choice([name for name in self.tree.files if name not in self.touched])


# The six kinds. Each gives the wordings and what fills them, having done what makes them true


Made = tuple[Sequence[str], Sequence[str], dict[str, object], str]
"""Wordings, those kept out, what fills them, and the subject to look for."""


def tests(work: Work, is_true: bool) -> Made:
    count = work.rng.randrange(12, 900)
    case = "passed" if is_true else work.rng.choice(["none", "failed", "failed", "none"])
    if case == "passed":
        work.run("python -m pytest -q", f"....\n{count} passed in 2.31s")
    elif case == "failed":
        work.run(
            "python -m pytest -q",
            f"FAILED tests/test_x.py::test_y - assert 1\n3 failed, {count} passed in 2.31s",
            1,
        )
    return said.TESTS, said.TESTS_KEPT_OUT, {"n": count}, ""


def no_file(work: Work, is_true: bool) -> Made:
    folder = work.rng.choice([str(Path(name).parent) for name in work.tree.files])
    path = f"{folder}/{work.invented()}.{work.rng.choice(['py', 'py', 'md'])}".removeprefix("./")
    if work.rng.random() < 0.3:
        if is_true:
            path = work.some_file()
        return said.LOCATED, (), {"path": path, "line": work.rng.randrange(1, 20)}, path
    if is_true:
        work.write(path, "VALUE = 1\n")
    return said.CREATED, said.CREATED_KEPT_OUT, {"path": path}, path


def symbol(work: Work, is_true: bool) -> Made:
    name, file = work.invented(), work.some_file()
    if work.rng.random() < 0.25:
        if is_true:
            name = work.rng.choice(work.tree.symbols[file])
        return said.KNOWN, (), {"symbol": name, "file": file}, name
    work.edit(file, f"def {name}():\n    pass\n" if is_true else "# a remark\n")
    return said.ADDED, said.ADDED_KEPT_OUT, {"symbol": name, "file": file}, name


def unchanged(work: Work, is_true: bool) -> Made:
    file = work.some_file()
    if is_true:
        work.edit(file, "# a remark\n")
    return said.CHANGED, said.CHANGED_KEPT_OUT, {"file": file, "line": work.rng.randrange(1, 90)}, file


COMMANDS = (
    "npm run build", "ruff check .", "mypy --strict src", "cargo build --release", "make all", "python -m build", "tsc --noEmit",
    "python scripts/report.py --all", "go vet ./...", "uv build", "npx eslint src", "git push origin main",
)  # fmt: skip


def command(work: Work, is_true: bool) -> Made:
    chosen = work.rng.choice(COMMANDS)
    if is_true:
        work.run(
            work.rng.choice([chosen, f"cd {work.tree.folder} && {chosen} 2>&1 | tail -5", f"{chosen}"]),
            "done",
        )
    elif work.rng.random() < 0.5:
        work.run(chosen, "error: it does not work", 2)
    return said.COMMAND, said.COMMAND_KEPT_OUT, {"command": chosen}, chosen


def output(work: Work, is_true: bool) -> Made:
    chosen = work.rng.choice(["python report.py", "./dev stats", "node index.js --summary"])
    count, word = work.rng.randrange(100, 9999), work.rng.choice(["records", "rows", "events"])
    told = f"Processed {count} {word} in {work.rng.randrange(1, 60)}s"
    shown = told if is_true else f"Processed {count + 7} {word}, 3 skipped"
    work.run(chosen, f"starting\n{shown}\nbye")
    return said.OUTPUT, said.OUTPUT_KEPT_OUT, {"output": told, "command": chosen}, told


KINDS: dict[str, tuple[Callable[[Work, bool], Made], tuple[Kind, ...]]] = {
    "all tests pass": (tests, (Kind.TESTS,)),
    "no such file": (no_file, FILES),
    "invented symbol": (symbol, SYMBOLS),
    "file not changed": (unchanged, FILES),
    "command not run": (command, (Kind.COMMAND, Kind.TESTS, Kind.CHECK)),
    "invented output": (output, (Kind.OUTPUT,)),
}


# One case


@dataclass
class Score:
    """Of one kind: false and true assertions, how many of each were called unsupported, and what was said else."""

    false: int = 0
    caught: int = 0
    true: int = 0
    accused: int = 0
    kept_out: list[bool] = field(default_factory=list)
    """Of the false ones in wordings that were kept out, whether each was caught."""
    found: int = 0
    """Of the true ones, how many were found to hold."""
    problems: list[str] = field(default_factory=list)


def play(tree: Tree, name: str, is_true: bool, rng: random.Random, score: Score) -> None:
    make, kinds = KINDS[name]
    work = Work(tree, rng)
    since = clock.later(clock.now(), -5)
    work.put(EntryKind.PROMPT, Origin.HUMAN, "Please go on with the work.")
    other = work.some_file()
    work.edit(other, "# by the way\n")
    own, kept_out, filled, subject = make(work, is_true)
    wording = rng.choice([*own, *kept_out])
    planted = wording.format(**filled)
    # What opens a list of what is to come stands last, as it does in real replies.
    around = sorted(rng.sample(said.AROUND, 5), key=lambda text: text.startswith(("**", "- [")))
    parts = [*around[:2], f"I also updated `{other}`.", planted, *around[2:]]
    work.put(EntryKind.REPLY, Origin.ASSISTANT, "\n\n".join(parts))
    record = assertions.record_of(work.entries, Meaning("claude"))
    world = RealWorld(tree.folder, record, since, None, {**os.environ, **QUIET})
    checked = assertions.judge(assertions.in_entries(work.entries), world)
    tree.restore(work.touched)
    _count(score, checked, kinds, subject, is_true=is_true, is_kept_out=wording in kept_out, planted=planted)


def _count(
    score: Score,
    checked: Sequence[Checked],
    kinds: tuple[Kind, ...],
    subject: str,
    *,
    is_true: bool,
    is_kept_out: bool,
    planted: str,
) -> None:
    wrong = [one for one in checked if one.verdict is Verdict.UNSUPPORTED]
    own = [
        one
        for one in wrong
        if one.assertion.kind in kinds and one.assertion.subject in (subject, subject + "\n")
    ]
    others = [
        one for one in wrong if one not in own and not (not is_true and one.assertion.sentence in planted)
    ]
    if is_true:
        score.true += 1
        score.accused += bool(wrong)
        score.found += any(
            one.verdict is Verdict.SUPPORTED and one.assertion.kind in kinds for one in checked
        )
    else:
        score.false += 1
        score.caught += bool(own)
        if is_kept_out:
            score.kept_out.append(bool(own))
        score.accused += bool(others) and not own
    if (is_true and wrong) or (not is_true and (not own or others)):
        what = "accused" if is_true else "missed" if not own else "beside"
        told = "; ".join(
            f"{one.assertion.kind} {one.assertion.subject!r}: {one.evidence}"
            for one in (wrong if is_true else others)
        )
        score.problems.append(f"{what}: {planted!r} {told}")


def show(scores: dict[str, Score], has_problems: bool) -> list[str]:
    print(
        f"{'':18}{'false':>7}{'caught':>8}{'recall':>8}{'kept out':>10}{'true':>7}{'accused':>9}{'share':>8}{'held':>7}"
    )
    problems = []
    for name, one in scores.items():
        recall, share = one.caught / max(1, one.false), one.accused / max(1, one.true)
        kept = f"{sum(one.kept_out)}/{len(one.kept_out)}"
        print(
            f"{name:18}{one.false:>7}{one.caught:>8}{recall:>8.3f}{kept:>10}{one.true:>7}{one.accused:>9}{share:>8.3f}{one.found:>7}"
        )
        if recall < RECALL_BAR:
            problems.append(f"{name}: recall {recall:.3f}, the bar is {RECALL_BAR}")
        if share > FALSE_BAR:
            problems.append(f"{name}: {share:.3f} of the true ones accused, the bar is {FALSE_BAR}")
        for problem, count in Counter(one.problems).most_common() if has_problems else ():
            print(f"    {count} × {problem}")
    return problems


def survey(folder: Path) -> None:
    """How many assertions real replies hold. What they are about is not here to be looked at."""
    from segue import agents  # only this part reads transcripts
    from segue.errors import SegueError
    from segue.ops.work import transcripts

    kinds: Counter[str] = Counter()
    replies = files = 0
    started = time.process_time()
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        try:
            source = transcripts.recognise(path)
            entries = [one for one in agents.reader(source.agent).read(source) if one.kind is EntryKind.REPLY]
        except SegueError:
            continue
        files += 1
        replies += len(entries)
        for entry in entries:
            kinds.update(one.kind.value for one in assertions.in_reply(entry.text))
    spent = time.process_time() - started
    print(f"\n{files} transcripts, {replies} replies, {sum(kinds.values())} assertions, {spent:.1f} s")
    print(", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=COUNT, help="of each kind, false and true alike")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--show", action="store_true", help="list what was missed and what was accused")
    parser.add_argument("--transcripts", type=Path, help="real transcripts, in folders")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    scores = {name: Score() for name in KINDS}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="segue-bench-assertions-") as scratch:
        known = trees(Path(scratch))
        files = sum(len(tree.files) for tree in known)
        print(f"{len(known)} repositories, {files} files of code; seed {options.seed}\n")
        for name, score in scores.items():
            for number in range(options.count):
                for is_true in (False, True):
                    play(known[number % len(known)], name, is_true, rng, score)
    problems = show(scores, options.show)
    print(f"\n{time.monotonic() - started:.0f} s")
    if options.transcripts:
        survey(options.transcripts)
    for problem in problems:
        print("PROBLEM:", problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
