"""What must hold of the metric and of a strategy before any figure counts (docs/quality.md lists them in words)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from bench import _baselines
from bench._judge import formats
from bench._judge.cases import Case, Strategy
from bench._judge.found import share
from bench._judge.prose import Prose
from bench._judge.records import CALL, RESULT, Transcript
from bench._judge.rename import renamed

BUDGET, LARGE, HUGE = 3000, 8000, 32_000
NOISE = 1000
DEPTHS = (0.05, 0.25, 0.5, 0.75, 0.95)
FEATURES = ("cobalt", "saffron", "juniper", "heron", "quartz")
CANARIES = (
    "The {0} rollout is signed off by Dr Okonkwo and nobody else.",
    "Not the {0} cache, use the {0} ledger for the lookups.",
    "Never touch the {0} migration while you work on this.",
)
CHATTER = (
    "Let me think about the {0} side of this before going on.",
    "Reading {0}_notes_{1}.md to see whether it matters here.",
    "The {0} part looks as expected, so I will carry on.",
    "I wonder whether {0}Handler{1} was meant for something else; it is not needed now.",
)


class Outcome(Struct):
    """What one control found in one case."""

    control: str
    figure: float
    before: float = 0.0
    """The figure without what the control did, where there is one."""


class Verdict(Struct):
    control: str
    says: str
    holds: bool


def ledger_is_whole(case: Case, _: Strategy, __: str) -> Iterable[Outcome]:
    """The judge finds every fact that is stated plainly."""
    brief = case.brief(_baselines.ledger, HUGE)
    yield Outcome("ledger", case.judge(brief, HUGE).br)


def stranger(case: Case, _: Strategy, other: str) -> Iterable[Outcome]:
    """A brief of another project's session says nothing of this one."""
    yield Outcome("stranger", case.judge(other, BUDGET).hq)


def dump_loses(case: Case, _: Strategy, __: str) -> Iterable[Outcome]:
    for name in ("dump", "last", "mover", "bm25"):
        strategy: Strategy = getattr(_baselines, name)
        yield Outcome(f"dump: {name}", case.judge(case.brief(strategy, BUDGET), BUDGET).hq)


def shuffled(case: Case, strategy: Strategy, _: str) -> Iterable[Outcome]:
    """Lines out of order lose what they stood under."""
    brief = case.brief(strategy, BUDGET)
    lines = brief.split("\n")
    random.Random(case.name).shuffle(lines)
    yield Outcome("shuffled", case.judge("\n".join(lines), BUDGET).br, case.judge(brief, BUDGET).br)


def other_names(case: Case, strategy: Strategy, _: str) -> Iterable[Outcome]:
    """Names mean nothing by themselves."""
    again = Case(case.name, renamed(case.whole, seed=1), case.end)
    before = case.judge(case.brief(strategy, BUDGET), BUDGET).hq
    yield Outcome("renamed", again.judge(again.brief(strategy, BUDGET), BUDGET).hq, before)


def noisy(case: Case, strategy: Strategy, _: str) -> Iterable[Outcome]:
    chance = random.Random(case.name)
    texts = [
        chance.choice(CHATTER).format(chance.choice(FEATURES), chance.randrange(999)) for _ in range(NOISE)
    ]
    places = sorted(chance.choices(clean_places(case.prefix), k=NOISE), reverse=True)
    said = formats.FORMATS[case.agent].said_by_agent
    brief = with_units(case, said, list(zip(places, texts, strict=True))).brief(strategy, BUDGET)
    before = case.judge(case.brief(strategy, BUDGET), BUDGET).br
    yield Outcome("noise", case.judge(brief, BUDGET).br, before)


def canaries(case: Case, strategy: Strategy, _: str) -> Iterable[Outcome]:
    """What a person said once, early or late, is still there."""
    free = clean_places(case.prefix)
    planted = []
    for depth, feature in zip(DEPTHS, FEATURES, strict=True):
        place = free[int(depth * (len(free) - 1))]
        planted += [(place, canary.format(feature)) for canary in CANARIES]
    said = formats.FORMATS[case.agent].said_by_human
    brief = with_units(case, said, planted[::-1]).brief(strategy, LARGE)
    prose = Prose(brief)
    for _place, text in planted:
        yield Outcome("canaries", float(share(prose, text, 4, 40) >= 0.75))


