"""Questions and options in an agent's words, and whether a message answers them. Pure.

Users answer with a letter or a number, which means nothing without the list. So an answer is reported with the
text of its option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern
from segue.base.text import begun, ended
from segue.facts.constraints import COMMAND, plain, sentences

LONGEST_ANSWER = 300
FEW_WORDS = 8
AGREES = lazy_pattern(
    r"\W{0,3}(?:y(?:es|ep|eah|up)?|no(?:pe)?|ok(?:ay)?|sure|please|go ahead|do (?:it|that|both|all)"
    r"|both|neither|all|none"
    r"|that(?:'s| is) (?:right|correct|wrong|it|fine)|right|correct|exactly|agreed?|sounds|looks|perfect|great"
    r"|ja|nein|oui|non|sí|si|sim|да|нет|好|是|不|はい|いいえ|네|아니)\b"
)
"""Beginning of a yes or no."""
CLAUSE = lazy_pattern(r"[^,.;:!?？\n–—]{0,200}+(?![?？])")
"""First clause of an answer, unless it is a question."""
DECIDES = lazy_pattern(
    r"(?<!is )(?<!are )(?<!was )(?<!has )(?<!have )(?<!had )(?<!'s )\b(?:no|nope|nein)\b"
    r"(?! (?:idea|clue|\w{1,20}ing)\b)"
    r"|\b(?:yes|yeah|yep|absolutely|definitely|certainly|of course|by all means|why not|go ahead|agreed"
    r"|(?:rather|better) not|not (?:now|yet|today|here|at all))\b"
    r"|^\W{0,3}(?:(?:please|just|actually|well|hm+|then|so|and|but|oh|ah)\b,? ){0,2}"
    r"(?:leave|keep|skip|hold|wait|stop|forget|never|do not|don'?t)\b"
)
"""Words of agreement or refusal anywhere in that clause, rare in reports."""
WANTS_TO_KNOW = lazy_pattern(
    r"(?:(?:so|and|also|but|now|hm+|wait|q)\b[,:]? ){0,2}(?:(?:can|could|would|will) you (?:please )?(?:explain|clarify"
    r"|tell|describe|remind|show)|(?:would|will) (?:it|this|that)|isn'?t|aren'?t|doesn'?t|why(?! not\b)"
    r"|how(?! about\b)|explain|clarify|(?:is|are|does|did) (?:this|that|it|we|you|the|there)|do (?:we|you|they))\b|q: "
)
"""Beginning of a question without a question mark; 'can we …' is not one, because it may answer with a request."""
OPEN = lazy_pattern(r"\b(?:which|any(?:thing)?|what|what's|where|when|who|how|or)\b|else\?$")
WORD = lazy_pattern(r"[\w#]{4,}")
STEM = 5
COMMON = {
    "want", "would", "like", "shoul", "shall", "could", "this", "that", "these", "those", "with", "have",
    "your", "there", "befor", "first", "also", "just", "then", "make", "anyth", "else", "does", "look",
    "looks", "right", "good", "from", "them", "they", "when", "into", "here", "some", "more", "other",
    "need", "needs", "help",
}  # fmt: skip
"""Stems that unrelated questions and answers share."""
LEAST_LATE = 240
"""Maximum distance of a question from the end."""
ASKS = lazy_pattern(r"(?<![`/=&])\?(?![\w=&.:(\[#$%@^~+/\\-])|？")
"""A question mark that ends a question, not part of an address or code."""
BEGINS_TO_ASK = lazy_pattern(
    r"\b(?:would you like|do you want|(?:should|shall|can) i|(?:would|do) you (?:rather|prefer)"
    r"|(?:please )?(?:choose|pick|select) (?:one|between|from|an?)\b)"
)
"""Beginning of a question that the list below it completes."""
REQUESTS = lazy_pattern(
    r"(?:^|[,;:–—-] |\b(?:please|just|or|and|then|so) )(?:let me know|tell me)"
    r" (?:which|whether|(?:what|how|when|where) you)\b"
    r"|^(?:i'm |i am |now )?(?:holding|waiting|paused|standing by)(?: \w+)? (?:for|until|on|till) you\b"
    r"|^(?:i'm |i am |now )?(?:holding|waiting|paused|awaiting|standing by)(?: \w+)?(?: for| on)? your"
    r" (?:answer|decision|choice|approval|confirmation|go|call|input|word|reply|ok)"
)
"""Requests without a question mark that wait for an answer."""
LONGEST_WORDS = 20_000
"""Characters at the end of the last message in which options are searched."""
LONGEST_OPTION, MOST_CHOSEN = 90, 5
LABEL = r"(?:[a-j]|\d{1,2})"
NAMED = r"(?:option|approach|choice|variant|alternative)"
OPTION = lazy_pattern(
    rf"[\s>*_#(\[•+-]{{0,12}}(?:{NAMED}\s({LABEL})\b|({LABEL})(?=[*_]{{0,3}}\s?[).:\]][*_]{{0,3}}\s|[*_]{{2}}\s))"
    r"([\s*_).:\]–—-]{1,10})(\S.{0,400})",
    re.IGNORECASE,
)
"""A line, or a table cell, with an option: '**A)** this', '2. that', '### Option C: those'."""
CHOSEN = rf"{LABEL}(?:\s*(?:,|and|&|\+|or|/|,\s*and)\s*(?:{NAMED}\s)?{LABEL}){{0,6}}"
PICKED = lazy_pattern(
    r"\W{0,3}(?:(?:ok(?:ay)?|yes|yeah|sure|hm+)[,.! ]{1,3})?"
    r"(?:(?:i think|i'?d say|let'?s (?:do|go with|go for|take|try|use)|go (?:with|for)"
    r"|i (?:prefer|want|choose|pick|like)"
    r"|i(?:'d| would) (?:like(?: it)? to (?:do|use|take|go with)|prefer|take|go with)"
    rf"|allow|pick|choose|take|do|use)\s)?(?:{NAMED}\s)?({CHOSEN})"
    r"(?=\s*$|\s*[.,;:)!](?:\s|$)|\s[–—-]\s|\n| (?:is|for|please|but|as|sounds|looks|seems|works)\b)"
)
"""An answer that begins with its choice, in lower case."""
NAMES = lazy_pattern(rf"\b{NAMED}\s({LABEL})\b")
LABELS = lazy_pattern(rf"\b{LABEL}\b")
NUMBER = lazy_pattern(r"(?<![\w.#])\d{1,9}(?![\w.])")


CHOOSES = lazy_pattern(
    r"\b(?:which|or|prefer\w{0,6}|choose|choice|pick|select|options?|approach|rather|these|those|them|first|next"
    r"|what (?:do|would|should|shall)|what's your|best)\b|[:：]"
)
"""Questions that are answered with an item of a list."""
COUNTS = lazy_pattern(
    r"\bhow (?:many|much|long|often|large|big|high|deep|far|old|few)\b"
    r"|\b(?:which|what) (?:\w{1,20} )?(?:ports?|numbers?|versions?|timeouts?|limits?|sizes?|counts?|values?|lines?"
    r"|intervals?|thresholds?|budgets?|levels?|depths?|pages?|years?|days?|hours?|issues?|prs?)\b"
    r"|\b(?:seconds|minutes|hours|days|weeks|percent|retries|times|replicas|workers|threads)\b"
    r"|\b\d{1,9} (?!(?:or|and|first|then|instead|now)\b)[a-z]{3}"
)
"""Questions that are answered with a number."""
TELLS = lazy_pattern(
    r"[\s*#>]{0,9}(?:i (?:did|made|found|added|changed|fixed|have)|i've|done|completed"
    r"|what (?:i|was|changed)|changes)\b"
)
"""Introduction of a list of finished work, which offers no options."""


class Option(Struct, frozen=True):
    label: str
    text: str
    line: int


def is_answer(text: str, asked: str) -> bool:
    """Whether a message can answer a question: not a command, not long, not a question itself, and not simply the
    next request."""
    low = plain(text)
    if len(text) > LONGEST_ANSWER or COMMAND.match(text) or low.endswith(("?", "？")):
        return False
    clause = CLAUSE.match(low)
    if AGREES.match(low) or _labels(text) or (clause and DECIDES.search(clause[0])):
        return True
    if ASKS.search(low) or WANTS_TO_KNOW.match(low):
        return False
    # 'Which …?' accepts any answer; 'Shall I …?' a short one, or one that shares a word.
    if len(low.split()) <= FEW_WORDS or OPEN.search(plain(asked)):
        return True
    said, sought = ({word[:STEM] for word in WORD.findall(one)} for one in (low, plain(asked)))
    return bool((said & sought) - COMMON)


SECOND_HALF = lazy_pattern(r"\s{0,9}(?:or|oder|ou|o|of|lub)\b", re.IGNORECASE)
"""Beginning of the second half of a question, which means nothing without the first."""


def question_in(text: str) -> str:
    """The question at the end of an agent's message; empty if there is none."""
    end = ended(text.rstrip(), 800)
    at = max((found.start() for found in ASKS.finditer(end)), default=-1)
    if at < 0 or len(end) - at > LEAST_LATE:
        return _offer(text) or _request(ended(end, LEAST_LATE))
    start = _start(end, at)
    if SECOND_HALF.match(end, start + 1) and start > 0:
        start = _start(end, start)
    asked = end[start + 1 : at + 1].strip(" -*>#\t")
    return asked if any(map(str.isalpha, asked)) else ""


