"""What people's words bind an agent to, and what an agent's words leave open. Pure.

Rules of language, not of projects: a sentence that forbids, requires or prefers is a constraint, one that
tells the agent that it went wrong is a correction. It is better to carry a sentence too many than to lose
one, so doubt counts as a constraint.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from segue.patterns import lazy_pattern

# All of these are searched in lower-case text: that is much quicker than to ignore case.
FORBIDS = lazy_pattern(
    r"\b(?:do not|don'?t|dont|never|must ?n[o']t|should ?n[o']t|shouldnt|may not|can ?not|cannot|can'?t|won'?t|wont"
    r"|no need|not? (?:to|allowed)|avoid|without|refrain|leave .{1,40}alone|hands off|forbidden|off[- ]limits"
    r"|stay away|(?:is|are) frozen|no (?:new|more|other|additional|extra|further)|leave .{1,40}as (?:it is|they are|is)"
    r"|not in (?:main|master|production)|keep .{1,40}(?:as is|unchanged|untouched|intact))\b"
    r"|\b(?:nicht|niemals|kein(?:e[nmrs]?)?|ohne|ne \w+ pas|jamais|nunca|jamás|não|senza"
    r"|non \w{3,}|niet|geen|nie \w{3,}|nigdy|не)\b|n'\w+ pas\b|lass \w+.{0,40} in ruhe\b"
    r"|不要|別|别|不能|不可|禁止|不得|勿|しない|ないで|하지 ?마|마세요|не надо|нельзя|никогда",
)
REQUIRES = lazy_pattern(
    r"\b(?:must|always|only|make sure|ensure|be sure|needs? to|has to|have to|required?|shall|should|exactly"
    r"|at (?:most|least)|no (?:more|less) than|stick (?:to|with)|keep|remember|important|prefer(?:ably)?"
    r"|rather than|instead(?: of)?|before you|until|unless|mandatory|strictly|just use"
    r"|use .{1,60} (?:not|instead)|as long as|limit)\b"
    r"|\b(?:immer|nur|muss|müssen|sollte|stattdessen|toujours|seulement|doit|siempre|sólo|debe|sempre|apenas|deve)\b"
    r"|必須|必须|務必|务必|一定|只能|只用|請確保|请确保|確保|确保|總是|总是|应该|應該|必ず|のみ|べき|반드시|항상|всегда|только|должн|обязательно",
)
INSISTS = lazy_pattern(
    r"\b(?:do not|don'?t|dont|never|without|avoid|must|always|only|make sure|ensure|instead|rather than)\b",
)
"""What makes even a question binding: 'can you make sure that ...?'"""
FIRM = lazy_pattern(
    r"\b(?:do not|don'?t|dont|never|must ?n[o']t|must|always|only|avoid|refrain|forbidden|not allowed|off[- ]limits"
    r"|hands off|stay away|frozen|no (?:new|additional|extra)|leave .{1,40}(?:alone|as (?:it is|is))"
    r"|keep .{1,40}(?:as is|unchanged|untouched|intact)"
    r"|nicht|niemals|jamais|nunca|jamás|não|niet|nooit|nigdy|не|immer|nur|toujours|siempre|sólo|sempre)\b"
    r"|不要|別|别|不能|不可|禁止|不得|勿|必須|必须|しない|ないで|必ず|하지 ?마|마세요|반드시|нельзя|никогда|только"
)
"""What may not be lost at any price; 'can't' and 'without' also stand in plain reports."""
CORRECTION = lazy_pattern(
    r"^\s*(?:no\b|nope|wrong|stop\b|wait\b|hmm+,? no|actually\b|not (?:that|what|like|quite|the))"
    r"|\b(?:that'?s (?:wrong|not (?:right|what|it|true|correct|how))|that is (?:wrong|not)"
    r"|i (?:said|told you|meant|mean)|you (?:forgot|missed|broke|ignored|misunderstood|removed|deleted|didn'?t)"
    r"|(?:undo|revert) (?:that|this|it|your|the)|not what i|try again|doesn'?t work|does not work|not working"
    r"|still (?:fails?|failing|broken|wrong|not|see|getting|get|have|the same)"
    r"|is(?:n'?t| not) (?:right|correct|working|true)|should (?:be|have been)|instead of)\b"
    r"|\bnot? [\w./`'\"-]{1,60},? (?:but|use|rather|instead)\b|不對|不对|錯了|错了|不是這|不是这|違う|아니",
)
SENTENCE = lazy_pattern(r"(?<=[.!?;])\s+(?=\S)|(?<=[。！？；])|\n+")
TODO = lazy_pattern(r"^\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+\[( |x|X|-|~)\]\s+(\S.{0,300})$", re.MULTILINE)
INTENT = lazy_pattern(
    r"\b(?:next(?: step)?s?\b[:,]?|let me|let's|i'?ll|i will|i'?m going to|i am going to|now i|now let|remaining"
    r"|still (?:to do|need)|todo)\b",
)
PASTED = lazy_pattern(
    r"^(?: {4}|\t|\s*(?:[{}\[\]<>|│╭╰⏺⎿❯$%+]|#{2,}!|\d{2,4}[-:/]\d|[A-Z][a-z]{2} +\d{1,2} \d|at \S+\(|File \"))"
)
"""How lines begin that are copied from somewhere: output, logs, data, code."""
LOGGED = lazy_pattern(r"\s*(?:[{}\[\]|>+│╭╰⏺⎿❯$%]|\d{2,4}[-:/]\d|[A-Z][a-z]{2} +\d{1,2} \d|at \S+\(|File \")")
"""The same where nobody types so; what is only set in, or quoted, may be the person's own."""
FEWEST_PASTED = 3
COMMAND = lazy_pattern(r"^/[\w:-]+\s*$")
ASIDE = lazy_pattern(
    r"^(?:ok(?:ay)?|yes|yep|yeah|sure|thanks?|thank you|great|nice|cool|perfect|good|hi|hello|hey|continue|go on"
    r"|go ahead|proceed|push|do it)[.! ]*$",
)
LONGEST_SENTENCE = 600
LONGEST_ANSWER = 300
MOST_PIECES = 12
LEAST_LATE = 240
"""How near the end a question must stand to be what is asked."""


