"""What the user forbids: files not to touch, no new dependencies, no commit, no push. Pure.

A wrong accusation is worse than a miss. A sentence counts only where it forbids outright and names all of what it
forbids. Questions, quotations and conditions do not count, and a prohibition ends when the user allows or asks for
what it forbids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

from segue.facts import speech
from segue.facts.mentions import BARE_FILES, ENDINGS
from segue.model import Value
from segue.patterns import lazy_pattern


class Ban(StrEnum):
    """What is forbidden."""

    TOUCH = "touch"
    """To change a file in any way, or to add one to a folder."""
    EDIT = "edit"
    DELETE = "delete"
    """To delete, rename or move."""
    CREATE = "create"
    DEPENDENCY = "add a dependency"
    COMMIT = "commit"
    PUSH = "push"


class Prohibition(Value, frozen=True):
    """One thing that the user forbids."""

    ban: Ban
    sentence: str
    """The user's words."""
    target: str = ""
    """The file, folder or glob as the user names it, or the branch not to push to; empty where all is meant."""
    is_folder: bool = False
    """Whether the user calls it a folder."""
    is_for_now: bool = False
    """Whether it holds only until the user speaks again."""
    is_until_agreed: bool = False
    """Whether any agreement of the user ends it: they said "unless I say so"."""
    n: int = 0
    """Number of the user's message."""


