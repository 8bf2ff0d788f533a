"""Prose shortened by a model, with nothing lost and nothing made up. Pure: the model is a function.

Only an agent's words are rewritten. The user's words are neither changed nor sent, and an agent's words that quote
them stay as they are. The model gets no secrets. Its answer is data, and is checked against the original: sentences
with anything new are dropped; lost names, paths, numbers and addresses are put back. If too little is left, or the
result is not shorter, the original stays.

Only what needs no model is checked. Whether a sentence still means the same is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from segue.base import fence
from segue.base.lazy_regex import lazy_pattern
from segue.briefs import render
from segue.briefs.select import Packed
from segue.briefs.tokens import Counter
from segue.errors import BadInput
from segue.facts.mentions import mentions
from segue.model import Fact, Fate, Origin, Receipt, ReceiptLine

PROSE = ("reply", "summary")
WORTH_IT = 400
"""Prose with at least this many characters is rewritten."""
LONGEST = 40_000
"""Longer prose is not sent: the answer would be cut off as well."""
QUOTE = 20
"""A match with the user's words of at least this many characters is a quotation, not chance."""
LONGEST_PROBLEM = 200
ROOM = 1_000_000_000
SLACK = 2
"""A line may cost this many more tokens among others than alone."""

Rewriter = Callable[[str], str]
"""Takes a text and returns a shorter one. If it raises, the text stays as it was; after a TimeoutError it is not
called again."""
Clean = Callable[[str], str]
Pack = Callable[[Sequence[Fact], int], Packed]
"""Facts and a budget in, a brief out."""


class Asked(Struct, frozen=True):
    """A model that rewrites, and a callback that reports what it gets before it gets it."""

    name: str
    rewriter: Rewriter
    tell: Callable[[str], None] = lambda _text: None


class Change(Struct, frozen=True):
    """The result for one text that a model was given."""

    entry: str
    before: int
    """Number of characters that were sent."""
    after: int
    put_back: tuple[str, ...] = ()
    """What the model had lost."""
    dropped: tuple[str, ...] = ()
    """Sentences with something that the model could not know."""
    problem: str = ""
    """Why the text stayed as it was; empty if it was rewritten."""


class Checked(Struct, frozen=True):
    """A model's answer after the check against the original."""

    text: str
    put_back: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    problem: str = ""


# From facts to a brief


def packed(
    facts: Sequence[Fact], budget: int, pack: Pack, counter: Counter, asked: Asked, clean: Clean
) -> tuple[Packed, tuple[Change, ...]]:
    """A brief with prose shortened by a model, and the change to each text. If nothing was gained, the brief without
    the model."""
    plain = pack(facts, budget)
    text = render.render(plain.brief)
    # What must not leave as a brief must not leave in parts either.
    sent = prose(facts, clean, pack) if clean(text) == text else ()
    if not sent:
        asked.tell(f"{asked.name} gets nothing: this brief has no long text of the agent that may leave")
        return plain, ()
    many = "1 text" if len(sent) == 1 else f"{len(sent)} texts"
    length = sum(len(text) for _, text in sent)
    asked.tell(
        f"{asked.name} gets {many} of the agent ({length:,} characters, secrets replaced), nothing of the user"
    )
    new, changes = rewritten(sent, asked.rewriter, clean)
    told = [new.get(fact, fact) for fact in facts]
    signed = msgspec.structs.replace(plain.brief, rewritten_by=asked.name)
    note = counter.count(render.render(signed)) - plain.brief.tokens + SLACK
    for room in (budget, budget - note) if new else ():
        try:
            result = pack(told, room)
        except BadInput:  # the user's words fill the budget: there is no room for the note
            continue
        brief = msgspec.structs.replace(result.brief, budget=budget, rewritten_by=asked.name)
        text = render.render(brief)
        brief = msgspec.structs.replace(brief, tokens=counter.count(text))
        is_told = any(line.fate is Fate.PASSED and line.fact in new.values() for line in result.receipt.lines)
        if is_told and brief.tokens <= budget and clean(text) == text:
            return Packed(brief, _noted(result.receipt, facts, new, changes)), changes
    return plain, changes