def plain(text: str) -> str:
    """A text as the rules see it: in lower case, with straight apostrophes."""
    return text.lower().replace("’", "'")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a person's words, code and quoted output left aside."""
    is_code = False
    lines = text.split("\n")
    fences = sum(line.lstrip().startswith("```") for line in lines)
    for paragraph in lines:
        if paragraph.lstrip().startswith("```"):
            fences -= 1
            # A fence that is never closed is no fence.
            is_code = not is_code and fences > 0
        elif not is_code and not LOGGED.match(paragraph):
            for sentence in SENTENCE.split(paragraph):
                if sentence and (sentence := sentence.strip(" \t-*>•")):
                    yield sentence


def without_pasted(text: str) -> str:
    """A person's words, with what they pasted between them cut down to how it begins."""
    kept: list[str] = []
    pasted: list[str] = []
    is_code = False
    for line in [*text.split("\n"), ""]:
        is_fence = line.lstrip().startswith("```")
        if is_code or is_fence or (PASTED.match(line) and line.strip()):
            pasted.append(line)
            is_code = is_code != is_fence
            continue
        if len(pasted) >= FEWEST_PASTED:
            first = next((one.strip() for one in pasted if one.strip(" `")), "")
            pasted = [f"{first[:120]} […{len(pasted) - 1} more lines]"]
        kept += [*pasted, line]
        pasted = []
    return "\n".join([*kept[:-1], *pasted])


def binding(text: str) -> Iterator[tuple[str, str]]:
    """The sentences that bind, each with what it is: 'constraint' or 'correction'."""
    for sentence in sentences(text):
        if COMMAND.match(sentence):
            continue
        if len(sentence) > LONGEST_SENTENCE:
            yield from (("constraint", piece) for piece in _around(sentence))
            continue
        low = plain(sentence)
        if low.endswith(("?", "？")) and not INSISTS.search(low):
            continue
        if FORBIDS.search(low) or REQUIRES.search(low):
            yield "constraint", sentence
        elif CORRECTION.search(low):
            yield "correction", sentence


def _around(text: str) -> Iterator[str]:
    """Of a text without sentences, as some people dictate: what stands around its first few prohibitions."""
    end = 0
    for found in itertools.islice(FIRM.finditer(plain(text)), MOST_PIECES):
        if found.start() >= end:
            start = max(end, text.rfind(" ", 0, max(0, found.start() - 100)) + 1)
            end = text.find(" ", found.end() + 200)
            end = len(text) if end < 0 else end
            yield text[start:end].strip()


def is_firm(sentence: str) -> bool:
    """Whether it forbids something, or says 'must': what may not be lost at any price."""
    return FIRM.search(plain(sentence)) is not None


def is_work(text: str) -> bool:
    """Whether a message asks for something, and is not just a command of the program, or a nod."""
    return not COMMAND.match(text.strip()) and not ASIDE.match(text.strip().lower())


def is_answer(text: str) -> bool:
    """Whether a message can be the answer to a question: not a command, not long, and no question itself."""
    return len(text) <= LONGEST_ANSWER and not COMMAND.match(text) and not text.endswith(("?", "？"))


def question_in(text: str) -> str:
    """What an agent asks at the end of its words; empty where it asks nothing."""
    end = text.rstrip()[-800:]
    at = max(end.rfind("?"), end.rfind("？"))
    if at < 0 or len(end) - at > LEAST_LATE:
        return ""
    start = max(end.rfind(mark, 0, at) for mark in (". ", "! ", "? ", "\n", "。", "！", "？", ": "))
    return end[start + 1 : at + 1].strip(" -*>#\t")


def todos_in(text: str) -> list[tuple[str, str]]:
    """The items of Markdown task lists: (text, state)."""
    states = {" ": "open", "-": "active", "~": "active"}
    return [(what.strip(), states.get(mark, "done")) for mark, what in TODO.findall(text)]


def intent_in(text: str) -> str:
    """What an agent says that it will do next: the last sentence that does."""
    for sentence in reversed(list(sentences(text[-2000:]))):
        if INTENT.search(plain(sentence)) and len(sentence) <= LONGEST_SENTENCE:
            return sentence
    return ""