NOT = (
    r"(?:^|[,;:.(–—-]\s*|\b(?:and|but|please|so|then|also|just|again|sure|ensure|remember|said|important|you)\s+"
    r"(?:that\s+)?(?:you\s+)?(?:to\s+)?)"
    r"(?:(?:please|also|just|and|but|so|you|again|absolutely|definitely),?\s+){0,2}"
    r"(?:do\s+not|don't|dont|never|must\s+not|mustn't|should\s+not|shouldn't|may\s+not|can\s?not|can't"
    r"|are\s+not\s+(?:allowed\s+)?to|not\s+to|under\s+no\s+circumstances|avoid|refrain\s+from"
    r"|i\s+(?:do\s+not|don't|dont)\s+want\s+you\s+to)\s+"
    r"(?:(?:ever|please|just|even|in\s+any\s+way)\s+)?"
)
EDITS = (
    r"modify|modifying|edit|editing|change|changing|alter|altering|update|updating|rewrite|refactor|overwrite"
)
VERB = (
    rf"(?P<verb>touch(?:ing)?|mess(?:ing)?\s+with|{EDITS}|delete|deleting|remove|removing|rename|renaming|move|moving"
    r"|create|creating|write\s+to)"
    rf"(?:\s*(?:,|/|\bor\b|\band\b)\s*(?:{EDITS}|touch|delete|remove|rename|move|commit)\b){{0,3}}"
)
LEAD = (
    r"(?:\s+(?:the|any|any\s+of|any\s+of\s+the|our|my|this|that|these|those|existing|all|all\s+of|all\s+the"
    r"|files?|folders?|director(?:y|ies)|modules?|code|anything|anything\s+else)){0,3}"
    r"(?:\s+(?:in|inside|under|within|below)(?:\s+(?:the|our|my))?)?"
    r"(?:\s+(?:files?|folders?|director(?:y|ies)|modules?))?"
)
TARGET = r"(?P<targets>\ue000(?:(?:\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|nor)\s+)(?:the\s+)?\ue000)*)"
KIND = r"(?P<noun>\s+(?:files?|folders?|director(?:y|ies)|modules?|tree))?"
END = (
    r"(?=\s*(?:$|[.!;:)–—]|,|-\s|\s(?:at\s+all|please|itself|themselves|either|in\s+any\s+way|whatsoever|yet|for\s+now"
    r"|again|because|since|as\s+it|as\s+they|it\s+is|it's|they\s+are|they're|and\s+(?:do\s+not|don't|never|please)"
    r"|but\b)))"
)
FORBIDS = lazy_pattern(NOT + VERB + LEAD + r"\s+" + TARGET + KIND + END)
WITHOUT = lazy_pattern(
    rf"\bwithout\s+(?P<verb>touching|modifying|editing|changing|altering|deleting|removing|renaming){LEAD}\s+{TARGET}{KIND}{END}"
)
LEAVE = lazy_pattern(
    rf"(?:^|[,;:.(–—-]\s*|\b(?:and|but|please|so|then|also|just)\s+)(?:leave|keep){LEAD}\s+{TARGET}{KIND}\s+"
    r"(?:alone|untouched|unchanged|intact|as[\s-]is|exactly\s+as|as\s+(?:it\s+is|they\s+are))\b" + END
)
STAYS = lazy_pattern(
    rf"(?:^|[,;:.(–—-]\s*|(?<!\ue000 )\b(?:and|but|please|so|then|also|the)\s+){TARGET}{KIND}"
    r"\s+(?:must\s+|should\s+|has\s+to\s+|have\s+to\s+)?"
    r"(?:(?:stays?|remains?)\s+(?:exactly\s+)?(?:as\s+(?:it\s+is|they\s+are|is)|unchanged|untouched|intact)"
    r"|(?:is|are)\s+(?:off[\s-]limits|frozen|not\s+to\s+be\s+(?:touched|changed|modified|edited))"
    r"|(?:must\s+not|should\s+not|may\s+not|cannot|mustn't|shouldn't)\s+be\s+(?:touched|changed|modified|edited)"
    r"|(?:must\s+not|mustn't)\s+change)\b" + END
)
NO_CHANGES = lazy_pattern(
    rf"(?:^|[,;:.(–—-]\s*|\b(?:and|but|please|make)\s+)(?:no\s+(?:changes|edits|modifications)\s+(?:to|in)|hands\s+off"
    rf"|stay\s+(?:away\s+from|out\s+of)){LEAD}\s+{TARGET}{KIND}{END}"
)
DEPENDENCIES = (
    r"(?:(?:any|new|additional|extra|more|further|other|external|third[\s-]party|npm|pip|python|runtime)\s+){0,3}"
    r"(?:dependenc(?:y|ies)|deps|packages|libraries|libs)\b"
)
NO_DEPENDENCY = lazy_pattern(
    rf"{NOT}(?:add|install|introduce|adding|installing|introducing|pull\s+in)\s+(?!the\b){DEPENDENCIES}{END}"
    r"|(?:^|[,;:.(–—-]\s*|\b(?:and|but|please|with)\s+)no\s+(?:new|additional|extra|more|further)\s+"
    rf"{DEPENDENCIES}{END}"
    rf"|{NOT}(?:use|using|bring\s+in)\s+(?:any\s+)?(?:new|additional|extra|more|further)\s+{DEPENDENCIES}{END}"
    rf"|\bwithout\s+(?:(?:adding|installing|introducing)\s+(?!the\b)|(?:any\s+)?(?:new|additional|extra)\s+){DEPENDENCIES}{END}"
)
IT_ALL = (
    r"(?:\s+(?:anything|yet|now|code"
    r"|(?:any\s+|your\s+|the\s+|these\s+|those\s+)?(?:changes|code|work|files)(?:\s+to\s+git)?))?"
)
"""What stands behind "commit" where everything is meant. "It" and "this" may be one file."""
LISTED = (
    rf"{NOT}(?:{EDITS}|touch|write|stage|merge|delete|remove|install)\b[^.;:?!]{{0,60}}?"
    r"(?:\bor\s+|,\s*(?=(?:commit|push)\b[^.;:]*\bor\b))(?:git\s+)?"
)
"""The start of a list of verbs that is forbidden as a whole: "do not edit files, commit, or merge"."""
PAIR = r"commit(?:\s*(?:,|/|or|and)\s*(?:git\s+)?push)?|push(?:\s*(?:,|/|or|and)\s*commit)?"
NO_COMMIT = lazy_pattern(
    rf"{NOT}(?:git\s+)?(?P<what>{PAIR}){IT_ALL}(?:{END}|(?=/))"
    rf"|{LISTED}(?P<listed>{PAIR}){IT_ALL}{END}"
    rf"|{NOT}(?:make|create)\s+(?:any\s+)?(?:git\s+)?(?P<made>commit)s{END}"
    r"|(?:^|[,;:.(–—-]\s*|\b(?:and|but|please)\s+)no\s+(?:git\s+)?(?P<none>commits?(?:\s+or\s+push(?:es)?)?)\b"
    r"(?=\s*(?:$|[.!;)–—]))"
)
NO_PUSH_TO = lazy_pattern(
    rf"{NOT}(?:git\s+)?push\s+(?:anything\s+)?(?:in)?to\s+(?:the\s+)?(?:origin/)?`?(?P<branch>main|master|develop|trunk)`?"
    rf"(?:\s+branch)?{END}"
)
"""A branch that is not to be pushed to: only names that cannot be of a remote or a server."""
UNTIL_AGREED = lazy_pattern(
    r"(?i),?\s+(?:unless|until)\s+i\s+(?:explicitly\s+)?(?:say\s+(?:so|otherwise)|tell\s+you(?:\s+(?:to|so|otherwise))?"
    r"|ask\s+(?:you\s+to|for\s+it)|allow\s+it|approve(?:\s+it)?)(?=\s*[.!]*\s*$)"
)
"""A condition that is the user's own word."""
AGREES = lazy_pattern(
    r"\W*(?:y|yes|yep|yeah|ok|okay|sure|fine|please\s+do|go\s+(?:ahead|for\s+it)|do\s+(?:it|so|that)|allowed|approved"
    r"|agreed|granted|permitted|you\s+(?:may|can))\b"
)
CONDITION = lazy_pattern(
    r"\b(?:unless|until|except|otherwise|if|when|whenever|before|after|while|only|instead|other\s+than|besides|apart\s+from"
    r"|rather|directly|manually|by\s+hand|too\s+much|unnecessar\w+|significant\w*|more\s+than|without\s+(?:asking|my|first|a|an"
    r"|permission|approval|confirm\w*|telling|checking|running|testing)|for\s+example|e\.g\.|i\.e\."
    r"|excluding|save\s+for|aside|exceptions?|though|fine|may(?!\s+not)|no\s+longer|never\s+said|used\s+to)\b"
)
FOR_NOW = lazy_pattern(
    r"\b(?:yet|for\s+now|right\s+now|at\s+(?:this|the)\s+(?:moment|point|stage)|currently|today|this\s+time|still"
    r"|in\s+this\s+(?:step|phase|turn|pr|task|session|change|round))\b"
)
REPORTED = lazy_pattern(
    r"\b(?:says?|states?|told|tells|reads|comment|header|warning|error|message|docs?|readme|they|he|she|claims?)\b"
    r"[^.;]{0,40}$"
)
TOKEN = lazy_pattern(r"`([^`\n]{1,200})`|(?<![\w`/.@:])(~?[\w.*/@+-]*[\w*/])")
WORD_FOLDER = lazy_pattern(r"\b(the|our|my|any|in|inside|under)\s+([a-z][\w-]{1,40})\s+(folder|directory)\b")
PLAIN = lazy_pattern(r"(?:\.{0,2}/)?[\w@+.-]+(?:/[\w@+.*-]+)*/?|\*[\w.*/-]+")
SPEAKER = lazy_pattern(
    r"(?<!important)(?<!note)(?<!rules)(?<!rule)(?<!constraint)(?<!constraints)(?<!please)(?<!also)(?<!remember)"
    r"(?<!default)[\w`\ue000-]:\s*$"
)
"""Words and a colon right before a prohibition: somebody else's words, or what a program prints."""
ANOTHER_ACT = lazy_pattern(
    r"\s*[,;–—-]?\s*(?:(?:but|just|then|and|only)\s+)*"
    r"(?:chang|edit|modif|updat|fix|rewrit|refactor|renam|delet|remov|mov|add|format|reformat|replac|creat)\w*\b"
)
"""An order right behind a prohibition: "don't rename x.py, delete it"."""
EXCEPTS = lazy_pattern(r"(?i)\s*(?:but\s+)?(?:except|exception|excluding|other\s+than|apart\s+from)\b")
DICTATED = lazy_pattern(r"\b(?:add|write|put|insert|append|include|paste|set|say)\b.*:\s*$")
QUOTES = lazy_pattern('["“”]')
LONGEST = 400
DELETES = ("delete", "deleting", "remove", "removing", "rename", "renaming", "move", "moving")
CREATES = ("create", "creating")
TOUCHES = ("touch", "touching", "mess", "write")


