"""Making of briefs: from a transcript to the text that the next agent reads, with its receipt.

transcript -> tracker (cached) -> facts -> redaction -> selection -> second scan for secrets -> cached brief
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from segue import agents, redact
from segue.agents.llm import library
from segue.base import fence
from segue.base.text import begun
from segue.briefs import goals, render, rewrite, select, tokens
from segue.briefs.rewrite import Asked, Change, Rewriter
from segue.briefs.select import Packed
from segue.errors import BadInput, NotFound, StoreError
from segue.facts import constraints
from segue.model import Agent, Brief, Fact, Receipt, Tier
from segue.model.task import TaskEdit
from segue.ops.common import redaction
from segue.ops.common.desk import Desk
from segue.ops.index import tracked_transcript
from segue.ops.index.tracked_transcript import Warm
from segue.ops.work import discovery, sessions, transcripts
from segue.ops.work.discovery import Work
from segue.redact import Redacted, value_shape
from segue.store.cache_files import Papers

BUDGET = 8000
KEY = b"segue, no secret"
"""The redaction key of `pack_file`, which stores nothing: its placeholders need not differ between machines."""
NARROW = 2000
"""The budget of the narrow tiers."""
SMALLEST, LARGEST = 200, 100_000_000
WINDOW = 200_000
"""The assumed context window of a target that does not report one."""
TEXTS = ("subject", "value", "note", "text")
APART = "\n\x1e\x1e\n"
MOST_BRIEFS = 200
MOST_TRACKERS = 50


class Made(Struct, frozen=True):
    """A brief with its receipt."""

    id: str
    brief: Brief
    receipt: Receipt
    changes: tuple[Change, ...] = ()
    """The result for each text that a model rewrote."""
    placeholders: tuple[str, ...] = ()
    """The placeholder of each secret that was replaced."""

    @property
    def text(self) -> str:
        return render.render(self.brief)


class Wish(Struct, frozen=True):
    """Options of a brief."""

    tier: Tier = Tier.SELECTIVE
    budget: int | None = None
    target: str = ""
    """The agent that reads it."""
    rewrite: str = ""
    """The model that shortens agents' prose; none if empty."""
    in_haste: bool = False
    """Whether tokens are only estimated: loading a vocabulary takes longer than everything else."""


class Secrets(Struct, frozen=True):
    """Options of redaction: the key of the placeholders, and texts that are not secrets."""

    key: bytes
    allow: tuple[str, ...] = ()


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
    """The brief of a file, without reading settings or storing anything."""
    wish = Wish(tier, budget, target)
    refuse_impossible(wish)
    source = transcripts.recognise(Path(path))
    return make(tracked_transcript.open_warm(source), wish, Secrets(KEY), rewriter=rewriter)


def packed(
    desk: Desk,
    name: str | None,
    wish: Wish,
    *,
    rewriter: Rewriter | None = None,
    tell: Tell = _to_nobody,
) -> Made:
    """The brief of a transcript, given by id or file, or of this folder's last one. It is cached for `segue show`.
    `tell` receives warnings, and what goes to a rewriting model before it goes."""
    refuse_impossible(wish)
    known = open_known(desk, name)
    if known.broken:
        tell(f"{known.broken} unreadable lines of the transcript are skipped.")
    if known.doubt:
        tell(
            f"Its prompts are passed on as data, not as your words: {known.doubt}. "
            "Run segue transcripts to list and confirm such files."
        )
    return of_known(desk, known, wish, rewriter=rewriter, tell=tell)


def of_known(
    desk: Desk,
    known: Warm,
    wish: Wish,
    *,
    earlier: tuple[Fact, ...] = (),
    rewriter: Rewriter | None = None,
    tell: Tell = _to_nobody,
) -> Made:
    """The brief of an open transcript, combined with earlier facts."""
    said = said_of(desk, known)
    replaced = goals.replaced(said)
    derived = tuple(fact for fact in joined(earlier, known.facts()) if fact.kind not in replaced)
    facts = (*goals.facts_said(said), *derived)
    secrets = Secrets(redaction.key(desk), desk.settings.redact_allow)
    seen = known.tracker.heat.secrets
    made = of_facts(facts, _about(known), wish, secrets, seen, rewriter=rewriter, tell=tell)
    with contextlib.suppress(StoreError):  # without room it is not cached
        _papers(desk).put(made.id, msgspec.json.encode(made))
    return made


