"""Parse sentences about finished work: a verb in the past tense with its objects and places.

"Added `retry()` to `client.py`" has a verb, an object and a place. A word after *for*, *with* or *of* is neither, and
*so that*, *which* or *to use* starts a clause that the verb does not cover.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from segue.assertions import modality
from segue.assertions.code_spans import Span, What, word_set
from segue.assertions.sentences import Sentence

VERBS = {
    **dict.fromkeys(word_set("created wrote written generated scaffolded"), "create"),
    **dict.fromkeys(word_set("added introduced implemented defined extracted exported"), "add"),
    **dict.fromkeys(
        word_set(
            "updated modified edited changed refactored extended rewrote rewritten improved adjusted patched tweaked"
            " documented simplified reworked revised expanded cleaned reformatted hardened wired switched enhanced"
            " converted annotated migrated restructured amended corrected optimized optimised integrated set-up"
        ),
        "edit",
    ),
    **dict.fromkeys(
        word_set(
            "fixed replaced resolved addressed mocked registered imported renamed moved used made applied"
        ),
        "around",
    ),
    **dict.fromkeys(word_set("deleted removed dropped"), "delete"),
}
"""Verbs in the past tense, by what they do to their object. With "around" verbs only the place is surely changed."""
BASE = {
    **dict.fromkeys(("create", "write", "generate"), "create"),
    **dict.fromkeys(("add", "adds", "introduce", "implement", "define", "extract"), "add"),
    **dict.fromkeys(
        word_set("update updates modify edit change refactor extend rewrite improve adjust patch tweak"),
        "edit",
    ),
    **dict.fromkeys(word_set("fix replace rename move"), "around"),
    **dict.fromkeys(("delete", "remove", "drop"), "delete"),
}
"""The same verbs in the imperative: some agents list their changes that way."""
BEFORE = word_set(
    "i we i've we've ive have has also then now successfully and been was were just finally newly both got first"
    " second third additionally next , : - — – . ! ) ; | • ( ✅ ✓ ✔ ☑ 🎉 → done"
)
"""Words before a verb that reports work. After any other word the verb is an adjective: "the updated list"."""
PASSIVE = word_set("was were been now got")
PLACES = word_set("in into to inside under within at across throughout on")
ASIDE = word_set("of for with from about against between over per")
"""Prepositions whose noun is neither object nor place."""
STOP = word_set(
    "so that which because when if while where instead using via by before after since like as whose who allowing"
    " ensuring making but rather than unless → = matching mirroring based according"
)
LEADS = word_set("the a an both our my this existing new each all its these that file files module script")
NOUNS = word_set(
    "function functions method methods class classes helper helpers constant constants type types struct interface enum"
    " hook component fixture decorator variable field property parameter argument attribute trait macro protocol"
    " exception error dataclass model endpoint handler wrapper test tests util utility command subcommand"
)
CHANGES = word_set(
    "change changes edit edits fix fixes tweak tweaks adjustment adjustments update updates patch"
)
"""What must be said to have been made or applied for that to be a change."""
LOOKING = word_set(
    "looked checked reviewed verified confirmed tested tried noticed considered examined inspected searched"
    " compared wanted needed expected decided started stopped used traced explored reproduced discovered"
    " analyzed analysed investigated identified believed assumed relied referred pointed mentioned described"
    " discussed listed located opened visited followed walked stepped scanned preserved matched mirrored"
    " observed asked answered explained measured counted committed pushed pulled fetched cloned validated"
    " debugged evaluated studied assessed audited browsed queried watched planned proposed suggested"
    " recommended agreed preferred skipped ignored worked moved ended finished finalized finalised executed"
    " based learned realized realised remembered continued failed attempted hoped intended proved proceeded"
    " placed viewed grepped profiled benchmarked monitored waited called invoked loaded parsed printed"
)
"""Verbs that change nothing, or not at the place named."""
ENDED_UP = {
    "creating": "create",
    "writing": "create",
    "adding": "add",
    "changing": "edit",
    "rewriting": "edit",
}
"""Verbs after "ended up"."""
OURS = ("i", "we", "i've", "we've", "have", "also")
FURTHEST = 14
"""The most words between a verb and its object."""
MARKS = ("-", "—", "–", ":", "|")
"""Separators between a file and the description of its change."""


class Done(Struct, frozen=True):
    """A verb with its objects and places."""

    verb: str
    objects: tuple[tuple[Span, str], ...]
    """Each with the word after it."""
    places: tuple[Span, ...]
    nouns: frozenset[str]
    """The plain words of the clause."""
    is_renamed: bool = False
    """Whether the object has a new name now: "renamed `a` to `b`"."""


def in_words(sentence: Sentence, tokens: list[str], *, has_orders: bool) -> Iterator[Done]:
    """Find the reported work in a sentence. With `has_orders`, in a list of changes, "Add x" counts too."""
    for at, token in enumerate(tokens):
        verb = VERBS.get(token) or ENDED_UP.get(token) or _open_verb(tokens, at)
        if verb is None and has_orders and (at == 0 or tokens[at - 1] in (*MARKS, ")")):
            verb = BASE.get(token)
        if verb is None or not _may_follow(tokens, at):
            continue
        if token == "set-up" and (at == 0 or tokens[at - 1] not in OURS):  # noqa: S105
            continue  # it may be an order
        if modality.is_ruled_out(" ".join(tokens[:at])):
            continue
        done = _done(sentence, tokens, at, verb)
        is_change = token not in ("made", "applied") or bool(done.nouns & CHANGES)
        if is_change and (done.objects or done.places):
            yield done


def _open_verb(tokens: list[str], at: int) -> str | None:
    """ "around" for any other verb of the agent about itself that is not about looking, trying or thinking: "I
    tightened the checks in `x.py`" means that the place changed."""
    is_own = at > 0 and tokens[at - 1] in ("i", "we", "i've", "we've")
    is_past = tokens[at].endswith("ed") or tokens[at] in ("put", "split", "cut", "rebuilt", "brought")
    return "around" if is_own and is_past and tokens[at] not in LOOKING else None