def in_sentence(sentence: str, n: int = 0) -> Iterator[Prohibition]:
    """What one sentence forbids."""
    text = UNTIL_AGREED.sub("", sentence.strip())
    low = speech.plain(text)
    if len(text) > LONGEST or low.endswith(("?", "？")) or CONDITION.search(low):
        return
    names, marked = _marked(text.replace("**", ""))
    shown = marked.strip(" *_>#")
    is_for_now = FOR_NOW.search(low) is not None

    def made(ban: Ban, target: str = "", *, is_folder: bool = False) -> Prohibition:
        return Prohibition(
            ban=ban,
            sentence=sentence.strip(),
            target=target,
            is_folder=is_folder,
            is_for_now=is_for_now,
            is_until_agreed=text != sentence.strip(),
            n=n,
        )

    for pattern in (FORBIDS, WITHOUT, LEAVE, STAYS, NO_CHANGES):
        for found in pattern.finditer(shown):
            if _is_quoted(shown, found.start()) or ANOTHER_ACT.match(shown, found.end()):
                continue
            ban = _ban(found.groupdict().get("verb") or "touch")
            first = shown[: found.start("targets")].count("\ue000")
            is_folder = (found["noun"] or "").strip().startswith(("folder", "director", "tree"))
            last = first + found["targets"].count("\ue000")
            for name in names[first:last]:
                if name in names[last:]:
                    continue  # the sentence goes on to speak of it
                yield made(ban, name, is_folder=is_folder or name.endswith("/"))
    if (added := NO_DEPENDENCY.search(shown)) and not _is_quoted(shown, added.start()):
        yield made(Ban.DEPENDENCY)
    if (kept := NO_COMMIT.search(shown)) and not _is_quoted(shown, kept.start()):
        what = next(filter(None, kept.groups()))
        yield from (made(ban) for ban in (Ban.COMMIT, Ban.PUSH) if ban.value in what)
    if (pushed := NO_PUSH_TO.search(shown)) and not _is_quoted(shown, pushed.start()):
        yield made(Ban.PUSH, pushed["branch"])