CONTROLS: dict[str, Callable[[Case, Strategy, str], Iterable[Outcome]]] = {
    "ledger": ledger_is_whole,
    "stranger": stranger,
    "dump": dump_loses,
    "shuffled": shuffled,
    "renamed": other_names,
    "noise": noisy,
    "canaries": canaries,
}


def clean_places(transcript: Transcript) -> list[int]:
    """The units before which something can be said: no call waits for its result there."""
    waiting: set[str] = set()
    records = formats.records(transcript)
    answered = {record.call for record in records if record.kind == RESULT}
    places = []
    for record in records:
        if not waiting and record.unit:
            places.append(record.unit)
        if record.kind == CALL:
            waiting |= {record.call} & answered
        elif record.kind == RESULT:
            waiting.discard(record.call)
    return sorted(set(places)) or [len(transcript.units)]


def with_units(
    case: Case, say: Callable[..., list[dict[str, object]]], planted: list[tuple[int, str]]
) -> Case:
    """The same case with more said in its prefix; the last place first, so that the others stay where they are."""
    units = case.prefix.units
    for place, text in planted:
        units = say(units, place, text)
    changed = Transcript(
        agent=case.agent, units=units, around=case.prefix.around, messages=case.prefix.messages
    )
    return Case(case.name, changed, len(units))


def project_of(case_name: str) -> str:
    return str(Path(case_name).parent)


def verdicts(outcomes: list[Outcome]) -> list[Verdict]:
    """Each control in a sentence, and whether it holds."""
    by_name: dict[str, list[Outcome]] = {}
    for one in outcomes:
        by_name.setdefault(one.control, []).append(one)
    found = []
    for name, judge in VERDICTS.items():
        if name in by_name:
            says, holds = judge(by_name[name])
            found.append(Verdict(name, says, holds))
    honest = {name: _mean(some) for name, some in by_name.items() if name.startswith("dump: ")}
    if honest:
        dump = honest.pop("dump: dump")
        lowest = min(honest.values())
        found.append(
            Verdict("dump", f"identifier dump {dump:.1f}, lowest honest baseline {lowest:.1f}", dump < lowest)
        )
    return found


def _mean(some: list[Outcome]) -> float:
    return sum(one.figure for one in some) / len(some)


def _change(some: list[Outcome]) -> float:
    return sum(one.figure - one.before for one in some) / len(some)


def _ledger(some: list[Outcome]) -> tuple[str, bool]:
    return f"facts stated plainly are found: BR {_mean(some):.3f} (bar .98)", _mean(some) >= 0.98


def _stranger(some: list[Outcome]) -> tuple[str, bool]:
    worst = max(one.figure for one in some)
    return f"another project's brief: HQ {_mean(some):.1f}, at most {worst:.1f} (bar 6)", _mean(some) <= 6


def _shuffled(some: list[Outcome]) -> tuple[str, bool]:
    return f"shuffled lines: BR {_change(some):+.3f} (bar < 0)", _change(some) < 0


def _renamed(some: list[Outcome]) -> tuple[str, bool]:
    worst = max(abs(one.figure - one.before) for one in some)
    return f"all names renamed: HQ {_change(some):+.2f}, in one case {worst:.1f} (bar ±1)", abs(
        _change(some)
    ) <= 1


def _noise(some: list[Outcome]) -> tuple[str, bool]:
    return f"{NOISE} noise messages: BR {100 * _change(some):+.1f} points (bar −2)", _change(some) >= -0.02


def _canaries(some: list[Outcome]) -> tuple[str, bool]:
    lost = sum(not one.figure for one in some)
    return f"canaries at {LARGE} tokens: {len(some) - lost} of {len(some)} survive (bar all)", not lost


VERDICTS: dict[str, Callable[[list[Outcome]], tuple[str, bool]]] = {
    "ledger": _ledger,
    "stranger": _stranger,
    "shuffled": _shuffled,
    "renamed": _renamed,
    "noise": _noise,
    "canaries": _canaries,
}
