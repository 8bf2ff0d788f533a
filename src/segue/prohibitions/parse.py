"""What the user forbids: files not to touch, no new dependencies, no commit, no push. Pure.

A wrong accusation is worse than a miss. A sentence counts only where it forbids outright and names all of what it
forbids. Questions, quotations and conditions do not count, and a prohibition ends when the user allows or asks for
what it forbids.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

from msgspec.structs import replace

from segue.base.lazy_regex import lazy_pattern
from segue.facts import constraints
from segue.facts.mentions import BARE_FILES, ENDINGS
from segue.model import Value


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
    n: int = 0
    """Number of the user's message."""
    since: int = 0
    """Number of the message that forbade it first, if it has held ever since."""


ADDRESSES = (
    r"(?:please|also|just|and|but|so|still|then|now|first|next|ok(?:ay)?|yes|no(?=[,.!])|sure|thanks|great|good|hi|hello|again|absolutely|definitely|finally"
    r"|(?:(?:hard|strict|important)\s+)?(?:rules?|constraints?|requirements?)|important(?:ly)?|notes?|warning|task|goal"
    r"|remember|be\s+careful|take\s+care|(?:make|be)\s+sure|ensure|it\s+is\s+important|for\s+now|whatever\s+you\s+do"
    r"|in\s+this\s+(?:step|phase|turn|pr|task|session|change|round)"
    r"|i(?:'d|\s+would)?\s+(?:want|need|like)\s+you\s+to|let's|(?:you|we)\s+(?:should|must|need\s+to|have\s+to)|(?:can|could|would|will)\s+you)\b"
    r"(?:\s+that\b)?(?:\s+you\b)?[\s,:;.!–—-]*+"
)
"""What a sentence to the agent may begin with."""
ORDERS = (
    r"(?:fix|use|add|implement|write|refactor|rewrite|change|update|edit|modify|rename|remove|delete|move|create|build|run"
    r"|test|check|look|read|review|find|investigate|debug|analy[sz]e|explain|continue|proceed|start|finish|clean|tidy"
    r"|format|reformat|convert|migrate|port|replace|extract|split|simplify|optimi[sz]e|improve|extend|adjust|adapt|bump"
    r"|upgrade|revert|restore|apply|try|keep|leave|do|don't|dont|never|avoid|no|commit|push|merge|open|prepare|document|go"
    r"|translate|set|put|work|focus|stick|solve|handle|resolve|correct|round|sort|ship|deploy|release|verify|plan|propose"
    r"|generate|draft|complete|get)\b"
)
"""How an order begins. "Make" and "let" are none: what they order is often what a product does, not the agent."""
OF_OTHERS = (
    r"(?:that|which|who|whose|where|how|so|because|since|should|must|shall|can|cannot|can't|will|won't|would|could|may|might"
    r"|it's|it\s+is|they|he|she|users?|says?|said|told|lets?|allow\w*|enabl\w*|support\w*)\b"
)
"""What shows that the rest of an order is about somebody or something else."""
BEGIN = rf"[^\w\ue000\"'“‘`]*+(?:\d+[.)]\s*)?(?:{ADDRESSES})*+"
ADDRESSED = lazy_pattern(
    rf"{BEGIN}(?:{ORDERS}(?:\"[^\"]*\"|(?!\b{OF_OTHERS})[^:\"“”])*?(?:[,;.!(–—]|\s-\s|\b(?:and|but)\b)\s*(?:{ADDRESSES})*+)?"
    rf"|(?:(?!\b(?:says?|said|told)\b)[^:\"“”])*[,;–—]\s*(?:(?:and|but)\s+)?(?:so|please)\s+(?:please\s+)?"
)
"""All that may stand before a prohibition: nothing, an address, or an order to the agent."""
ORDERED = lazy_pattern(
    rf"{BEGIN}{ORDERS}(?:\"[^\"]*\"|(?!\b(?:{OF_OTHERS}|to\b|for\b|way\b|possib\w+|\w{{2,}}able\b))[^:\"“”])*"
)
"""All that may stand before "without"."""
NOT = (
    r"\b(?:do\s+not|don't|dont|never|avoid|refrain\s+from|not\s+to|under\s+no\s+circumstances|i\s+(?:do\s+not|don't|dont)\s+want\s+you\s+to"
    r"|you\s+(?:must\s+not|mustn't|should\s+not|shouldn't|may\s+not|can\s?not|can't|are\s+not\s+(?:allowed\s+)?to))\s+"
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
    rf"\b(?:leave|keep){LEAD}\s+{TARGET}{KIND}\s+"
    r"(?:alone|untouched|unchanged|intact|as[\s-]is|exactly\s+as|as\s+(?:it\s+is|they\s+are))\b" + END
)
STAYS = lazy_pattern(
    rf"(?:\bthe\s+)?{TARGET}{KIND}\s+(?:(?:stays?|remains?)\s+(?:exactly\s+)?(?:as\s+(?:it\s+is|they\s+are|is))"
    r"|(?:must|should|ha(?:s|ve)\s+to)\s+(?:stay|remain)\s+(?:as\s+(?:it\s+is|they\s+are|is)|unchanged|untouched|intact)"
    r"|(?:is|are)\s+(?:off[\s-]limits|frozen|not\s+to\s+be\s+(?:touched|changed|modified|edited))"
    r"|(?:must\s+not|should\s+not|may\s+not|cannot|mustn't|shouldn't)\s+be\s+(?:touched|changed|modified|edited)"
    r"|(?:must\s+not|mustn't)\s+change)\b" + END
)
"""That something "stays unchanged" may be what went wrong, and forbids nothing."""
NO_CHANGES = lazy_pattern(
    rf"\b(?:no\s+(?:changes|edits|modifications)\s+(?:to|in)|hands\s+off"
    rf"|stay\s+(?:away\s+from|out\s+of)){LEAD}\s+{TARGET}{KIND}{END}"
)
DEPENDENCIES = (
    r"(?:(?:any|new|additional|extra|more|further|other|external|third[\s-]party|npm|pip|python|runtime)\s+){0,3}"
    r"(?:dependenc(?:y|ies)|deps|packages|libraries|libs)\b"
)
NO_DEPENDENCY = lazy_pattern(
    rf"{NOT}(?:add|install|introduce|adding|installing|introducing|pull\s+in)\s+(?!the\b){DEPENDENCIES}{END}"
    rf"|\b(?:with\s+)?no\s+(?:new|additional|extra|more|further)\s+{DEPENDENCIES}{END}"
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
    r"|\bno\s+(?:git\s+)?(?P<none>commits?(?:\s+or\s+push(?:es)?)?)\b"
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
"""A condition that is the user's own word: that ends every prohibition."""
CONDITION = lazy_pattern(
    r"\b(?:unless|until|except|otherwise|if|when|whenever|before|after|while|only|instead|other\s+than|besides|apart\s+from"
    r"|rather|directly|manually|by\s+hand|too\s+much|unnecessar\w+|significant\w*|more\s+than|without\s+(?:asking|my|first|a|an"
    r"|permission|approval|confirm\w*|telling|checking|running|testing)|for\s+example|e\.g\.|i\.e\."
    r"|excluding|save\s+for|aside|exceptions?|though|fine|may(?!\s+not)|no\s+longer)\b"
)
FOR_NOW = lazy_pattern(
    r"\b(?:yet|for\s+now|right\s+now|at\s+(?:this|the)\s+(?:moment|point|stage)|currently|today|this\s+time|still"
    r"|in\s+this\s+(?:step|phase|turn|pr|task|session|change|round))\b"
)
TOKEN = lazy_pattern(r"`([^`\n]{1,200})`|(?<![\w`/.@:])(~?[\w.*/@+-]*[\w*/])")
WORD_FOLDER = lazy_pattern(r"\b(the|our|my|any|in|inside|under)\s+([a-z][\w-]{1,40})\s+(folder|directory)\b")
PLAIN = lazy_pattern(r"(?:\.{0,2}/)?[\w@+.-]+(?:/[\w@+.*-]+)*/?|\*[\w.*/-]+")
ANOTHER_ACT = lazy_pattern(
    r"\s*[,;–—-]?\s*(?:(?:but|just|then|and|only)\s+)*"
    r"(?:chang|edit|modif|updat|fix|rewrit|refactor|renam|delet|remov|mov|add|format|reformat|replac|creat)\w*\b"
)
"""An order right behind a prohibition: "don't rename x.py, delete it"."""
EXCEPTS = lazy_pattern(r"(?i)\s*(?:but\s+)?(?:except|exception|excluding|other\s+than|apart\s+from)\b")
REPORTS = lazy_pattern(
    r"\W*(?:(?:steps|how)\s+to\s+reproduce|to\s+reproduce|repro(?:duction)?(?:\s+steps)?|(?:expected|actual|observed)\b[\w\s]{0,20})"
    r"\W*(?::|$)"
)
LABEL = lazy_pattern(r".*(?::|\bfollowing\b\.?)[\s*_]*$")
OWN_LABEL = lazy_pattern(
    r"\W*(?:(?:some|a\s+few|please|follow|obey|these|the|my|your|hard|strict|important|additional|other|general)\s+)*"
    r"(?:rules?|constraints?|requirements?|notes?|important|guidelines|instructions|conditions|limits|scope|task|remember)\W*"
)
BOLD = lazy_pattern(r"(?<!/)\*\*(?!/)")
OFTEN = lazy_pattern(r"never\b|avoid\b|refrain\b")
JOINED = lazy_pattern(r"\w.*\b(?:and|but)\s+$")
LONGEST = 400
DELETES = ("delete", "deleting", "remove", "removing", "rename", "renaming", "move", "moving")
CREATES = ("create", "creating")
TOUCHES = ("touch", "touching", "mess", "write")


def in_sentence(sentence: str, n: int = 0, *, is_for_now: bool = False) -> Iterator[Prohibition]:
    """What one sentence forbids."""
    text = UNTIL_AGREED.sub("", sentence.strip())
    low = constraints.plain(text)
    if len(text) > LONGEST or low.endswith(("?", "？")) or CONDITION.search(low):
        return
    names, marked = _marked(BOLD.sub("", text))
    shown = marked.strip(" *_>#")
    is_for_now = is_for_now or FOR_NOW.search(low) is not None

    def made(ban: Ban, target: str = "", *, is_folder: bool = False) -> Prohibition:
        return Prohibition(
            ban=ban,
            sentence=sentence.strip(),
            target=target,
            is_folder=is_folder,
            is_for_now=is_for_now,
            n=n,
        )

    for pattern in (FORBIDS, WITHOUT, LEAVE, STAYS, NO_CHANGES):
        for found in _addressed(pattern, shown):
            if ANOTHER_ACT.match(shown, found.end()):
                continue
            ban = _ban(found.groupdict().get("verb") or "touch")
            first = shown[: found.start("targets")].count("\ue000")
            is_folder = (found["noun"] or "").strip().startswith(("folder", "director", "tree"))
            last = first + found["targets"].count("\ue000")
            for name in names[first:last]:
                if name in names[last:]:
                    continue  # the sentence goes on to speak of it
                yield made(ban, name, is_folder=is_folder or name.endswith("/"))
    if any(_addressed(NO_DEPENDENCY, shown)):
        yield made(Ban.DEPENDENCY)
    for kept in itertools.islice(_addressed(NO_COMMIT, shown), 1):
        what = next(filter(None, kept.groups()))
        yield from (made(ban) for ban in (Ban.COMMIT, Ban.PUSH) if ban.value in what)
    for pushed in itertools.islice(_addressed(NO_PUSH_TO, shown), 1):
        yield made(Ban.PUSH, pushed["branch"])


def _addressed(pattern: re.Pattern[str], shown: str) -> Iterator[re.Match[str]]:
    """Where a sentence forbids something to the agent: not what programs and people do, or what somebody said."""
    for found in pattern.finditer(shown):
        before = shown[: found.start()]
        whole = ORDERED if found.group().startswith("with") else ADDRESSED
        # "Build it and never push" may be what is to be built.
        if whole.fullmatch(before) and not (OFTEN.match(found.group()) and JOINED.search(before)):
            yield found


def _ban(verb: str) -> Ban:
    word = verb.split()[0]
    if word in DELETES:
        return Ban.DELETE
    return Ban.CREATE if word in CREATES else Ban.TOUCH if word in TOUCHES else Ban.EDIT


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
    return names, constraints.plain(TOKEN.sub(mark, text))


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

WORK = (
    r"(?:chang|edit|modif|updat|fix|rewrit|refactor|renam|delet|remov|mov|add|touch|format|clean|replac|implement|writ"
    r"|adapt|migrat|convert|drop|bump|adjust|improv|extend|creat|put|revert|simplif|correct|apply|mak)\w*"
)
ASKS = lazy_pattern(rf"\b{WORK}\b")
LOOKS = (
    r"(?:look|read|review|analy[sz]e|inspect|explore|investigate|explain|describe|plan|propose|discuss|think)"
)
ONLY_LOOKS = lazy_pattern(
    rf"\b(?:only|just|first)\s+{LOOKS}\b|\b{LOOKS}\b[^.;!?]{{0,60}}\b(?:first|only)\b|\b(?:analysis|review|read)[\s-]only\b"
)
"""A task of looking: what it forbids holds until the user speaks again."""
ANYTHING = lazy_pattern(
    r"\byou\s+(?:may|can)\b[^.]{0,40}\b(?:change|touch|edit|modify)\s+(?:anything|everything|all|it|them|that|any\s+file)\b"
    r"|\bforget\s+(?:what|that|it|about)\b|\bnever\s?mind\b|\bfair\s+game\b"
)
"""What takes back also what the same message forbids."""
GRANTS = lazy_pattern(
    r"^\W*(?:yes|yep|yeah|sure|go|right|implement|apply)\b"
    r"|\b(?:allow\w*|permit\w*|permission|lift\w*|unlock\w*|unfreez\w*|freeze|frozen|off[\s-]limits|restrict\w*|ignore|free\s+to|fine"
    r"|ok(?:ay)?|lgtm|go\s+(?:ahead|for\s+it|on)|proceed|continue|agree\w*|approv\w*|accept\w*|trust"
    r"|no\s+(?:longer|objections?|problem)|any\s?more|after\s+all|my\s+mind|(?:you|we)\s+(?:may|can|could)|can\s+be"
    r"|(?:which|what)ever|any\s+way|everywhere|everything|whole|entire|all|option|plan|approach"
    r"|(?:propos|suggest|recommend)\w*|(?:the|that|this|those|these)\s+(?:files?|folders?|modules?|director(?:y|ies))"
    r"|the\s+(?:first|second|third|last|former|latter|other|fix|repo(?:sitory)?|project|code|codebase))\b"
    rf"|\b(?:{WORK}|(?:do|execut|build|finish|complet|start|work|resolv|address|handl|go|us|try)\w*)\s+"
    r"(?:(?:on|of|with|the|up|out|in)\s+){0,3}"
    r"(?:it|this|that|these|those|them|your|what|as|(?:\w+\s+)?"
    r"(?:changes?|edits?|findings|issues|rest|steps?|phase|part))\b"
)
"""A permission, a yes, or an order that may be about anything: "fix all of these", "implement your plan"."""
FEW_WORDS = 3
"""A sentence that begins with so few words and a pause, or ends there, may say yes, in whatever words."""
PAUSE = lazy_pattern(r"[,;!–—]|\.(?!\w)")
REFUSES = lazy_pattern(
    r"[/#]|\d+[.)]|.*(?:[?:]\s*$|\b(?:no|nope|not|don't|dont|never|stop|wait|cancel|abort|undo|revert)\b)"
)
"""The short ones that do not: also numbers of a list, headings, and commands for the agent's program."""
NEGATED = lazy_pattern(
    rf"(?<!why )\b(?:not|don't|dont|never|no|without)\s+(?:(?:to|ever|please|even|again|any|git|new|more)\s+)*"
    rf"(?:touch|mess|{EDITS}|delet|remov|renam|mov|creat|add|install|introduc|commit|push|dependenc|package|librar)\w*"
    r"(?:(?!\b(?:and|but|except|other|unless|until|besides|apart|then|instead|only)\b)(?:[^,.;!?]|\.(?=\w)))*+"
)
"""What a sentence forbids, perhaps once more: it lifts nothing."""
RELEASE = (
    r"\bpush|\bpull[\s-]request|\bprs?\b|\bship\b|\breleas|\bdeploy|\bmerge|\bland\b|\bpublish|\bsubmit"
    r"|\bcheck\s+(?:it|them|this)\s+in\b"
)
SPEAKS_OF = {
    Ban.COMMIT: lazy_pattern(rf"\bcommit|{RELEASE}"),
    Ban.PUSH: lazy_pattern(RELEASE),
    Ban.DEPENDENCY: lazy_pattern(
        r"\b(?:install|dependenc|package|librar|add|us(?:e|ing)|switch|adopt|replac|migrat|try|need|import|pip|npm|cargo|uv)\w*\b"
        r"|\b(?:pull|bring)(?:\s+\S+)?\s+in\b|\bgo\s+(?:with|for)\b|\bfine\b|\bok(?:ay)?\b"
    ),
}
"""For what is no file: what speaks of it."""


def in_messages(messages: Iterable[str]) -> tuple[Prohibition, ...]:
    """What the user's messages, in their order, forbid in the end."""
    holding: list[Prohibition] = []
    for n, message in enumerate(messages):
        if message.strip():
            holding = [one for one in holding if not one.is_for_now]
        is_looking = ONLY_LOOKS.search(constraints.plain(message)) is not None
        own = set(constraints.sentences(_own(message)))
        for sentence in constraints.sentences(message):
            found = list(in_sentence(sentence, n, is_for_now=is_looking)) if sentence in own else []
            if not found and EXCEPTS.match(sentence):
                holding = [one for one in holding if one.n != n]
            held = {(one.ban, one.target): one.since for one in holding}
            known = {(one.ban, one.target) for one in found}
            found = [replace(one, since=held.get((one.ban, one.target), n)) for one in found]
            holding = [
                one
                for one in holding
                if (one.ban, one.target) not in known and not _is_lifted(one, sentence, is_later=one.n < n)
            ] + found
    return tuple(holding)


def _own(message: str) -> str:
    """A message without the lines that quote somebody, and without what stands below a line that introduces something
    else than the user's rules: steps to reproduce, or text that is to be written somewhere."""
    own: list[str] = []
    is_aside = is_opening = False
    for line in message.split("\n"):
        low = constraints.plain(line)
        is_aside = is_aside and (is_opening or bool(line.strip()))
        is_report = REPORTS.match(low) is not None
        if not is_aside and not is_report and not line.lstrip().startswith((">", "# ", "//")):
            own.append(line)
        is_label = LABEL.match(low) is not None and not OWN_LABEL.fullmatch(low)
        is_opening = is_report or is_label
        is_aside = is_aside or is_opening
    return "\n".join(own)


def _is_lifted(one: Prohibition, sentence: str, *, is_later: bool) -> bool:
    """Whether a sentence of the user speaks of what was forbidden without forbidding it, or, in a later message, may
    permit it. That may lift more than the user meant: a miss is better than a wrong accusation."""
    low = NEGATED.sub(" ", constraints.plain(sentence))
    if ANYTHING.search(low) or (is_later and (GRANTS.search(low) or _may_be_yes(sentence))):
        return True
    if one.ban in SPEAKS_OF:
        return SPEAKS_OF[one.ban].search(low) is not None
    target, (named, _) = one.target.lower(), _marked(low[:LONGEST])
    if any(f"/{name.strip('./')}/" in f"/{target}/" for name in named):
        return True
    last = target.rstrip("/").rpartition("/")[2]
    stem = last.partition(".")[0].replace("*", "")
    if (last.replace("*", "") or "*") in low or (len(stem) > 3 and stem.rstrip("s") in low):
        return True
    is_folder = one.is_folder or "." not in last
    return is_folder and bool(named) and ASKS.search(low) is not None


def _may_be_yes(sentence: str) -> bool:
    begin = PAUSE.split(sentence, maxsplit=1)[0]
    is_short = 0 < len(begin.split()) <= FEW_WORDS and len(begin) <= LONGEST
    return (
        is_short
        and not REFUSES.match(constraints.plain(sentence[: len(begin) + 1]))
        and not _marked(begin)[0]
    )
