"""Constraints and corrections in the user's words, and open intents in the agent's. Pure.

The rules describe language, not projects: a sentence that forbids, requires or prefers is a constraint; one that
says the agent went wrong is a correction. One sentence too many is better than a lost one, so in doubt it is a
constraint.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator

from segue.base.lazy_regex import lazy_pattern
from segue.base.text import begun, ended
from segue.facts.pasted_text import lines_fenced, lines_pasted

# Searched in lower-case text, which is much faster than ignoring case.
FORBIDS = lazy_pattern(
    r"\b(?:do {1,3}not|don'?t|dont|never|must ?n[o']t|should ?n[o']t|shouldnt|may not|can ?not|cannot|can'?t|won'?t"
    r"|wont|under no circumstances|no need|not? (?:to|allowed)|avoid|without|refrain"
    r"|leave .{1,40}alone|hands off|forbidden|off[- ]limits"
    r"|stay away|(?:is|are) frozen|no (?:new|more|other|additional|extra|further)|leave .{1,40}as (?:it is|they are|is)"
    r"|not in (?:main|master|production)|keep .{1,40}(?:as is|unchanged|untouched|intact))\b"
    r"|\b(?:nicht|niemals|kein(?:e[nmrs]?)?|ohne|ne \w+ pas|jamais|nunca|jamás|não|senza"
    r"|non \w{3,}|niet|geen|nie \w{3,}|nigdy|не)\b|n'\w+ pas\b|lass \w+.{0,40} in ruhe\b"
    r"|不要|別|别|不能|不可|禁止|不得|勿|しない|ないで|하지 ?마|마세요|не надо|нельзя|никогда"
)
REQUIRES = lazy_pattern(
    r"\b(?:must|always|only|make sure|ensure|be sure|needs? to|has to|have to|required?|shall|should|exactly"
    r"|at (?:most|least)|no (?:more|less) than|stick (?:to|with)|keep|remember|important|prefer(?:ably)?"
    r"|rather than|instead(?: of)?|before you|until|unless|mandatory|strictly|just use"
    r"|use .{1,60} (?:not|instead)|as long as|limit|requirements?|better not)\b"
    r"|\b(?:immer|nur|muss|müssen|sollte|stattdessen|toujours|seulement|doit|siempre|sólo|debe|sempre|apenas|deve)\b"
    r"|必須|必须|務必|务必|一定|只能|只用|請確保|请确保|確保|确保|總是|总是|应该|應該|必ず|のみ|べき|반드시|항상|всегда|только|должн|обязательно"
)
INSISTS = lazy_pattern(
    r"\b(?:do {1,3}not|don'?t|dont|never|without|avoid|must|always|only|make sure|ensure|instead|rather than)\b"
)
"""Binding even in a question: 'can you make sure that ...?'"""
FIRM = lazy_pattern(
    r"\b(?:under no circumstances"
    r"|do {1,3}not|don'?t|dont|never|must ?n[o']t|must|always|only|avoid|refrain|forbidden|not allowed|off[- ]limits"
    r"|hands off|stay away|frozen|no (?:new|additional|extra)|leave .{1,40}(?:alone|as (?:it is|is))"
    r"|keep .{1,40}(?:as is|unchanged|untouched|intact)"
    r"|nicht|niemals|jamais|nunca|jamás|não|niet|nooit|nigdy|не|immer|nur|toujours|siempre|sólo|sempre)\b"
    r"|不要|別|别|不能|不可|禁止|不得|勿|必須|必须|しない|ないで|必ず|하지 ?마|마세요|반드시|нельзя|никогда|только"
)
"""Firm words, which must never be lost; 'can't' and 'without' also occur in reports."""
CORRECTION = lazy_pattern(
    r"^\s*(?:no\b|nope|wrong|stop\b|wait\b|hmm+,? no|actually\b|not (?:that|what|like|quite|the))"
    r"|\b(?:that'?s (?:wrong|not (?:right|what|it|true|correct|how))|that is (?:wrong|not)"
    r"|i (?:said|told you|meant|mean)|you (?:forgot|missed|broke|ignored|misunderstood|removed|deleted|didn'?t)"
    r"|(?:undo|revert) (?:that|this|it|your|the)|not what i|try again|doesn'?t work|does not work|not working"
    r"|still (?:fails?|failing|broken|wrong|not|see|getting|get|have|the same)"
    r"|is(?:n'?t| not) (?:right|correct|working|true)|should (?:be|have been)|instead of)\b"
    r"|\bnot? [\w./`'\"-]{1,60},? (?:but|use|rather|instead)\b|不對|不对|錯了|错了|不是這|不是这|違う|아니"
)
STATES = lazy_pattern(
    r"\bnever ?mind\b|\bi (?:do not|don'?t|didn'?t|dont) (?:know|remember|understand|mind)\b"
    r"|\bthere(?:'s| is| are| was| were) only\b(?![^.!?\n]{0,200}(?:\b(?:may|must|can)\b|:))"
    r"|\b(?:that|this|it)(?:'s| is| was) the only (?:thing|one|way|place|reason)\b"
    r"|\b(?:we|they|you)(?:'re| are) only (?=\w+ing\b)"
    r"|^no[,.!]? (?:i think )?(?:this|that|it|all|everything)(?: is|'s| looks)?"
    r" (?:fine|good|ok(?:ay)?|great|right|correct)\b"
    r"|^no (?:problem|worries|rush|idea|thanks?|thank you)\b"
)
"""Statements that sound like a prohibition or a correction."""
ASKS_ONLY = lazy_pattern(
    r"(?:(?:so|and|also|but|now|ok(?:ay)?|hm+|wait|q|question)\b[,:]? ){0,2}(?:"
    r"(?!is there an?y? way|what if|how about|why (?:not|do))"
    r"(?:is|are|was|were|do|does|did|what|why|how|when (?:do|does|did|is|are|was|will)|where|who|which|has"
    r"|isn'?t|aren'?t|doesn'?t)\b.*[?？]$"
    r"|(?:can|could) you (?:please )?(?:explain|clarify|tell|describe|remind)\b)"
)
"""Beginning of a question that only asks for information."""
ASKS_BACK = lazy_pattern(r"\b(?:right|correct)\b[^.?!]{0,60}\?$")
"""End of a question that asks for confirmation."""
BIDS = lazy_pattern(
    r"(?:^|[,;:(–—-] {0,2}|\b(?:and|but|please|so|then|just|also|or|you|to|let'?s) )"
    r"(?:do {1,3}not|don'?t|dont|never|avoid|make sure|ensure|only|always|keep|leave|use|must)\b"
    r"|\b(?:must|without|make sure|ensure)\b"
)
"""Instructions, also inside of such a question."""
REPORTS = lazy_pattern(
    r"(?:this|that|it) (?:currently |now |still |also )?"
    r"(?!(?:is|was|has|does|means|needs|requires|stays|goes|belongs|remains|runs)\b)\w{2,40}s\b"
    r"|while (?:this|that|it) |instead of [^,]{1,60}:$"
)
"""Beginning of a description of behaviour, as in reviews."""
LOOSE = lazy_pattern(
    r"\b(?:always|only(?![^.!?\n]{0,200}\bmay\b)|avoid|instead(?: of)?|rather than|without|until|unless|exactly"
    r"|won'?t|limit|at least|no (?:more|other)|not (?:to|allowed))\b"
)
"""Binding in an instruction, but only descriptive in a report."""
MOMENT = lazy_pattern(r"(?:stop|wait|no|nope|hold on|cancel|abort|hmm+)(?: (?:stop|wait|no|please))?[.! ]*$")
"""Messages that are obsolete once they are read."""
TITLE = lazy_pattern(r"#{1,6}\s")
HEADED = lazy_pattern(r"\s{0,3}#{1,6} +(\S.{0,100})$|\s{0,3}\*\*([^*\n]{1,100})\*\*:?\s*$")
NOT_WANTED = lazy_pattern(r"^(?:non[- ]?goals?|out[- ]of[- ]scope|not in scope|nicht[- ]?ziele|won'?t do)\b")
"""Headings above items that are not to be done, though the items do not say so."""
SENTENCE = lazy_pattern(r"(?<=[.!?;])\s+(?=\S)|(?<=[。！？；])|\n+")
PLAIN_SENTENCE = lazy_pattern(r"\s(?<=[.!?;]\s)\s*(?=\S)")
"""The same for ASCII lines, but faster: the pattern begins with a space."""
TODO = lazy_pattern(r"^\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+\[( |x|X|-|~)\]\s+(\S.{0,300})$", re.MULTILINE)
INTENT = lazy_pattern(
    r"\b(?:let me(?! (?:know|summari|recap|explain|(?:create|provide|give)\b.{0,20}\bsummary))|let's"
    r"|(?:i'?ll|i will)(?! (?:now )?(?:exit|stop here|end (?:here|the|my)))|i'?m going to|i am going to"
    r"|i (?:still )?need to|now i (?:need|want|can|have)|now let|i'?m now \w+ing)\b"
    r"|\bi'?m \w+ing\b.{0,80}\b(?:now|next|before|then)\b|^\w+ing\b.{1,100}\bnow[.:]?$"
)
"""Announcements of the next step."""
REMAINS = lazy_pattern(
    r"\bnext steps?\b|^[\W\d]{0,8}next(?: up)?(?=[:,]| (?:i|we|you|is|would|will)\b)|\bnext:"
    r"|\b(?:suggest|recommend|propose|tackle) next\b"
    r"|\bremaining (?:work|steps?|tasks?|items?|todos?|issues?|gaps?)\b|\bremains? to\b|\bwhat(?:'s| is) left\b"
    r"|\bleft to do\b|\bstill (?:to do|needs?|ha(?:s|ve) to|missing|open|pending|outstanding)\b"
    r"|\btodo:|nächste[rn]? schritte?|als nächstes|prochaines? étapes?|(?:próximo|siguiente)s? pasos?|próximos? passos?"
    r"|следующ\w+ шаг|下一步|接下[来來]|次のステップ|次は|다음 단계"
)
"""Announcements of remaining work."""
NONE_LEFT = lazy_pattern(r"\b(?:no|nothing|none|keine?)\b")
CODE = lazy_pattern(r"`[^`\n]{0,300}`|\]\([^)\n]{0,300}\)")
"""Code and link targets, which are not speech."""
ITEM = lazy_pattern(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+\S")
MOST_ITEMS, LONGEST_HEADING, FEW_WORDS = 8, 60, 6
MOST_TODOS = 200
"""Maximum number of to-do items in one text: a longer list is pasted."""
FRAMED = lazy_pattern(r"\s{0,20}#{1,3} User Input\s{1,20}```\w{0,20}\n([^`]{0,20000})```")
COMMAND = lazy_pattern(r"^/[\w:-]+\s*$")
OF_PROGRAM = lazy_pattern(
    r"/(?:exit|quit|q|clear|compact|compress|themes?|color|config|settings|usage|extra-usage|cost|stats|status|statusline"
    r"|models?|fast|effort|login|logout|auth|resume|sessions|help|permissions|approvals|hooks|mcp|plugins?|doctor|vim"
    r"|context|ide|editor|terminal-setup|keybindings|release-notes|bug|feedback|export|copy|rewind|output-style"
    r"|privacy-settings|upgrade|about|tools|tasks|bashes|memory)\s*$"
)
"""Commands for the agent's program, which request nothing of the agent."""
ASIDE = lazy_pattern(
    r"^(?:ok(?:ay)?|yes|yep|yeah|sure|thanks?|thank you|great|nice|cool|perfect|good|hi|hello|hey|continue|go on"
    r"|go ahead|proceed|push|do it)[.! ]*$"
)
LONGEST_SENTENCE = 600
MOST_BINDING = 40
"""Maximum number of binding sentences in a message, or rules in a plan: a text with more is pasted."""
MOST_PIECES = 12
LONGEST_DOUBTFUL, MOST_DOUBTFUL = 300, 8


def plain(text: str) -> str:
    """A text in lower case with straight apostrophes; every letter keeps its position."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join(small if len(small := letter.lower()) == 1 else letter for letter in text)
    return low.replace("’", "'").replace("\xa0", " ")


def sentences(text: str) -> Iterator[str]:
    """Sentences of a user's words, without code and quoted output."""
    return (sentence for _, sentence in _placed(text))


def _placed(text: str) -> Iterator[tuple[str, str]]:
    """The same, each with its heading."""
    heading, is_open = "", False
    lines = text.split("\n")
    for above, line, is_pasted in zip(["", *lines], lines, lines_pasted(lines, is_firm), strict=False):
        if is_pasted:
            continue
        if found := HEADED.match(line):
            heading, is_open = (found[1] or found[2]).strip(" *:#"), False
        elif heading and is_open and not above.strip() and line.strip() and not ITEM.match(line):
            heading = ""  # a paragraph after the first one, or after a list, is about something else
        elif line.strip():
            is_open = True
        yield from ((heading, sentence) for sentence in _split(line))


def _split(line: str) -> Iterator[str]:
    """Sentences of a line, without marks of lists and quotes."""
    for sentence in (PLAIN_SENTENCE if line.isascii() else SENTENCE).split(line):
        if sentence and (sentence := sentence.strip(" \t-*>•")):
            yield sentence


def own_words(text: str) -> str:
    """The words that the user typed into the frame of a prepared prompt. The rest is binding too, but its lists
    are not the user's."""
    framed = FRAMED.match(text)
    return framed[1] if framed else text


def binding(text: str, among: re.Pattern[str] | None = None) -> Iterator[tuple[str, str]]:
    """Binding sentences, each as 'constraint' or 'correction'. With `among`, only those that match it, or whose
    heading does."""
    opening = text.lstrip()[:LONGEST_SENTENCE]
    for heading, sentence in _placed(text):
        low = plain(sentence)
        if among and not (among.search(low) or among.search(plain(heading))):
            continue
        is_heading = TITLE.match(sentence) and not opening.startswith(sentence[:LONGEST_SENTENCE])
        if COMMAND.match(sentence) or (is_heading and not FORBIDS.search(low)):
            continue
        if len(sentence) > LONGEST_SENTENCE:
            yield from (("constraint", piece) for piece in _around(sentence))
            continue
        is_below = heading not in sentence and NOT_WANTED.search(plain(heading))
        if is_below and not FORBIDS.search(low):
            yield "constraint", f"{heading}: {sentence}"
            continue
        low = _bare(low)
        if low.endswith(("?", "？")) and not INSISTS.search(low):
            continue
        if FORBIDS.search(low) or REQUIRES.search(low):
            yield "constraint", sentence
        elif CORRECTION.search(low):
            yield "correction", sentence


def rules(text: str) -> Iterator[str]:
    """Firm sentences of a plan."""
    for kind, sentence in binding(text, FIRM):
        if kind == "constraint" and is_firm(sentence):
            yield sentence


@functools.lru_cache(maxsize=2048)
def doubtful(text: str) -> tuple[str, ...]:
    """Sentences that sound binding but were not counted: reports, questions, pasted lines. They survive the
    shortening of their message, in case the rules are wrong. Cached because every packing asks again."""
    bound = {sentence for _, sentence in binding(text)}
    lines = text.split("\n")
    found: dict[str, None] = {}
    for line, is_pasted, is_fenced in zip(
        lines, lines_pasted(lines, is_firm), lines_fenced(lines), strict=True
    ):
        for sentence in _split(line) if not is_fenced else ():
            if len(sentence) <= LONGEST_DOUBTFUL and sentence not in bound and _sounds(sentence, is_pasted):
                found[sentence] = None
    return tuple(itertools.islice(found, MOST_DOUBTFUL))


def _sounds(sentence: str, is_pasted: bool) -> bool:
    low = plain(sentence)
    if is_pasted or low.endswith(("?", "？")):
        return FIRM.search(low) is not None
    return (FORBIDS.search(low) or REQUIRES.search(low)) is not None


def _bare(low: str) -> str:
    """A sentence without words that only sound binding; empty if it only asks, describes or interrupts."""
    is_asking = ASKS_ONLY.match(low) or ASKS_BACK.search(low)
    if MOMENT.match(low) or (is_asking and not BIDS.search(low)):
        return ""
    return (LOOSE if REPORTS.match(low) else STATES).sub(" ", low)


def _around(text: str) -> Iterator[str]:
    """Text around the first firm words of a text without sentences, such as dictation."""
    end = 0
    for found in itertools.islice(FIRM.finditer(plain(text)), MOST_PIECES):
        if found.start() >= end:
            start = max(end, text.rfind(" ", 0, max(0, found.start() - 100)) + 1)
            end = text.find(" ", found.end() + 200)
            end = len(text) if end < 0 else end
            yield text[start:end].strip()


def is_firm(sentence: str) -> bool:
    """Whether a sentence forbids something or says 'must', so that it may never be lost."""
    return FIRM.search(STATES.sub(" ", plain(sentence))) is not None


def is_work(text: str) -> bool:
    """Whether a message requests something, and is not just a command of the program or an acknowledgement."""
    return not COMMAND.match(text.strip()) and not ASIDE.match(text.strip().lower())


def todos_in(text: str) -> list[tuple[str, str]]:
    """Items of Markdown task lists: (text, state)."""
    states = {" ": "open", "-": "active", "~": "active"}
    found = itertools.islice(TODO.finditer(text), MOST_TODOS)
    return [(each[2].strip(), states.get(each[1], "done")) for each in found]


def intent_in(text: str) -> str:
    """The last sentence in which an agent announces its next step or the remaining work, with the list below it.
    Questions do not count."""
    end = ended(text, 2000)
    for sentence in reversed(list(sentences(end))):
        low = CODE.sub(" ", plain(sentence))
        if len(sentence) > LONGEST_SENTENCE or low.endswith(("?", "？")):
            continue
        if (left := REMAINS.search(low)) and not NONE_LEFT.search(low, 0, left.start()):
            return sentence.strip("#* ") + _introduced(end, sentence)
        # "Let me do this:" means nothing without what follows.
        if INTENT.search(low) and not (low.rstrip("* ").endswith(":") and len(low.split()) < FEW_WORDS):
            return sentence
    return ""


def _introduced(text: str, heading: str) -> str:
    """The introduction and list below a heading; empty if it is not a heading."""
    if len(heading) > LONGEST_HEADING or heading.endswith((".", "!")):
        return ""
    below = text[text.rfind(heading) + len(heading) :].split("\n")[1:]
    lines = [line.rstrip() for line in below if line.strip()]
    lead = [] if lines and (ITEM.match(lines[0]) or lines[0].startswith("```")) else lines[:1]
    items = itertools.takewhile(ITEM.match, lines[len(lead) :])
    return begun("".join(f"\n{line}" for line in [*lead, *items][:MOST_ITEMS]), LONGEST_SENTENCE)
