"""Briefs: from a transcript to what the next agent reads, with its receipt.

transcript -> tracker (warm) -> facts -> secrets out -> pack -> a second look for secrets -> kept
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
"""For what leaves no trace: where nothing is kept, placeholders need not be told from those of others."""
NARROW = 2000
"""The budget of the tiers that pass little."""
SMALLEST, LARGEST = 200, 100_000_000
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
    placeholders: tuple[str, ...] = ()
    """What stands for each secret that was taken out."""

    @property
    def text(self) -> str:
        return render.render(self.brief)


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
    return make(tracked_transcript.open_warm(source), wish, Secrets(KEY), rewriter=rewriter)


def packed(
    desk: Desk,
    name: str | None,
    wish: Wish,
    *,
    rewriter: Rewriter | None = None,
    tell: Tell = _to_nobody,
) -> Made:
    """The brief of a transcript: named by its id or file, or this folder's last one. It can be looked at later, if
    there was room to keep it. `tell` hears what goes to a model before it goes, and what could not be read."""
    refuse_impossible(wish)
    known = open_known(desk, name)
    if known.broken:
        tell(f"{known.broken} of the transcript's lines cannot be read, and are skipped.")
    if known.doubt:
        tell(
            f"Its prompts are passed on as data, not as your words: {known.doubt}. "
            "segue transcripts lists such files and says what to do."
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
    """The brief of a transcript that has been read, and of what was known before it began."""
    said = said_of(desk, known)
    replaced = goals.replaced(said)
    derived = tuple(fact for fact in joined(earlier, known.facts()) if fact.kind not in replaced)
    facts = (*goals.facts_said(said), *derived)
    secrets = Secrets(redaction.key(desk), desk.settings.redact_allow)
    seen = known.tracker.heat.secrets
    made = of_facts(facts, _about(known), wish, secrets, seen, rewriter=rewriter, tell=tell)
    with contextlib.suppress(StoreError):  # it is worth having where there is no room to keep it
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
"""What holds at a moment only: of these, what was known before says nothing any more."""


def joined(earlier: tuple[Fact, ...], later: tuple[Fact, ...]) -> tuple[Fact, ...]:
    """Facts of before with those that came since: the later value of a subject holds. What the person said of the
    task is left out: they may have said something else since, and that is told anyhow."""
    said = [_plain(fact) for fact in earlier if select.is_said(fact)]
    earlier = tuple(fact for fact in earlier if not select.is_said(fact))
    # The agent was told of it, too: only what the person typed in so many words stays.
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
        # A plan that the person agreed to takes the place of all before.
        earlier = tuple(fact for fact in earlier if fact.kind not in ("plan", "rule"))
    kept = (fact for fact in earlier if fact.kind not in FLEETING and _same(fact) not in known)
    return (*(msgspec.structs.replace(fact, n=0) for fact in kept), *later)


def _same(fact: Fact) -> tuple[str, str]:
    """What tells whether two facts are about the same: of words, the words."""
    return ("words", _plain(fact)) if fact.kind in select.WORDS else (fact.kind, fact.subject)


def _plain(fact: Fact) -> str:
    return " ".join(fact.value.split())


def long_enough(budgets: Sequence[int | None], make: Callable[[int | None], Made]) -> Made:
    """The brief within the first of these budgets that holds what must not be lost."""
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
            what=f"A budget of {wish.budget} tokens holds no brief: the least is {SMALLEST}.",
            next=f"segue pack --budget {BUDGET}",
        )
    if wish.budget is not None and wish.budget > LARGEST:
        raise BadInput(
            what=f"No model reads more than {LARGEST:,} tokens.", next=f"segue pack --budget {BUDGET}"
        )


def make(
    known: Warm, wish: Wish, secrets: Secrets, *, rewriter: Rewriter | None = None, tell: Tell = _to_nobody
) -> Made:
    """The same value for the same transcript, wish and key, and the same words of a model."""
    facts = known.facts()
    seen = known.tracker.heat.secrets
    return of_facts(facts, _about(known), wish, secrets, seen, rewriter=rewriter, tell=tell)


def _agent(address: str) -> Agent:
    """The agent that is addressed, with a model or without."""
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
    """`known` are the secrets that were seen where they are recognised, with their kinds: elsewhere they may stand
    alone. `rewriter` makes an agent's prose shorter; where it is left out, the model that the wish names does."""
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
    # Where the nonce stands behind a name, it is no secret of that name.
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
    """What only the widest tier passes is named in the receipts of the others, no more: it is large."""
    if tier is Tier.FULL:
        return facts
    return tuple(
        msgspec.structs.replace(fact, value="") if fact.kind in select.ONLY_FULL else fact for fact in facts
    )


