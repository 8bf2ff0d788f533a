"""Briefs: from a transcript to what the next agent reads, with its receipt.

transcript -> tracker (warm) -> facts -> secrets out -> pack -> a second look for secrets -> kept
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents, briefs, fence, goals, pack, redact, rewrite, tokens
from segue.agents import llm
from segue.errors import BadInput, NotFound
from segue.facts import speech
from segue.model import Brief, Fact, Receipt, Tier
from segue.ops import found, redaction, sessions, transcripts, warm
from segue.ops.desk import Desk
from segue.ops.found import Work
from segue.ops.warm import Warm
from segue.pack import Packed
from segue.redact import allowing
from segue.rewrite import Asked, Change, Rewriter
from segue.store.papers import Papers
from segue.text import begun

BUDGET = 8000
KEY = b"segue, no secret"
"""For what leaves no trace: where nothing is kept, placeholders need not be told from those of others."""
NARROW = 2000
"""The budget of the tiers that pass little."""
SMALLEST = 200
WINDOW = 200_000
"""How much a target holds that does not tell."""
TEXTS = ("subject", "value", "note", "text")
APART = "\n\x1e\x1e\n"
MOST_BRIEFS = 200
MOST_TRACKERS = 50


class Made(Struct, frozen=True):
    """A brief, and what became of every fact."""

    id: str
    brief: Brief
    receipt: Receipt
    changes: tuple[Change, ...] = ()
    """What became of each text that a model was asked to rewrite."""

    @property
    def text(self) -> str:
        return briefs.render(self.brief)


class Wish(Struct, frozen=True):
    """How a brief is to be made."""

    tier: Tier = Tier.SELECTIVE
    budget: int | None = None
    target: str = ""
    """The agent it is for."""
    rewrite: str = ""
    """The model that makes an agent's prose shorter; none if empty."""
    in_haste: bool = False
    """Whether tokens are counted by the estimate: a vocabulary takes longer to set up than all the rest."""


class Secrets(Struct, frozen=True):
    """What it takes to keep them out: the key of the placeholders, and what is known to be none."""

    key: bytes
    allow: tuple[str, ...] = ()
    known: dict[str, str] = {}
    """Those that were seen where they are recognised, with their kinds."""


Tell = Callable[[str], None]


def _to_nobody(_text: str) -> None:
    pass


def pack_file(
    path: Path | str,
    *,
    budget: int = BUDGET,
    tier: Tier = Tier.SELECTIVE,
    target: str = "",
    rewriter: Rewriter | None = None,
) -> Made:
    """The brief of a file, with nothing kept and no settings read."""
    wish = Wish(tier, budget, target)
    refuse_impossible(wish)
    source = transcripts.recognise(Path(path))
    return make(warm.open_warm(source), wish, Secrets(KEY), rewriter=rewriter)


def packed(
    desk: Desk,
    name: str | None,
    wish: Wish,
    *,
    rewriter: Rewriter | None = None,
    tell: Tell = _to_nobody,
) -> Made:
    """The brief of a transcript: named by its id or file, or this folder's last one. It can be looked at later.
    `tell` hears what goes to a model before it goes."""
    refuse_impossible(wish)
    return of_known(desk, open_known(desk, name), wish, rewriter=rewriter, tell=tell)


def of_known(
    desk: Desk,
    known: Warm,
    wish: Wish,
    *,
    earlier: tuple[Fact, ...] = (),
    rewriter: Rewriter | None = None,
    tell: Tell = _to_nobody,
) -> Made:
    """The brief of a transcript that has been read, and of what was known before it began."""
    said = said_of(desk, known)
    derived = joined(earlier, known.facts())
    if any(fact.kind == "constraint" for fact in said):
        # What the person says binds takes the place of what was found.
        derived = tuple(fact for fact in derived if fact.kind not in ("constraint", "correction"))
    facts = (*said, *derived)
    secrets = Secrets(redaction.key(desk), desk.settings.redact_allow, known.tracker.heat.secrets)
    made = of_facts(facts, _about(known), wish, secrets, rewriter=rewriter, tell=tell)
    _papers(desk).put(made.id, msgspec.json.encode(made))
    return made


PASSING = (
    "reply",
    "talk",
    "next step",
    "question",
    "pending",
    "summary",
    "name",
    "read",
    "content",
    "delegation",
)
"""What holds at a moment only: of these, what was known before says nothing any more."""