def prose(facts: Sequence[Fact], clean: Clean, pack: Pack) -> tuple[tuple[Fact, str], ...]:
    """The texts for a model: long texts of the agent that are part of a brief if there is room, cleaned of secrets."""
    quoted = [fact.value for fact in facts if fact.origin is Origin.HUMAN and len(fact.value) >= QUOTE]
    found = [
        fact
        for fact in facts
        if fact.kind in PROSE
        and fact.origin is not Origin.HUMAN
        and WORTH_IT <= len(fact.value) <= LONGEST
        and not any(words in fact.value for words in quoted)
    ]
    lines = pack(found, ROOM).receipt.lines if found else ()
    texts = [(line.fact, clean(fence.neutral(line.fact.value))) for line in lines if line.fate is Fate.PASSED]
    # A second check of exactly the text that would leave.
    return tuple((fact, text) for fact, text in texts if clean(text) == text)


def rewritten(
    sent: Iterable[tuple[Fact, str]], rewriter: Rewriter, clean: Clean
) -> tuple[dict[Fact, Fact], tuple[Change, ...]]:
    """The shortened facts by original fact, and the change to each text."""
    new: dict[Fact, Fact] = {}
    changes = []
    given_up = ""
    for fact, text in sent:
        result = Checked(text, problem=given_up)
        if not given_up:
            try:
                result = checked(text, clean(fence.neutral(str(rewriter(text) or ""))))
            except Exception as error:  # noqa: BLE001 - foreign code may raise anything
                problem = fence.one_line(clean(str(error) or type(error).__name__), LONGEST_PROBLEM)
                result = Checked(text, problem=problem)
                given_up = problem if isinstance(error, TimeoutError) else ""
        if not result.problem:
            new[fact] = msgspec.structs.replace(fact, value=result.text)
        changes.append(
            Change(fact.entry, len(text), len(result.text), result.put_back, result.dropped, result.problem)
        )
    return new, tuple(changes)


def _noted(
    receipt: Receipt, facts: Sequence[Fact], new: dict[Fact, Fact], changes: Sequence[Change]
) -> Receipt:
    """The receipt of the original facts: it says which of them pass in other words."""
    by_entry = {change.entry: change for change in changes}

    def line(fact: Fact, found: ReceiptLine) -> ReceiptLine:
        reason = found.reason
        if fact in new and found.fate is Fate.PASSED:
            change = by_entry[fact.entry]
            reason = f"rewritten, {len(change.put_back)} put back, {len(change.dropped)} dropped"
        return msgspec.structs.replace(found, fact=fact, reason=reason)

    return msgspec.structs.replace(
        receipt, lines=tuple(line(*pair) for pair in zip(facts, receipt.lines, strict=True))
    )


# Quality control

SHARE_LEFT = 0.1
"""A result has at least this share of the characters; less is a refusal, or an answer to something else."""
SHARE_SHORTER = 0.9
"""A result has at most this share of the characters; more is no gain."""
SHARE_LOST = 0.5
"""A model that lost more than this share of the names and numbers did not rewrite the text."""
SHARE_GROUNDED = 0.5
"""A sentence is made up if at most this share of its words is in the text."""
AROUND = 40
"""A lost number is put back with this many characters on either side: alone it says nothing."""
STEM = 4
"""Words of at least this many letters show the subject of a sentence; shorter ones occur in every sentence."""