FLEETING = (
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
    "findings",
    "stay",
)
"""Kinds of facts that are only true for a moment: earlier ones are dropped."""


def joined(earlier: tuple[Fact, ...], later: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Merge earlier and later facts: the later value of a subject wins. The user's edits of the task are left out of
    the earlier ones: the current edits are added separately."""
    said = [_plain(fact) for fact in earlier if select.is_said(fact)]
    earlier = tuple(fact for fact in earlier if not select.is_said(fact))
    # The brief passed these words to the agent, too: keep them only if the user typed them again.
    typed = {fact.entry for fact in later if fact.kind == "instruction" and fact.subject == fact.entry}
    later = tuple(
        fact
        for fact in later
        if fact.kind not in select.WORDS
        or fact.entry in typed
        or not any(_plain(fact) in one for one in said)
    )
    known = {_same(fact) for fact in later}
    if ("plan", "") in known:
        # A plan that the user approved replaces all earlier plans and rules.
        earlier = tuple(fact for fact in earlier if fact.kind not in ("plan", "rule"))
    kept = (fact for fact in earlier if fact.kind not in FLEETING and _same(fact) not in known)
    return (*(msgspec.structs.replace(fact, n=0) for fact in kept), *later)


def _same(fact: Fact) -> tuple[str, str]:
    """The key under which two facts have the same subject. For quoted words it is the words."""
    return ("words", _plain(fact)) if fact.kind in select.WORDS else (fact.kind, fact.subject)


def _plain(fact: Fact) -> str:
    return " ".join(fact.value.split())


def long_enough(budgets: Sequence[int | None], make: Callable[[int | None], Made]) -> Made:
    """The brief within the first budget that is large enough for what must not be dropped."""
    for budget in budgets[:-1]:
        with contextlib.suppress(BadInput):
            return make(budget)
    return make(budgets[-1])


def refuse_impossible(wish: Wish) -> None:
    if wish.target:
        _agent(wish.target)
    if wish.rewrite:
        library.get(wish.rewrite)
    if wish.budget is not None and wish.budget < SMALLEST:
        raise BadInput(
            what=f"A budget of {wish.budget} tokens is too small: the minimum is {SMALLEST}.",
            next=f"segue pack --budget {BUDGET}",
        )
    if wish.budget is not None and wish.budget > LARGEST:
        raise BadInput(
            what=f"The budget is too large: the maximum is {LARGEST:,} tokens.",
            next=f"segue pack --budget {BUDGET}",
        )


def make(
    known: Warm, wish: Wish, secrets: Secrets, *, rewriter: Rewriter | None = None, tell: Tell = _to_nobody
) -> Made:
    """Make a brief. Deterministic for the same transcript, options, key and rewriter output."""
    facts = known.facts()
    seen = known.tracker.heat.secrets
    return of_facts(facts, _about(known), wish, secrets, seen, rewriter=rewriter, tell=tell)


def _agent(address: str) -> Agent:
    """The agent of an address, which may include a model."""
    return agents.get(address.partition(":")[0])


def of_facts(
    facts: tuple[Fact, ...],
    about: render.About,
    wish: Wish,
    secrets: Secrets,
    known: Mapping[str, str],
    *,
    rewriter: Rewriter | None = None,
    tell: Tell = _to_nobody,
) -> Made:
    """Make a brief of facts. `known` are secrets that were recognised by their context, with their kinds: they may
    occur elsewhere without it. `rewriter` shortens agents' prose; by default the model of `wish.rewrite` does."""
    agent = _agent(wish.target) if wish.target else None
    facts, about, replaced = _cleaned(_without_bulk(facts, wish.tier), about, secrets, known)
    budget = wish.budget or _budget(wish.tier, agent.context_window if agent else None)
    counter = (tokens.estimated if wish.in_haste else tokens.counter)(agent.vendor if agent else "")
    counter = tokens.remembering(counter)
    nonce = fence.nonce(secrets.key, "\n".join(fact.entry for fact in facts))

    def within(facts: Sequence[Fact], budget: int) -> Packed:
        return select.pack(facts, tier=wish.tier, budget=budget, counter=counter, about=about, nonce=nonce)

    def clean(text: str) -> str:
        return redact.redact(text, key=secrets.key, allow=secrets.allow).text

    first = within(facts, budget)
    # The nonce may follow a name like a secret's value, but is none.
    within_fences = msgspec.structs.replace(secrets, allow=(*secrets.allow, nonce))
    seen, more = _cleaned_as_seen(facts, render.render(first.brief), within_fences)
    if asked := _asked(wish, secrets, rewriter, tell):
        result, changes = rewrite.packed(seen, budget, within, counter, asked, clean)
    else:
        result, changes = first if seen is facts else within(seen, budget), ()
    redaction.assure_clean(render.render(result.brief), secrets.allow, nonce)
    name = hashlib.sha256(msgspec.json.encode(result.brief)).hexdigest()[:12]
    placeholders = sorted(replaced | more)
    receipt = msgspec.structs.replace(result.receipt, redacted=len(placeholders))
    return Made("b-" + name, result.brief, receipt, changes, tuple(placeholders))


def _without_bulk(facts: tuple[Fact, ...], tier: Tier) -> tuple[Fact, ...]:
    """Drop the values of facts that only the full tier passes: they are large, and receipts only name them."""
    if tier is Tier.FULL:
        return facts
    return tuple(
        msgspec.structs.replace(fact, value="") if fact.kind in select.ONLY_FULL else fact for fact in facts
    )


def _cleaned_as_seen(
    facts: tuple[Fact, ...], text: str, secrets: Secrets
) -> tuple[tuple[Fact, ...], set[str]]:
    """Facts without secrets that are only recognised in the rendered text, where facts are adjacent; and the
    placeholders used."""
    redacted = redact.redact(text, key=secrets.key, allow=secrets.allow)
    swaps = {text[one.start : one.start + one.length]: one.placeholder for one in redacted.findings}
    for secret, placeholder in swaps.items():
        facts = tuple(
            msgspec.structs.replace(
                fact, **{field: getattr(fact, field).replace(secret, placeholder) for field in TEXTS}
            )
            for fact in facts
        )
    return facts, {*swaps.values()}


def without_secrets(desk: Desk, facts: tuple[Fact, ...], known: Mapping[str, str]) -> tuple[Fact, ...]:
    """Facts for display: without large values and without secrets, including the known ones."""
    secrets = Secrets(redaction.key(desk), desk.settings.redact_allow)
    return _cleaned(_without_bulk(facts, Tier.SELECTIVE), render.About(), secrets, known)[0]


def _asked(wish: Wish, secrets: Secrets, rewriter: Rewriter | None, tell: Tell) -> Asked | None:
    if rewriter is not None:
        return Asked(wish.rewrite or getattr(rewriter, "__name__", "a function"), rewriter, tell)
    if not wish.rewrite:
        return None
    from segue.agents.llm import rewrite  # lazy: few briefs are rewritten

    return Asked(wish.rewrite, rewrite.rewriter(wish.rewrite, secrets.key), tell)


def _cleaned(
    facts: tuple[Fact, ...], about: render.About, secrets: Secrets, known: Mapping[str, str]
) -> tuple[tuple[Fact, ...], render.About, set[str]]:
    """Facts and title without secrets, and the placeholders used. All are scanned as one text, so a secret recognised
    in one place is replaced in all, also in the receipt."""
    pieces = [getattr(fact, field) for fact in facts for field in TEXTS] + [about.title, about.source]
    # Remove invisible characters first: inside a secret they would hide it.
    pieces = [fence.neutral(piece, is_human=True) if piece else "" for piece in pieces]
    pieces, placeholders = _without(pieces, known, secrets)
    joined = APART.join(pieces)
    redacted = redact.redact(joined, key=secrets.key, allow=secrets.allow)
    secrets_found = _found_in(joined, redacted)
    clean = redacted.text.split(APART)
    if len(clean) == len(pieces):
        placeholders |= {one.placeholder for one in redacted.findings}
    else:
        # A secret spanned two texts: scan each text separately.
        looked_at = [redact.redact(piece, key=secrets.key, allow=secrets.allow) for piece in pieces]
        for piece, one in zip(pieces, looked_at, strict=True):
            secrets_found |= _found_in(piece, one)
            placeholders |= {finding.placeholder for finding in one.findings}
        distinct = {one: kind for one, kind in secrets_found.items() if value_shape.is_distinctive(one)}
        clean, more = _without([one.text for one in looked_at], distinct, secrets)
        placeholders |= more
    texts = iter(clean)
    found = tuple(
        _as_told(fact, msgspec.structs.replace(fact, **{field: next(texts) for field in TEXTS}))
        for fact in facts
    )
    about = msgspec.structs.replace(about, title=next(texts), source=next(texts))
    # Drop names that are part of a secret.
    found = tuple(
        fact
        for fact in found
        if fact.kind != "name"
        or not any(fact.subject in secret or secret in fact.subject for secret in secrets_found)
    )
    return found, about, placeholders


def _found_in(text: str, redacted: Redacted) -> dict[str, str]:
    """The secrets found in a text, with their kinds."""
    return {text[one.start : one.start + one.length]: one.kind for one in redacted.findings}


def _without(pieces: list[str], known: Mapping[str, str], secrets: Secrets) -> tuple[list[str], set[str]]:
    """Texts without known secrets, and the placeholders used."""
    out_of = redact.Known(known, secrets.key, secrets.allow).out_of
    looked_at = [out_of(piece) for piece in pieces]
    return [text for text, _ in looked_at], {one for _, found in looked_at for one in found}


def _as_told(before: Fact, fact: Fact) -> Fact:
    """A fact whose subject is a normalised form of its words. If the words contained a secret, so may the form: use the
    redacted words as the subject."""
    words = {"error": "note", "command": "text"}.get(fact.kind, "")
    if words and getattr(fact, words) != getattr(before, words):
        return msgspec.structs.replace(fact, subject=getattr(fact, words))
    return fact


def _budget(tier: Tier, window: int | None) -> int:
    """The default budget of a tier: at most half of the target's context window."""
    half = (window or WINDOW) // 2
    if tier is Tier.FULL:
        return half
    return min(half, BUDGET if tier in (Tier.SELECTIVE, Tier.FILTERED) else NARROW)


def _about(known: Warm) -> render.About:
    return render.About(
        title=known.learned.get("title", "") or _first_words(known),
        source=f"From {agents.get(known.source.agent).title}.",
        transcript=known.learned.get("id", ""),
    )


def open_known(desk: Desk, name: str | None) -> Warm:
    """Open a transcript's tracker, by id or file; without a name, of this folder's last transcript."""
    if name is None:
        work = sessions.current(desk)
        name = work.main.id if work and work.main else None
        if name is None:
            raise NotFound(
                noun="session of this folder",
                name=str(desk.project),
                next="segue pack ID (segue transcripts lists ids)",
            )
    shown = transcripts.find(desk, name)
    return tracked_transcript.open_warm(shown.source, _trackers(desk), shown.doubt)


def _first_words(known: Warm) -> str:
    asked = known.tracker.facts.get("instruction", {}).values() if not known.doubt else ()
    return next(
        (begun(" ".join(fact.value.split()), 100) for fact in asked if constraints.is_work(fact.value)), ""
    )


def work_of(desk: Desk, known: Warm) -> Work | None:
    """The session of a transcript, if one is known."""
    id = known.learned.get("id", "")
    return next(
        (work for work in discovery.works(desk) if any(one.id == id for one in work.transcripts)), None
    )


def said_of(desk: Desk, known: Warm) -> TaskEdit:
    """The user's edits of the task of a transcript's session."""
    work = work_of(desk, known) if desk.has_store else None
    return (work.session.task if work else None) or TaskEdit()


def facts_of(desk: Desk, work: Work) -> tuple[Fact, ...]:
    """The facts of a session's newest transcript, except sub-agents'."""
    if work.main is None:
        return ()
    return tracked_transcript.open_warm(transcripts.find(desk, work.main.id).source, _trackers(desk)).facts()


def _papers(desk: Desk) -> Papers:
    return Papers(desk.places.data / "briefs", suffix=".brief", most=MOST_BRIEFS)


def _trackers(desk: Desk) -> Papers:
    return Papers(desk.places.data / "trackers", suffix=".tracker", most=MOST_TRACKERS)


def get(desk: Desk, id: str) -> Made:
    """A cached brief, by its id or a unique prefix of it."""
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
    raise NotFound(noun="brief", name=id, next="segue show (lists all briefs)")


def is_kept(desk: Desk, id: str) -> bool:
    """Whether a brief is cached."""
    return id in _papers(desk).names()


def made(desk: Desk) -> list[str]:
    """The ids of all cached briefs, the newest first."""
    return _papers(desk).names()
