"""Secrets found by their name: PASSWORD=..., "apiKey": "...", --token ..., `the password is ...`.

The name says that a secret may follow; its value decides. A name is matched on a lower-case view of the text, up to
the sign that assigns. The value after it is judged separately, so that every name is considered.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from segue.base.lazy_regex import lazy_pattern
from segue.redact import value_shape
from segue.redact.view import ESCAPED, FOREIGN, Hit

CORES = {
    "password": "pass(?:word|wd|phrase|code|wort) kennwort contrase.a mot_de_passe senha wachtwoord pwd",
    "secret": "secret credential",
    "key": "key",
    "token": "token bearer auth jwt",
}
"""What a name must contain, by kind of secret. Each is searched separately, which is fast."""
KEY_OF = lazy_pattern(
    r"(?:api|access|secret|private|auth|encryption|encrypt|signing|master|account|storage|shared|license|deploy|service"
    r"|app|application|consumer|client|subscription|webhook|hmac|cipher|decryption|jwt|session|cookie|server|admin|write"
    r"|read|ingest(?:ion)?|integration|project|bot|user)[_ -]?$"
)
"""Words that make 'key' a secret. 'key' alone can be anything, and is mostly a name."""
GAP = rf"[ \t\"'`*\\\]){ESCAPED}]{{0,8}}"
BREAK = r"[ \t]{0,4}(?:[|>][+0-9-]{0,2})?[ \t]{0,4}[\r\n]"
"""The end of a line with a name whose value is on the next line."""
LOOSE = (
    r"(?P<loose>[ \t*`\"']{0,6}\|[ \t*]{0,6}"
    r"|[ \t]{1,3}(?:for|of|on|\()(?![^:=\n]{0,90}(?:pass|pwd|secret|token|key|auth))"
    r"[ \t]{0,3}[^\s:=]{1,40}(?:[ \t]{1,3}[^\s:=]{1,40})?"
    r"(?:[ \t]{0,3}[:=]|[ \t]{1,3}is)[ \t]{1,3}"
    r"|[ \t]{1,3}(?:has|had|have|will)[ \t]been[ \t](?:set|changed|reset|updated)[ \t]to[ \t]{1,3}"
    r"|[\"'`]\)\.(?:fill|type|send_?keys)\((?=[\"'`])"
    r"|(?:[ \t]{2,20}|\t)(?=[^\s|]{8,100}[ \t]{0,8}(?:[\r\n]|$))"
    rf"|:{BREAK}{{1,2}}[ \t]{{1,40}}(?=\S{{6,512}}[ \t]{{0,4}}(?:[\r\n]|$)))"
)
"""What separates a name and its value in tables and sentences, where other text may follow a name."""
OPERATOR = (
    rf"{GAP}(?:\[none\])?(?:=>|:=|={{1,3}}|:(?!{BREAK}))[ \t*\\{ESCAPED}]{{0,8}}(?:[nbru](?=[\"']))?"
    rf"|[\"'`\\{ESCAPED}]{{1,4}},[\s\\{ESCAPED}]{{0,4}}(?=[\"'`])"
    rf"|[\"']?\s{{1,40}}(?:value|default)[\"']?[ \t]{{0,2}}[:=][ \t]{{0,2}}"
    r"|>[ \t]{0,4}(?=[^\s<>]{4,300}</)"
    r"|[ \t]{1,3}(?:is|was|to|are|ist|war|lautet|est|es|jest)[ \t]{0,2}:?[ \t]{1,3}(?:now |just |set to )?"
    rf"|[ \t]{{1,3}}[\\{ESCAPED}]{{0,4}}(?=[\"'`][^\s\"'`]{{6,100}}[\"'`])"
    r"|[\"'\])]{0,3}[ \t]{0,3}(?:\|\||\?\?|\?:|or)[ \t]{1,3}(?=[\"'`])"
    r"|(?P<shown>[\"'}]{0,2}[ \t]{0,2}[\\\r]{0,2}\n[ \t]{0,4})"
    rf"|{LOOSE}"
)


class Word(NamedTuple):
    core: str
    pattern: str
    start: str
    """The letters that it begins with."""


WORDS = [
    Word(core, word, re.split(r"[(.]", word)[0]) for core, words in CORES.items() for word in words.split()
]
FLAG = lazy_pattern(
    r"--(?<!---)[a-z0-9-]{0,24}?(?:(?P<password>pass(?:word|wd|phrase)?|pwd?)|(?P<secret>secret|credential)"
    r"|(?P<token>token|auth)|(?P<key>key))(?P<rest>[a-z0-9-]{0,12})(?:=|[ \t]{1,4})(?=[^\s-])"
)
REST = lazy_pattern(
    r"(?:s|_?\d{1,3}|[_.-]?(?:prod|production|dev|test|staging|live|key|token|value|secret|base64|b64|raw|plain|text"
    r"|env|main|primary|secondary|current|new|old|default|string|data|hash|password|override|confirm(?:ation)?"
    r"|repeat|again|enc|encoded|encrypted|str)){0,3}"
)
"""Endings that do not change what a name means."""
NO_SECRET = lazy_pattern(
    r"[_.-]?(?:name|type|id|ids|url|uri|path|file|field|count|counts|limit|length|len|size|policy|reset|expir\w*|at|ttl|"
    r"endpoint|label|hint|placeholder|manager|store|provider|version|format|prefix|param|header|usage|budget|index|"
    r"ref|arn|fingerprint|public|less|izer?|ize|ized|izing|ization|generator|validator|class|error|message|min|max)"
    r"(?:$|[_.-]|s$)"
)
OTHER_TOKENS = lazy_pattern(
    r"(?:page|next|continuation|sync|cursor|resume|cancel\w*|max|min|num|total|count|special|input|output|prompt|cached?"
    r"|reasoning|thinking|bos|eos|pad|unk|mask|design|css|color|theme|syntax|lexer|sort|of|per|public)[_. -]?$"
)
PRINTED = lazy_pattern(r"(?:echo|printenv|printf|print|cat)\b[^\r\n]{0,24}$")
"""A variable that a shell should print: its value is on the next line."""
QUOTED = {quote: lazy_pattern(rf"[^{quote}\r\n\x01]{{0,512}}?(?={ESCAPED}*{quote})") for quote in "\"'`"}
BARE = lazy_pattern(rf"[^\s\"'`<>,;(){{}}\[\]\\|&\x01{ESCAPED}]{{1,512}}")
TO_THE_END = lazy_pattern(rf"[^\s\"'`\\\x01{ESCAPED}]{{1,512}}")
LETTER = lazy_pattern(rf"\\*{FOREIGN}{{6}}")
"""A letter of another alphabet, as JSON escapes it."""
CALLED = lazy_pattern(r"[A-Za-z_$][\w$]{0,60}(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]{0,60}){0,8}[(\[]")
GOES_ON = lazy_pattern(r"[)\]][A-Za-z0-9]")
"""A call never continues like this after its bracket."""
ABSOLUTE = lazy_pattern(r"[/~]|[A-Za-z]:[\\/]")
SHORT = {
    name: lazy_pattern(
        rf"{name}(?<![a-z0-9-]{name})(?P<rest>)(?P<shown>(?!))?"
        rf"(?P<loose>{GAP}(?:=>|:=|=|:)[ \t*\\{ESCAPED}]{{0,8}})(?!\d{{1,9}}[,}}\s])"
    )
    for name in ("pass", "pw")
}
"""Names with other meanings, too."""
MOST_OVERLAPPING = 8
"""At most this many values may share a character, so that no text takes long."""
LONGEST_PHRASE = 64
NO_PASSWORDS = lazy_pattern(
    r"string|required|optional|undefined|disabled|enabled|prompt|options?|arguments?|parameters?|variables?|settings?"
)
OF_SENTENCES = lazy_pattern(
    r"\b(?:an?|and|any|are|as|at|be|by|can|cannot|do|does|else|for|from|has|have|if|in|into|is|its?|least|match|more|must"
    r"|new|no|not|of|on|one|or|please|should|than|that|the|their|this|to|too|used?|users?|using|was|when|where|which|will"
    r"|with|without|your?|passwords?|invalid|wrong|missing|enter|change|reset|forgot|required|characters|letters)\b",
    re.IGNORECASE,
)
LEAST = {"password": 5, "secret": 8, "key": 8, "token": 16}
KIND = {"password": "password", "secret": "secret", "key": "api-key", "token": "token"}


class Name(NamedTuple):
    is_sure: bool
    """Nothing else can have this name."""
    is_alone: bool
    """Its value continues up to the next space."""
    is_bold: bool
    """Even a plain word after it is a secret: --password, DB_PASSWORD."""
    is_loose: bool
    """Much else may follow it: only an unmistakable secret counts."""


class Place(NamedTuple):
    start: int
    end: int
    is_quoted: bool


@cache
def _pattern(word: str) -> re.Pattern[str]:
    """The pattern of a name with this word, up to its value. Compiled on first use: that takes a millisecond."""
    # A number after a name is a count, and there are many.
    return re.compile(rf"{word}(?P<rest>[a-z0-9_.-]{{0,24}})(?:{OPERATOR})(?!\d{{1,9}}[,}}\s])")


def find(view: str, low: str, words: Sequence[Word] = WORDS) -> Iterator[Hit]:
    for core, word in [(core, word) for core, word, start in words if start in low]:
        matches = _pattern(word).finditer(low)
        if core == "key":
            matches = (
                each for each in matches if KEY_OF.search(low, max(0, each.start() - 14), each.start())
            )
        yield from _judged(view, ((core, each) for each in matches), is_flag=False)
    for pattern in [pattern for word, pattern in SHORT.items() if word in low]:
        matches = (each for each in pattern.finditer(low) if not _is_verdict(view, each.start()))
        yield from _judged(view, (("password", each) for each in matches), is_flag=False)
    if "--" in low:
        flags = FLAG.finditer(low)
        yield from _judged(view, ((next(filter(each.group, CORES)), each) for each in flags), is_flag=True)


def _judged(view: str, names: Iterable[tuple[str, re.Match[str]]], *, is_flag: bool) -> Iterator[Hit]:
    ends: deque[int] = deque([0] * MOST_OVERLAPPING, maxlen=MOST_OVERLAPPING)
    known: dict[tuple[str, str, bool, bool], bool] = {}
    for core, found in names:
        name = _named(view, found, core, is_flag=is_flag) if ends[0] <= found.end() else None
        place = _place(view, found.end(), name.is_alone) if name else None
        if name is None or place is None:
            continue
        ends.append(place.end)
        value = view[place.start : place.end]
        case = (value, core, name.is_sure, place.is_quoted)
        if case not in known:
            known[case] = is_secret(LETTER.sub("a", value), *case[1:])
        if name.is_loose and not (name.is_sure and value_shape.is_strong(value)):
            continue
        is_weak = name.is_bold and _is_weak(value, core, found, place.is_quoted)
        if is_flag and "=--" in value:
            continue  # an option that is passed to another program
        is_code = not place.is_quoted and _is_code(value, view[place.end : place.end + 1])
        if not (is_code or _is_folder(value, found)) and (known[case] or is_weak):
            yield Hit(place.start, place.end, KIND[core], value)


def _named(view: str, found: re.Match[str], core: str, *, is_flag: bool) -> Name | None:
    """What a name says about its value; None if it names no secret."""
    rest = found.group("rest")
    # A vault's secret id is a secret, although it is called an id.
    is_sure = REST.fullmatch(rest) is not None or (core == "secret" and rest == "_id")
    before = found.string[max(0, found.start() - 24) : found.start()]
    is_shown = not is_flag and found.group("shown") is not None
    if (
        (not is_sure and (NO_SECRET.search(rest) or not _begins(view, found.start())))
        or (core == "token" and OTHER_TOKENS.search(before))
        or (is_shown and not PRINTED.search(before))
        or not (is_flag or _is_in_cell(view, found.start(), found.group("loose") or ""))
    ):
        return None
    is_capital = view[found.start() : found.start() + 3].isupper()
    is_alone = is_shown or is_capital or _is_alone(view, found.start())
    is_loose = not is_flag and found.group("loose") is not None
    return Name(is_sure, is_alone, is_sure and not is_loose and (is_flag or is_capital), is_loose)


def _is_verdict(view: str, at: int) -> bool:
    """Whether this is PASS as tests print it."""
    return view[at : at + 2].isupper() and view[at - 1 : at] != "_"


def _is_in_cell(view: str, start: int, operator: str) -> bool:
    """Whether the text before a line between two cells is a table cell."""
    return operator.strip(" \t*`\"'") != "|" or "|" in view[max(0, start - 100) : start].rpartition("\n")[2]


def _begins(view: str, at: int) -> bool:
    """Whether a word begins here: also with a capital after a small letter."""
    before = view[at - 1 : at]
    return not before.isalnum() or (before.islower() and view[at].isupper())


def is_secret(value: str, core: str, is_sure: bool, is_quoted: bool) -> bool:
    """Whether a value is a secret, given the kind that its name promises."""
    if len(value) < LEAST[core] or (" " in value):
        return False
    if is_sure and value_shape.is_gibberish(value):
        return True
    if core == "token" or not is_sure:
        return value_shape.is_random(value)
    if core == "password":
        is_pin = is_quoted and value.isdigit() and len(value) >= 6 and not value_shape.is_dummy(value)
        return value_shape.is_made_up(value) or is_pin
    if value_shape.UUID.fullmatch(value):
        return not value_shape.is_dummy(value)
    if not (value_shape.DIGIT.search(value) and value_shape.is_made_up(value)):
        return False
    return (
        is_quoted
        or len(value) >= 16
        or value_shape.is_random(value, 8)
        or bool(value_shape.SHUFFLED.search(value))
    )


def _is_weak(value: str, core: str, name: re.Match[str], is_quoted: bool) -> bool:
    """Whether a value is a secret only because nothing else can be there."""
    if core == "token":
        return value_shape.UUID.fullmatch(value) is not None and not value_shape.is_dummy(value)
    if core == "password":
        return _is_weak_password(value, name, is_quoted)
    return (
        len(value) >= LEAST[core]
        and value_shape.DIGIT.search(value) is not None
        and value_shape.is_made_up(value)
    )


def _is_weak_password(value: str, name: re.Match[str], is_quoted: bool) -> bool:
    """A plain word where only a password can be; between quotes also several words."""
    low = value.lower()
    if len(value) < 6 or value_shape.is_dummy(value) or low in name.group():
        return False
    if " " in value:
        return is_quoted and _is_phrase(value)
    # Code repeats a name as its value: FORGOT_PASSWORD = "forgotPassword".
    is_name = is_quoted and "pass" in low
    return value.isalnum() and not value.isdigit() and not is_name and not NO_PASSWORDS.fullmatch(low)


def _is_phrase(value: str) -> bool:
    """Several words that are no sentence: lower-case letters only, or with something between them that no sentence
    has."""
    words = value.split(" ")
    if len(value) > LONGEST_PHRASE or OF_SENTENCES.search(value):
        return False
    if all(word.isalpha() and word.islower() and len(word) > 2 for word in words):
        return len(words) >= 4
    signs = sum(value_shape.SIGN.search(word) is not None for word in words)
    return 2 * signs >= len(words) and value_shape.is_made_up("".join(words))


def _is_code(value: str, next_sign: str) -> bool:
    """Whether a value is a call or a look-up, up to its bracket or beyond it."""
    called = CALLED.match(value)
    return next_sign in ("(", "[", "{") or (
        called is not None and not value_shape.SHUFFLED.search(called.group()) and not GOES_ON.search(value)
    )


def _is_folder(value: str, name: re.Match[str]) -> bool:
    """Whether this is PWD, the shell's variable for the current folder."""
    before = name.string[max(0, name.start() - 4) : name.start()].removesuffix("old")
    return (
        name.group().startswith("pwd")
        and ABSOLUTE.match(value) is not None
        and not (before[-1:].isalnum() or before[-1:] in ("_", "-"))
    )