def joined(earlier: tuple[Fact, ...], later: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Facts of before with those that came since: the later value of a subject holds."""
    known = {_same(fact) for fact in later}
    kept = (fact for fact in earlier if fact.kind not in PASSING and _same(fact) not in known)
    return (*(msgspec.structs.replace(fact, n=0) for fact in kept), *later)


def _same(fact: Fact) -> tuple[str, str]:
    """What tells whether two facts are about the same: of words, the words."""
    if fact.kind in ("instruction", "constraint", "correction"):
        return "words", " ".join(fact.value.split())
    return fact.kind, fact.subject


def long_enough(budgets: Sequence[int | None], make: Callable[[int | None], Made]) -> Made:
    """The brief within the first of these budgets that holds what must not be lost."""
    for budget in budgets[:-1]:
        with contextlib.suppress(BadInput):
            return make(budget)
    return make(budgets[-1])


def refuse_impossible(wish: Wish) -> None:
    if wish.target:
        agents.get(wish.target)
    if wish.rewrite:
        llm.get(wish.rewrite)
    if wish.budget is not None and wish.budget < SMALLEST:
        raise BadInput(
            what=f"A budget of {wish.budget} tokens holds no brief: the least is {SMALLEST}.",
            next=f"segue pack --budget {BUDGET}",
        )


def make(
    known: Warm, wish: Wish, secrets: Secrets, *, rewriter: Rewriter | None = None, tell: Tell = _to_nobody
) -> Made:
    """The same value for the same transcript, wish and key, and the same words of a model."""
    facts = known.facts()
    secrets = msgspec.structs.replace(secrets, known=known.tracker.heat.secrets)
    return of_facts(facts, _about(known), wish, secrets, rewriter=rewriter, tell=tell)


def of_facts(
    facts: tuple[Fact, ...],
    about: briefs.About,
    wish: Wish,
    secrets: Secrets,
    *,
    rewriter: Rewriter | None = None,
    tell: Tell = _to_nobody,
) -> Made:
    """`rewriter` makes an agent's prose shorter; where it is left out, the model that the wish names does."""
    agent = agents.get(wish.target) if wish.target else None
    facts, about, replaced = _cleaned(_without_bulk(facts, wish.tier), about, secrets)
    budget = wish.budget or _budget(wish.tier, agent.context_window if agent else None)
    counter = (tokens.estimated if wish.in_haste else tokens.counter)(agent.vendor if agent else "")
    counter = tokens.remembering(counter)
    nonce = fence.nonce(secrets.key, "\n".join(fact.entry for fact in facts))

    def within(facts: Sequence[Fact], budget: int) -> Packed:
        return pack.pack(facts, tier=wish.tier, budget=budget, counter=counter, about=about, nonce=nonce)

    def clean(text: str) -> str:
        return redact.redact(text, key=secrets.key, allow=secrets.allow).text

    first = within(facts, budget)
    seen, more = _cleaned_as_seen(facts, briefs.render(first.brief), secrets)
    if asked := _asked(wish, secrets, rewriter, tell):
        result, changes = rewrite.packed(seen, budget, within, counter, asked, clean)
    else:
        result, changes = first if seen is facts else within(seen, budget), ()
    redaction.assure_clean(briefs.render(result.brief), secrets.allow)
    name = hashlib.sha256(msgspec.json.encode(result.brief)).hexdigest()[:12]
    receipt = msgspec.structs.replace(result.receipt, redacted=replaced + more)
    return Made("b-" + name, result.brief, receipt, changes)


def _without_bulk(facts: tuple[Fact, ...], tier: Tier) -> tuple[Fact, ...]:
    """What only the widest tier passes is named in the receipts of the others, no more: it is large."""
    if tier is Tier.FULL:
        return facts
    return tuple(
        msgspec.structs.replace(fact, value="") if fact.kind in pack.ONLY_FULL else fact for fact in facts
    )


def _cleaned_as_seen(facts: tuple[Fact, ...], text: str, secrets: Secrets) -> tuple[tuple[Fact, ...], int]:
    """The same without what looks like a secret only where facts stand beside each other in the whole text, and how
    many of those there were."""
    redacted = redact.redact(text, key=secrets.key, allow=secrets.allow)
    swaps = {text[one.start : one.start + one.length]: one.placeholder for one in redacted.findings}
    for secret, placeholder in swaps.items():
        facts = tuple(
            msgspec.structs.replace(
                fact, **{field: getattr(fact, field).replace(secret, placeholder) for field in TEXTS}
            )
            for fact in facts
        )
    return facts, len(swaps)


def without_secrets(desk: Desk, facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Facts that can be shown: what is large left out, secrets replaced."""
    secrets = Secrets(redaction.key(desk), desk.settings.redact_allow)
    return _cleaned(_without_bulk(facts, Tier.SELECTIVE), briefs.About(), secrets)[0]


def _asked(wish: Wish, secrets: Secrets, rewriter: Rewriter | None, tell: Tell) -> Asked | None:
    if rewriter is not None:
        return Asked(wish.rewrite or getattr(rewriter, "__name__", "a function"), rewriter, tell)
    return Asked(wish.rewrite, llm.rewriter(wish.rewrite, secrets.key), tell) if wish.rewrite else None


def _cleaned(
    facts: tuple[Fact, ...], about: briefs.About, secrets: Secrets
) -> tuple[tuple[Fact, ...], briefs.About, int]:
    """Facts without secrets, and how many there were. All are looked through as one text: a secret that is
    recognised in one place is replaced in all, and the receipt holds none either."""
    pieces = [getattr(fact, field) for fact in facts for field in TEXTS] + [about.title, about.source]
    # What cannot be seen could stand inside a secret and hide it.
    pieces = [fence.neutral(piece, is_human=True) if piece else "" for piece in pieces]
    joined = APART.join(pieces)
    is_allowed = allowing.judge(secrets.allow)
    for secret, kind in secrets.known.items():
        if secret in joined and not is_allowed(secret):
            joined = joined.replace(secret, redact.placeholder_for(secret, kind, secrets.key))
    redacted = redact.redact(joined, key=secrets.key, allow=secrets.allow)
    clean = redacted.text.split(APART)
    if len(clean) != len(pieces):
        # One secret went on from one text into the next: then each is looked at by itself.
        clean = [redact.redact(piece, key=secrets.key, allow=secrets.allow).text for piece in pieces]
    texts = iter(clean)
    found = tuple(msgspec.structs.replace(fact, **{field: next(texts) for field in TEXTS}) for fact in facts)
    about = msgspec.structs.replace(about, title=next(texts), source=next(texts))
    # A name may be a piece of what was taken out.
    secrets_found = [joined[one.start : one.start + one.length] for one in redacted.findings]
    found = tuple(
        fact
        for fact in found
        if fact.kind != "name" or not any(fact.subject in secret for secret in secrets_found)
    )
    return found, about, len({finding.placeholder for finding in redacted.findings})


def _budget(tier: Tier, window: int | None) -> int:
    """What fits a tier and a target: a brief never takes more than half of what the target can hold."""
    half = (window or WINDOW) // 2
    if tier is Tier.FULL:
        return half
    return min(half, BUDGET if tier in (Tier.SELECTIVE, Tier.FILTERED) else NARROW)


def _about(known: Warm) -> briefs.About:
    return briefs.About(
        title=known.learned.get("title", "") or _first_words(known),
        source=f"From {agents.get(known.source.agent).title}.",
        transcript=known.learned.get("id", ""),
    )


def open_known(desk: Desk, name: str | None) -> Warm:
    """What is known of a transcript: named by its id or file, or this folder's last one."""
    if name is None:
        work = sessions.current(desk)
        name = work.main.id if work and work.main else None
        if name is None:
            raise NotFound(
                noun="session of this folder",
                name=str(desk.project),
                next="segue pack ID; segue transcripts lists them",
            )
    return warm.open_warm(transcripts.find(desk, name).source, _trackers(desk))


def _first_words(known: Warm) -> str:
    asked = known.tracker.facts.get("instruction", {}).values()
    return next(
        (begun(" ".join(fact.value.split()), 100) for fact in asked if speech.is_work(fact.value)), ""
    )


def work_of(desk: Desk, known: Warm) -> Work | None:
    """The session that a transcript belongs to, if it is one of those that are known here."""
    id = known.learned.get("id", "")
    return next((work for work in found.works(desk) if any(one.id == id for one in work.transcripts)), None)


def said_of(desk: Desk, known: Warm) -> tuple[Fact, ...]:
    """What the person said of the task that a transcript belongs to."""
    work = work_of(desk, known) if desk.has_store else None
    return goals.facts_said(work.session.task) if work and work.session.task else ()


def facts_of(desk: Desk, work: Work) -> tuple[Fact, ...]:
    """The facts of a session: those of the transcript that was written last, sub-agents' aside."""
    if work.main is None:
        return ()
    return warm.open_warm(transcripts.find(desk, work.main.id).source, _trackers(desk)).facts()


def _papers(desk: Desk) -> Papers:
    return Papers(desk.places.data / "briefs", suffix=".brief", most=MOST_BRIEFS)


def _trackers(desk: Desk) -> Papers:
    return Papers(desk.places.data / "trackers", suffix=".tracker", most=MOST_TRACKERS)


def get(desk: Desk, id: str) -> Made:
    """A brief that was made, by its id or the start of it."""
    names = _papers(desk).names()
    matches = [name for name in names if id and name.startswith(id)]
    exact = [id] if id in matches else matches
    if len(exact) > 1:
        raise BadInput(what=f"More than one brief starts with '{id}'.", next="segue show")
    content = _papers(desk).get(exact[0]) if exact else None
    try:
        if content is not None:
            return msgspec.json.decode(content, type=Made)
    except msgspec.DecodeError:
        pass  # damaged: it counts as missing
    raise NotFound(noun="brief", name=id, next="segue show lists them")


def made(desk: Desk) -> list[str]:
    """The ids of the briefs that were made, the newest first."""
    return _papers(desk).names()