def _start(text: str, end: int) -> int:
    """Index before the sentence that ends at `end`."""
    return max(text.rfind(mark, 0, end) for mark in (". ", "! ", "? ", "\n", "。", "！", "？", ": "))


def _offer(text: str) -> str:
    """The question before a list of options at the end of a message; with the list, if the question is incomplete
    without it."""
    lines = [line for line in text.rstrip()[-LONGEST_WORDS:].split("\n") if line.strip()]
    run = next(reversed([*_runs(lines)]), [])
    if not run or not run[0].line or len("\n".join(lines[run[-1].line + 1 :])) > LEAST_LATE:
        return ""
    lead = lines[run[0].line - 1].strip(" *#>")
    if lead.rstrip(":").endswith(("?", "？")):
        return lead
    options = "".join(f"\n{option.label}. {option.text}" for option in run)
    return lead + options if lead.endswith(":") and BEGINS_TO_ASK.search(plain(lead)) else ""


def _request(end: str) -> str:
    """The last sentence that requests an answer without a question mark."""
    for sentence in reversed([*sentences(end)]):
        if REQUESTS.search(plain(sentence)):
            return sentence
    return ""


def with_options(answer: str, words: str) -> str:
    """An answer with the text of the options that it chooses."""
    labels = _labels(answer)
    if any(map(str.isdecimal, labels)) and not NAMES.search(plain(answer)) and not _is_offered(labels, words):
        return answer
    told = {option.label: option.text for option in _offered(words, labels)} if labels else {}
    if not told:
        return answer
    if len(told) == 1 and not any(len(word) > 2 for word in answer.split()):
        return f"{answer} ({next(iter(told.values()))})"
    return f"{answer} ({'; '.join(f'{label.upper()}: {text}' for label, text in told.items())})"


