"""Other ways to make a brief, to measure Segue against. None of them uses anything of Segue.

Each is a function (file, agent, budget) -> text, as a strategy is.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path

from bench._judge import formats, words
from bench._judge.acts import acts
from bench._judge.oracle import said
from bench._judge.records import CALL, HUMAN, REPLY, RESULT, Record
from bench._judge.tokens import count, fit
from bench._judge.truth import Fact, truth

SHOWN_OF_A_RESULT = 600
BLOCK = 600
SUMMARY = re.compile(r"^\s*(?:<summary>|Summary:|## Summary)\s*$", re.MULTILINE | re.IGNORECASE)


def _records(path: Path) -> list[Record]:
    transcript = formats.load(path.read_bytes())
    return formats.records(transcript) if transcript else []


def own(summary: str, budget: int) -> str:
    """The agent's own compaction; its preliminary analysis is left out where it would not fit otherwise."""
    if count(summary) > budget and (found := SUMMARY.search(summary)):
        summary = summary[found.end() :].strip()
    return fit(summary, budget)


def last(path: Path, agent: str, budget: int) -> str:
    """As many of the last messages, calls and results as fit."""
    shown: list[str] = []
    left = budget
    for record in reversed(_records(path)):
        text = _shown(record)
        cost = count(text) + 1
        if cost > left:
            break
        shown.append(text)
        left -= cost
    return fit("\n".join(reversed(shown)), budget)


def _shown(record: Record) -> str:
    if record.kind == CALL:
        return f"[call] {record.tool} {json.dumps(record.arguments, ensure_ascii=False)[:SHOWN_OF_A_RESULT]}"
    if record.kind == RESULT:
        state = "" if record.is_failed is None else (" failed" if record.is_failed else " ok")
        return f"[result{state}] {record.text[:SHOWN_OF_A_RESULT]}"
    return f"[{record.kind}] {record.text[: 4 * SHOWN_OF_A_RESULT]}"


def mover(path: Path, agent: str, budget: int) -> str:
    """What session movers write: the files touched, the last commands, the last ten messages; more where more fits."""
    records = _records(path)
    files: dict[str, str] = {}
    ran: dict[str, str] = {}
    results = {record.call: record for record in records if record.kind == RESULT}
    for record in records:
        for act in acts(record) if record.kind == CALL else ():
            if act.deed == "run":
                result = results.get(record.call)
                ran.pop(act.subject, None)
                ran[act.subject] = "" if result is None else f"exit {result.exit}"
            else:
                files[act.subject] = act.deed
    some = max(3, budget // 300)
    lines = [
        "# Session handoff",
        "",
        "## Files modified",
        *(f"- {path}" for path in list(files)[-2 * some :]),
    ]
    lines += ["", "## Recent commands"]
    lines += [f"- `{command[:120]}` ({status})" for command, status in list(ran.items())[-some:]]
    lines += ["", "## Recent conversation", ""]
    talk = [record for record in records if record.kind in (HUMAN, REPLY)][-some:]
    for record in talk:
        lines.append(f"### {'User' if record.kind == HUMAN else 'Assistant'}\n\n{record.text[:500]}\n")
    return fit("\n".join(lines), budget)


def blocks(records: list[Record]) -> list[str]:
    """Pieces of records, cut at line ends."""
    made: dict[str, None] = {}
    for record in records:
        piece = ""
        for line in said(record)[:40_000].split("\n"):
            if piece and len(piece) + len(line) > BLOCK:
                made[piece] = None
                piece = ""
            piece += line[: 2 * BLOCK] + "\n"
        if piece.strip():
            made[piece] = None
    return list(made)


def bm25(path: Path, agent: str, budget: int) -> str:
    """The blocks that are nearest to the last request and the last words, and not too like each other."""
    records = _records(path)
    spoken = [record.text for record in records if record.kind in (HUMAN, REPLY)]
    asked = [record.text for record in records if record.kind == HUMAN]
    query = Counter(words.words(" ".join([*asked[-3:], *spoken[-3:]])[:6000]))
    pieces = blocks(records)
    bags = [Counter(words.words(piece)) for piece in pieces]
    average = sum(bag.total() for bag in bags) / max(1, len(bags))
    frequency: Counter[str] = Counter()
    for bag in bags:
        frequency.update(set(bag) & set(query))
    rarity = {word: math.log(1 + len(bags) / (1 + frequency[word])) for word in query}
    scores = [_bm25(bag, rarity, average) for bag in bags]
    chosen = _diverse(scores, bags, pieces, budget)
    return fit("\n---\n".join(pieces[number] for number in sorted(chosen)), budget)


def _bm25(bag: Counter[str], rarity: dict[str, float], average: float) -> float:
    length = 0.25 + 0.75 * bag.total() / average
    return sum(weight * bag[word] * 2.2 / (bag[word] + 1.2 * length) for word, weight in rarity.items())


def _diverse(scores: list[float], bags: list[Counter[str]], pieces: list[str], budget: int) -> list[int]:
    """Maximal marginal relevance over the best 300."""
    best = sorted(range(len(scores)), key=lambda number: -scores[number])[:300]
    top = scores[best[0]] if best else 1.0
    sets = {number: set(bags[number]) for number in best}
    nearest = dict.fromkeys(best, 0.0)
    chosen: list[int] = []
    left = budget
    while best:
        number = max(best, key=lambda one: 0.7 * scores[one] / (top or 1) - 0.3 * nearest[one])
        best.remove(number)
        cost = count(pieces[number]) + 3
        if cost > left:
            if left < 60:
                break
            continue
        left -= cost
        chosen.append(number)
        for one in best:
            union = len(sets[one] | sets[number]) or 1
            nearest[one] = max(nearest[one], len(sets[one] & sets[number]) / union)
    return chosen


def dump(path: Path, agent: str, budget: int) -> str:
    """The adversary: every identifier of the last records, and nothing said about any."""
    seen: dict[str, None] = {}
    for record in reversed(_records(path)):
        text = " ".join(words.strings(record.arguments)) if record.kind == CALL else record.text
        for one in words.references(text[:20_000]):
            seen.setdefault(one, None)
        if len(seen) > budget:
            break
    return fit(" ".join(seen), budget)


HEADINGS = {
    "constraints": "Constraints, in the person's words",
    "question": "Waiting for an answer",
    "todos": "Open tasks",
    "tests": "Failing tests",
    "errors": "Open errors",
    "files": "Files",
    "commands": "Commands and their last status",
    "branch": "Branch",
    "commits": "Commits",
    "ids": "Links and ids",
    "decisions": "Decisions (approved plans, answers)",
    "human": "What the person said",
}


def ledger(path: Path, agent: str, budget: int) -> str:
    """The judge's own facts, printed: what recall alone can reach. It is no way to make briefs, it borrows the answers."""
    facts = truth(_records(path)).facts
    lines: list[str] = []
    for kind, heading in HEADINGS.items():
        some = [fact for fact in reversed(facts) if fact.kind == kind]
        lines += [f"## {heading}"] * bool(some) + [_stated(fact) for fact in some]
    kept: list[str] = []
    left = budget
    for line in lines:
        left -= count(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _stated(fact: Fact) -> str:
    text = " ".join(fact.subject.split()[:100])
    if fact.kind == "decisions" and fact.more:
        return f"- {fact.more} → {text}"
    value = {"either": "ok", "created or edited": "edited"}.get(fact.value, fact.value)
    return f"- {text[:800]}" + (f" ({value})" if value else "") + (f" {fact.more}" if fact.more else "")