def _ban(verb: str) -> Ban:
    word = verb.split()[0]
    if word in DELETES:
        return Ban.DELETE
    return Ban.CREATE if word in CREATES else Ban.TOUCH if word in TOUCHES else Ban.EDIT


def _is_quoted(text: str, at: int) -> bool:
    """Whether something else than the user says it: inside quotation marks, or what a file or another person says."""
    before = text[:at]
    if SPEAKER.search(text[: at + 1] if text[at : at + 1] == ":" else before):
        return True
    return len(QUOTES.findall(before)) % 2 == 1 or REPORTED.search(before) is not None


def _marked(text: str) -> tuple[list[str], str]:
    """The paths in a sentence, and the sentence in lower case with one letter for each of them."""
    names: list[str] = []

    def mark(found: re.Match[str]) -> str:
        ticked, bare = found.groups()
        name = ticked.strip() if ticked else bare
        trail = ""
        if not ticked:
            kept = name.rstrip(".")
            name, trail = kept, name[len(kept) :]
        if not _is_target(name, is_ticked=bool(ticked)):
            return found.group()
        names.append(name)
        return "\ue000" + trail

    text = WORD_FOLDER.sub(r"\1 `\2/` \3", text)
    return names, speech.plain(TOKEN.sub(mark, text))


def _is_target(name: str, *, is_ticked: bool) -> bool:
    """Whether a word names files: with a folder, an ending of a file, or a star."""
    if not PLAIN.fullmatch(name) or "//" in name or name in ("/", ".", "..", "*", "and/or", "n/a"):
        return False
    last = name.rstrip("/").rpartition("/")[2]
    stem, dot, ending = last.rpartition(".")
    is_file = last in BARE_FILES or (bool(dot) and bool(stem or last) and ending.lower() in ENDINGS)
    if is_file or name.endswith("/") or "*" in name:
        return True
    return "/" in name and (is_ticked or name.count("/") > 1 or name.startswith(("./", "src/", "tests/")))


# What holds in the end