def _is_offered(labels: list[str], words: str) -> bool:
    """Whether a bare number chooses from the last list: if the question asks for a number, it does not."""
    asked = plain(question_in(words))
    if not CHOOSES.search(asked) or COUNTS.search(asked):
        return False
    lines = [line for line in words[-LONGEST_WORDS:].split("\n") if line.strip()]
    runs = [run for run in _runs(lines) if run[0].label.isdecimal()]
    if not runs or (runs[-1][0].line and TELLS.match(plain(lines[runs[-1][0].line - 1]))):
        return False
    return {*labels, *NUMBER.findall(asked)} <= {option.label for option in runs[-1]}


def _labels(answer: str) -> list[str]:
    """Letters or numbers that an answer chooses."""
    low = plain(answer)
    found = PICKED.match(low)
    if found and found[1].isdecimal() and re.search(rf"\b{int(found[1]) + 1}[.)]", low):
        found = None  # the number starts a list of the user's own
    labels = LABELS.findall(found[1]) if found else NAMES.findall(low)
    return list(dict.fromkeys(labels))[:MOST_CHOSEN]


def _offered(words: str, labels: list[str]) -> list[Option]:
    """Options with these labels, from the last list that has them all."""
    for run in reversed([*_runs(words[-LONGEST_WORDS:].split("\n"))]):
        found = {option.label: option for option in run}
        if all(label in found for label in labels):
            return [found[label] for label in labels]
    return []


def _runs(lines: list[str]) -> Iterator[list[Option]]:
    """Lists of options: at least two, labelled from the first letter or number on without gaps. A list of
    questions offers no options."""
    going: dict[bool, list[Option]] = {}
    ended: list[list[Option]] = []
    for number, line in enumerate(lines):
        for cell in line.split("|") if line.lstrip().startswith("|") else [line]:
            option = _option(cell, number)
            if not option:
                continue
            run = going.get(option.label.isdecimal(), [])
            if run and _rank(option.label) == _rank(run[-1].label) + 1:
                run.append(option)
            elif _rank(option.label) == 1:
                going[option.label.isdecimal()] = run = [option]
                ended.append(run)
    return (run for run in ended if len(run) > 1 and not any(option.text.endswith("?") for option in run))


def _option(text: str, line: int) -> Option | None:
    found = OPTION.match(text)
    if not found:
        return None
    label, said = (found[1] or found[2]).lower(), found[4]
    # '**A. Short** and long': the bold text is the name. In '**A)** all of it' the bold ends before it.
    is_bold = text[: found.start(4)].count("**") % 2 == 1
    title, closed, _ = said.removeprefix("**").partition("**")
    is_title = (is_bold or said.startswith("**")) and closed and title.strip()
    return Option(
        label, begun((title if is_title else said.replace("**", "")).strip(" :*"), LONGEST_OPTION), line
    )


def _rank(label: str) -> int:
    return int(label) if label.isdecimal() else ord(label) - ord("a") + 1