PLACEHOLDER = lazy_pattern(r"\[secret:[\w-]{1,40}:[0-9a-f]{6}\]")
NUMBER = lazy_pattern(r"(?<!\w)[^\W\d]*+\d\w*+(?:[.,]\d\w*+)*+")
"""Every word that contains a digit."""
_TO_TWENTY = (
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty"
)
_TENS = "thirty forty fifty sixty seventy eighty ninety hundred"
NUMBER_WORDS = {
    "zero": "0",
    **{word: str(number) for number, word in enumerate(_TO_TWENTY.split(), 2)},
    **{word: str(number) for number, word in zip(range(30, 101, 10), _TENS.split(), strict=True)},
    "dozen": "12",
    "thousand": "1000",
    "million": "1000000",
    "billion": "1000000000",
}
"""Numbers in words (English), in digits. 'One' is an ordinary word."""
ITEM = lazy_pattern(r"^[ \t]{0,12}\d{1,3}[.)](?=[ \t])", re.MULTILINE)
"""The number of a list item: not a fact."""
SENTENCE = lazy_pattern(r"(?<=[.!?])[ \t]+|(?<=[。！？])")
BREAK = lazy_pattern(r"[;,](?=\s)|[.!?](?=\s)|[()\n。，！？]")
WORD = lazy_pattern(r"[^\W\d_]+")
UNSPACED = lazy_pattern(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
)
"""Letters of scripts without spaces between words, or with long words."""
OUTCOME = lazy_pattern(
    r"\b(pass|fail|succe|fix|solv|resolv|work|done|finish|complet|verif|confirm|approv|deploy|releas|merg|broke|crash)",
    re.IGNORECASE,
)
"""Words for an outcome (English): a sentence may use only those in the text."""
NEGATES = lazy_pattern(
    r"\b(?:not?|none|nor|never|cannot|without|[^\W\d_]{2,8}n['’]t|nicht|kein[a-z]{0,2}|nie|niemals|ohne|pas|jamais|sans"
    r"|nunca|jamás|sin|não|nem|senza|non|niet|geen|не|нет|без)\b|[不没沒未無无別别勿]|ない|ません|않|못|없",
    re.IGNORECASE,
)


def checked(original: str, answer: str) -> Checked:
    """A model's answer with lost anchors put back and made-up sentences dropped; the original, with the reason, if
    nothing is gained. Every anchor of the original is in the result, and the other way round."""
    dropped: list[str] = []

    def kept(problem: str) -> Checked:
        return Checked(original, (), tuple(dropped), problem)

    if not answer.strip():
        return kept("its answer was empty")
    if len(answer) >= len(original):
        return kept("its answer was not shorter")
    text = _grounded(original, answer, dropped)
    if len(text) < SHARE_LEFT * len(original):
        return kept("too little of its answer was about the text")
    if NEGATES.search(original) and not NEGATES.search(text):
        return kept("it left out every 'not'")
    known = anchors(original)
    lost = [anchor for anchor in known if not holds(text, anchor)]
    if len(lost) > SHARE_LOST * len(known):
        return kept(f"it lost {len(lost)} of {len(known)} names and numbers")
    text = fence.neutral(_with(text, original, lost))
    if len(text) > SHARE_SHORTER * len(original):
        return kept("with the lost names its answer was not shorter")
    if not all(holds(text, anchor) for anchor in known) or _unknown(text, original):
        return kept("its answer cannot be checked")
    return Checked(text, tuple(lost), tuple(dropped))


def anchors(text: str) -> tuple[str, ...]:
    """What can be checked in a text: everything it names, and every word with a digit; each once."""
    text = ITEM.sub("", text)
    named = [found.text for found in mentions(text) if found.kind != "commit"]
    return tuple(dict.fromkeys([*PLACEHOLDER.findall(text), *named, *NUMBER.findall(text)]))


def holds(text: str, anchor: str) -> bool:
    """Whether a text contains an anchor letter by letter, and not as a part of a longer word or number."""
    return _place(text, anchor) >= 0


def _place(text: str, anchor: str) -> int:
    at = text.find(anchor)
    while at >= 0:
        before, after = text[max(0, at - 2) : at], text[at + len(anchor) : at + len(anchor) + 2]
        if not (_goes_on(anchor[-1], after) or _goes_on(anchor[0], before[::-1])):
            return at
        at = text.find(anchor, at + 1)
    return -1