ASKS = lazy_pattern(
    r"\b(?:chang|edit|modif|updat|fix|rewrit|refactor|renam|delet|remov|mov|add|touch|format|clean|replac|implement|writ"
    r"|adapt|migrat|convert|drop|bump|adjust|improv|extend|creat|put|revert|simplif|correct|apply|mak)\w*\b"
)
ANYTHING = lazy_pattern(
    r"\b(?:you|feel)\s+(?:may|can|free\s+to)\b[^.]{0,40}\b(?:change|touch|edit|modify)\s+"
    r"(?:anything|everything|all|it|them|that|any\s+file)\b"
    r"|\bforget\s+(?:what\s+i\s+said|that|the|about)\b|\bignore\s+(?:my|the)\s+(?:earlier|previous)\b"
    r"|\bwhatever\s+you\s+(?:want|like|need)\b|\bfair\s+game\b|\bnever\s?mind\b|\brestrictions?\b"
)
REPEATED = lazy_pattern(r"\b(?:said|told|remember|still|again)\b.*\b(?:not|don't|dont|never|no)\b")
NOT_NEAR = r"\b(?:not|don't|dont|never|no|without)\s+(?:[\w/]+\s+){0,3}"
RELEASE = r"\bpush|\bpull request|\bpr\b|\bship\b|\brelease\b|\bdeploy|\bcheck\s+(?:it|them|this)\s+in\b"
SPEAKS_OF = {
    Ban.COMMIT: (
        lazy_pattern(rf"\bcommit|{RELEASE}"),
        lazy_pattern(rf"{NOT_NEAR}commit"),
    ),
    Ban.PUSH: (lazy_pattern(RELEASE), lazy_pattern(rf"{NOT_NEAR}(?:git\s+)?push")),
    Ban.DEPENDENCY: (
        lazy_pattern(
            r"\b(?:install|dependenc|package|librar|add|use|pip|npm|cargo|uv)\w*\b|\bpull\s+in\b|\bis\s+fine\b"
        ),
        lazy_pattern(rf"{NOT_NEAR}(?:dependenc|package|librar|install)"),
    ),
}
"""For what is no file: what speaks of it, and what forbids it once more."""


def in_messages(messages: Iterable[str]) -> tuple[Prohibition, ...]:
    """What the user's messages, in their order, forbid in the end."""
    holding: list[Prohibition] = []
    for n, message in enumerate(messages):
        if message.strip():
            holding = [one for one in holding if not one.is_for_now]
        for sentence in speech.sentences(_own(message)):
            found = list(in_sentence(sentence, n))
            if not found and EXCEPTS.match(sentence):
                holding = [one for one in holding if one.n != n]
            known = {(one.ban, one.target) for one in found}
            holding = [
                one for one in holding if (one.ban, one.target) not in known and not _is_lifted(one, sentence)
            ] + found
    return tuple(holding)


def _own(message: str) -> str:
    """A message without the lines that quote somebody, and without text that is to be written somewhere."""
    own: list[str] = []
    is_dictated = False
    for line in message.split("\n"):
        if not line.strip():
            is_dictated = False
        if not is_dictated and not line.lstrip().startswith((">", "# ", "//")):
            own.append(line)
        is_dictated = is_dictated or DICTATED.search(line.lower()) is not None
    return "\n".join(own)


def _is_lifted(one: Prohibition, sentence: str) -> bool:
    """Whether a later sentence of the user speaks of what was forbidden, and does not forbid it again. That may lift
    more than the user meant: a miss is better than a wrong accusation."""
    low = speech.plain(sentence)
    if REPEATED.search(low):
        return False
    if ANYTHING.search(low) or (one.is_until_agreed and AGREES.match(low)):
        return True
    if one.ban in SPEAKS_OF:
        speaks, forbids = SPEAKS_OF[one.ban]
        return speaks.search(low) is not None and forbids.search(low) is None
    last = one.target.rstrip("/").rpartition("/")[2].lower()
    stem = last.partition(".")[0].replace("*", "")
    if (last.replace("*", "") or "*") in low or (len(stem) > 3 and stem.rstrip("s") in low):
        return True
    is_folder = one.is_folder or "." not in last
    return is_folder and ASKS.search(low) is not None and bool(_marked(sentence)[0])