def _cleaned_as_seen(
    facts: tuple[Fact, ...], text: str, secrets: Secrets
) -> tuple[tuple[Fact, ...], set[str]]:
    """The same without what looks like a secret only where facts stand beside each other in the whole text, and the
    placeholders that stand there instead."""
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
    """Facts that can be shown: what is large left out, secrets replaced, those that are known elsewhere as well."""
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
    """Facts without secrets, and the placeholders that stand there instead. All are looked through as one text: a
    secret that is recognised in one place is replaced in all, and the receipt holds none either."""
    pieces = [getattr(fact, field) for fact in facts for field in TEXTS] + [about.title, about.source]
    # What cannot be seen could stand inside a secret and hide it.
    pieces = [fence.neutral(piece, is_human=True) if piece else "" for piece in pieces]
    pieces, placeholders = _without(pieces, known, secrets)
    joined = APART.join(pieces)
    redacted = redact.redact(joined, key=secrets.key, allow=secrets.allow)
    secrets_found = _found_in(joined, redacted)
    clean = redacted.text.split(APART)
    if len(clean) == len(pieces):
        placeholders |= {one.placeholder for one in redacted.findings}
    else:
        # One secret went on from one text into the next: then each is looked at by itself.
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
    # A name may be a piece of what was taken out.
    found = tuple(
        fact
        for fact in found
        if fact.kind != "name"
        or not any(fact.subject in secret or secret in fact.subject for secret in secrets_found)
    )
    return found, about, placeholders


def _found_in(text: str, redacted: Redacted) -> dict[str, str]:
    """The secrets that were found in a text, as they stand there, with their kinds."""
    return {text[one.start : one.start + one.length]: one.kind for one in redacted.findings}


def _without(pieces: list[str], known: Mapping[str, str], secrets: Secrets) -> tuple[list[str], set[str]]:
    """Texts without secrets that are known from elsewhere, and the placeholders that stand there instead."""
    out_of = redact.Known(known, secrets.key, secrets.allow).out_of
    looked_at = [out_of(piece) for piece in pieces]
    return [text for text, _ in looked_at], {one for _, found in looked_at for one in found}


def _as_told(before: Fact, fact: Fact) -> Fact:
    """Of what is known by a form of its words, which may hide a secret, that form is what is left of the words."""
    words = {"error": "note", "command": "text"}.get(fact.kind, "")
    if words and getattr(fact, words) != getattr(before, words):
        return msgspec.structs.replace(fact, subject=getattr(fact, words))
    return fact


def _budget(tier: Tier, window: int | None) -> int:
    """What fits a tier and a target: a brief never takes more than half of what the target can hold."""
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
    shown = transcripts.find(desk, name)
    return tracked_transcript.open_warm(shown.source, _trackers(desk), shown.doubt)


def _first_words(known: Warm) -> str:
    asked = known.tracker.facts.get("instruction", {}).values() if not known.doubt else ()
    return next(
        (begun(" ".join(fact.value.split()), 100) for fact in asked if constraints.is_work(fact.value)), ""
    )


def work_of(desk: Desk, known: Warm) -> Work | None:
    """The session that a transcript belongs to, if it is one of those that are known here."""
    id = known.learned.get("id", "")
    return next(
        (work for work in discovery.works(desk) if any(one.id == id for one in work.transcripts)), None
    )


def said_of(desk: Desk, known: Warm) -> TaskEdit:
    """What the person said of the task that a transcript belongs to."""
    work = work_of(desk, known) if desk.has_store else None
    return (work.session.task if work else None) or TaskEdit()


def facts_of(desk: Desk, work: Work) -> tuple[Fact, ...]:
    """The facts of a session: those of the transcript that was written last, sub-agents' aside."""
    if work.main is None:
        return ()
    return tracked_transcript.open_warm(transcripts.find(desk, work.main.id).source, _trackers(desk)).facts()


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


def is_kept(desk: Desk, id: str) -> bool:
    """Whether a brief that was made can be looked at later."""
    return id in _papers(desk).names()


def made(desk: Desk) -> list[str]:
    """The ids of the briefs that were made, the newest first."""
    return _papers(desk).names()