def is_code(token: str) -> bool:
    return "\ue000" <= token <= "\uf8ff"


def _may_follow(tokens: list[str], at: int) -> bool:
    """Whether a verb reports work, and is not an adjective: "the updated list"."""
    if tokens[at] in ENDED_UP:
        return tokens[max(0, at - 2) : at] == ["ended", "up"]
    if at == 0 or tokens[at - 1] in BEFORE or not tokens[at - 1].isascii() or tokens[at - 1].isdigit():
        return True
    if tokens[at - 1] in ("file", "files"):
        return tokens[at + 1 : at + 2] == [":"]
    return tokens[at - 1] in PASSIVE and at > 1


def _done(sentence: Sentence, tokens: list[str], at: int, verb: str) -> Done:
    clause = _Clause(sentence, tokens, at)
    ahead = [span for token in tokens[:at] if is_code(token) and (span := sentence.at(token))]
    before = tokens[at - 1] if at else ""
    before = tokens[at - 2] if before == "newly" and at > 1 else before
    if ahead and not clause.objects:
        nouns = clause.nouns | frozenset(tokens[:at])
        if before in ("i", "we", "i've") and tokens[at - 2] in ("which", "that"):
            # '`x.py`, which I created'
            return Done(verb, ((ahead[-1], ","),), tuple(clause.places), nouns)
        if before in MARKS:
            # '`x.py`: updated'
            files = (span for span in ahead if span.what is What.PATH)
            return Done(verb, (), (*files, *clause.places), clause.nouns)
        is_meant = before in PASSIVE or before == "(" or is_code(before)
        if is_meant and all(span.what in (What.PATH, What.SYMBOL, What.TEST) for span in ahead):
            # '`x.py` was updated', '`x.py` (updated)'
            return Done(
                verb, tuple((span, ",") for span in ahead), tuple(clause.places), nouns, clause.is_renamed
            )
    places = [*clause.places, *_leading(sentence, tokens, before)]
    return Done(verb, tuple(clause.objects), tuple(places), clause.nouns, clause.is_renamed)


def _leading(sentence: Sentence, tokens: list[str], before: str) -> list[Span]:
    """The file at the start of a sentence: "In `x.py` I added …", "`x.py` - Added …"."""
    first: list[str] = []
    if tokens[0] in ("in", "inside", "within"):
        first = [token for token in tokens[1:4] if is_code(token)][:1]
    elif before in (*MARKS, ")"):
        first = [token for token in tokens[:1] if is_code(token)]
    return sentence.paths(first)


class _Clause:
    """The rest of the clause after a verb: objects, places, plain words."""

    def __init__(self, sentence: Sentence, tokens: list[str], at: int) -> None:
        self.sentence, self.tokens = sentence, tokens
        self.objects: list[tuple[Span, str]] = []
        self.places: list[Span] = []
        self.words: set[str] = set()
        self.is_renamed = self.has_aside = False
        self.how, self.gap = "", 0
        for number in range(at + 1, len(tokens)):
            if not self._goes_on(number):
                break

    @property
    def nouns(self) -> frozenset[str]:
        return frozenset(self.words)

    def _goes_on(self, number: int) -> bool:
        """Add one word. False if the clause ends there."""
        token = self.tokens[number]
        following = self.tokens[number + 1] if number + 1 < len(self.tokens) else ""
        if is_code(token):
            self._add(self.sentence.at(token), following)
        elif token in PLACES or token in ASIDE:
            is_verb = token == "to" and not (is_code(following) or following in LEADS or following in NOUNS)  # noqa: S105
            self.how = token
            return not is_verb
        elif token in ("(", ")"):
            self.how = "" if token == ")" else "(" if is_code(following) else "of"  # noqa: S105
        elif token.isalpha() and token not in STOP and not self._is_verb(number):
            self.words.add(token)
            self.gap += 1
            return self.gap <= FURTHEST
        else:
            return not self._ends(number, token, following)
        return True

    def _add(self, span: Span | None, following: str) -> None:
        self.gap = 0
        if span is None:
            return
        if self.how == "":
            self.objects.append((span, following))
        elif self.how in ASIDE:
            # "… for `x` in `y.py`" says where x is, not what was changed.
            self.has_aside = True
        elif self.how == "(" or not self.has_aside:
            is_other = self.how == "to" and span.what is not What.PATH and bool(self.objects)
            self.is_renamed = self.is_renamed or is_other
            self.places.append(span)

    def _is_verb(self, number: int) -> bool:
        return self.tokens[number] in VERBS and _may_follow(self.tokens, number)

    def _ends(self, number: int, token: str, following: str) -> bool:
        if token in (";", ".") or token in STOP or self._is_verb(number):
            return True
        if token in MARKS:
            return bool(self.objects or self.places) or not is_code(following)
        # A code span after a comma starts a new clause if a verb follows it.
        after = self.tokens[number + 2 : number + 3]
        is_clause = (
            is_code(following) and bool(after) and after[0].isalpha() and after[0] not in ("and", "or")
        )
        return token == "," and bool(self.how) and is_clause  # noqa: S105