def _goes_on(edge: str, beyond: str) -> bool:
    """Whether a word continues beyond its edge: 'a' before 'b', '1' before '.5'."""
    if not (edge.isalnum() or edge == "_"):
        return False
    if beyond[:1].isalnum() or beyond[:1] == "_":
        return True
    return edge.isdigit() and beyond[:1] in (".", ",") and beyond[1:2].isdigit()


def _unknown(text: str, original: str) -> bool:
    return any(not holds(original, anchor) for anchor in anchors(text))


def _grounded(original: str, answer: str, dropped: list[str]) -> str:
    """The sentences that say nothing but what the original says; the others are added to `dropped`."""
    known = _stems(original).union(UNSPACED.findall(original))
    numbers = _numbers(original)
    outcomes = _outcomes(original)
    may_negate = NEGATES.search(original) is not None
    lines = []
    for line in ITEM.sub("-", answer).split("\n"):
        kept = []
        for sentence in filter(None, map(str.strip, SENTENCE.split(line))):
            if (
                _unknown(sentence, original)
                or not _written_out(sentence) <= numbers
                or not _outcomes(sentence) <= outcomes
                or (NEGATES.search(sentence) and not may_negate)
                or not _is_grounded(_stems(sentence), known)
            ):
                dropped.append(sentence)
            else:
                kept.append(sentence)
        if any(WORD.search(sentence) for sentence in kept):
            lines.append(" ".join(kept))
    return "\n".join(lines)


def _outcomes(text: str) -> set[str]:
    return {found.casefold() for found in OUTCOME.findall(text)}


def _written_out(text: str) -> set[str]:
    """The numbers that a text has in words, in digits."""
    words = (word.removesuffix("s") for word in WORD.findall(text.casefold()))
    return {NUMBER_WORDS[word] for word in words if word in NUMBER_WORDS}


def _numbers(text: str) -> set[str]:
    """All numbers of a text, in digits."""
    return _written_out(text).union(NUMBER.findall(text))


def _is_grounded(stems: set[str], known: set[str]) -> bool:
    """Whether a sentence has the same subject as a text: more than half of all its words are known, and of its long
    words. Without long words, all its words must be known."""
    telling = {stem for stem in stems if len(stem) >= STEM or UNSPACED.search(stem)}
    if not telling:
        return stems <= known
    return all(len(some & known) > SHARE_GROUNDED * len(some) for some in (telling, stems))


def _stems(text: str) -> set[str]:
    """The words of a text without their endings. In scripts without spaces: every pair of letters, and single
    letters."""
    return set(_each_stem(text))


def _each_stem(text: str) -> Iterator[str]:
    for word in WORD.findall(text.casefold()):
        if UNSPACED.search(word):
            yield from (word[at : at + 2] for at in range(max(1, len(word) - 1)))
        else:
            yield word[:STEM]


def _with(text: str, original: str, lost: Sequence[str]) -> str:
    """A text followed by what it lost: names alone, numbers with the words around them."""
    back = ""
    for anchor in lost:
        if not holds(back, anchor):
            piece = _piece(original, anchor) if NUMBER.fullmatch(anchor) else anchor
            back = f"{back}; {piece}" if back else piece
        if len(back) > len(original):
            break
    return f"{text} (also: {back})" if back else text


def _piece(original: str, anchor: str) -> str:
    """A few words of the original around an anchor, within its sentence."""
    at = _place(original, anchor)
    end = at + len(anchor)
    before, after = original[max(0, at - AROUND) : at], original[end : end + AROUND]
    if breaks := list(BREAK.finditer(before)):
        before = before[breaks[-1].end() :]
    elif at > AROUND:
        before = before.partition(" ")[2]
    if found := BREAK.search(after):
        after = after[: found.start()]
    elif end + AROUND < len(original):
        after = after.rpartition(" ")[0]
    piece = (before + anchor + after).strip().lstrip("-*>#• \t")
    return piece if holds(piece, anchor) else anchor