def _is_alone(view: str, start: int) -> bool:
    """Whether a line begins with the name, as in settings: then its value ends with the line."""
    line = view[max(view.rfind("\n", 0, start) + 1, start - 60) : start]
    return (
        re.fullmatch(r"\s*(?:export |set |env |- |\$env:|ENV |ARG |\+ ?|> ?|\d+[:|→\t ]+)?[\w.\[\]-]*", line)
        is not None
    )


def _place(view: str, at: int, is_alone: bool) -> Place | None:
    """The place of the value that begins here."""
    quote = view[at : at + 1]
    if quote in QUOTED:
        inner = QUOTED[quote].match(view, at + 1)
        if inner:
            return _trimmed(view, inner.start(), inner.end(), is_quoted=True)
        at += 1
    elif view[at - 1 : at] == "\\":
        # In the middle of an escape: `encodings` searches the decoded text.
        return None
    if is_alone and (line := TO_THE_END.match(view, at)):
        return _trimmed(view, line.start(), line.end(), is_quoted=False)
    bare = BARE.match(view, at)
    return _trimmed(view, bare.start(), bare.end(), is_quoted=False) if bare else None


def _trimmed(view: str, start: int, end: int, *, is_quoted: bool) -> Place | None:
    marks = " \t\\" + ESCAPED if is_quoted else "\"'`,;:.)}]>\\" + ESCAPED
    while end > start and view[end - 1] in marks:
        end -= 1
    while end > start and view[start] in " \t\\\"'`" + ESCAPED:
        start += 1
    return Place(start, end, is_quoted) if end > start else None
