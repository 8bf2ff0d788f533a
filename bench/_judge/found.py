"""Whether a brief states a fact with its current value."""

from __future__ import annotations

import re
from collections.abc import Callable

from bench._judge import words
from bench._judge.prose import Pattern, Prose, says
from bench._judge.truth import Fact, Truth

OK = re.compile(
    r"(?<![\w./-])(?:ok|okay|pass(?:ed|es|ing)?|succe(?:ss(?:ful(?:ly)?)?|eded|eds)|green|clean|works?|worked|done|completed?|fine)(?![\w/-])"
    r"|[✓✔✅☑]|\b(?:exit(?:ed)?(?: with)?(?: code| status)?|status|code|rc)[ :=]*0\b|→ ?0\b",
    re.IGNORECASE,
)
FAILED = re.compile(
    r"(?<![\w./-])(?:fail(?:ed|s|ing|ure|ures)?|error(?:s|ed)?|broken|denied|refused|rejected|interrupted|timed out|timeout|aborted"
    r"|killed|crash(?:ed|es)?|non-?zero|red)(?![\w/-])|[✗✘❌✕×]|\b(?:exit(?:ed)?(?: with)?(?: code| status)?|status|code|rc)"
    r"[ :=]*-?[1-9]\d*\b|→ ?[1-9]\d*\b",
    re.IGNORECASE,
)
STATUSES = {
    "ok": (OK, FAILED),
    "failed": (FAILED, OK),
    "either": (re.compile(f"{OK.pattern}|{FAILED.pattern}", re.IGNORECASE), re.compile(r"(?!)")),
}
CREATED = re.compile(
    r"(?<![\w./-])(?:creat(?:ed?|es|ing|ion)|new|add(?:ed|s|ing)?|wrote|written|write)(?![\w/-])|^[ \t]*(?:[-*] )?(?:a|\?\?) ",
    re.IGNORECASE | re.MULTILINE,
)
EDITED = re.compile(
    r"(?<![\w./-])(?:edit(?:ed|s|ing)?|modif(?:y|ied|ies|ying|ications?)|chang(?:e[ds]?|ing)|updat(?:e[ds]?|ing)|refactor(?:ed|s|ing)?"
    r"|fix(?:ed|es|ing)?|add(?:ed|s|ing)?|remov(?:ed|es|ing)|replac(?:ed|es|ing)|renam(?:ed|es)|rewr(?:ote|itten)|extend(?:ed|s)?"
    r"|implement(?:ed|s|ing)?|patch(?:ed)?|mov(?:ed|es)|touched|insert(?:ed)?|simplif(?:ied|ies)|revert(?:ed)?)(?![\w/-])"
    r"|^[ \t]*(?:[-*] )?m |\+\d+[ /,]*[-−]\d+",
    re.IGNORECASE | re.MULTILINE,
)
DELETED = re.compile(
    r"(?<![\w./-])(?:delet(?:ed?|es|ing|ion)|remov(?:ed?|es|ing|al)|rm|gone|dropped|no longer|moved|renamed)(?![\w/-])|^[ \t]*(?:[-*] )?d ",
    re.IGNORECASE | re.MULTILINE,
)
RENAMED = re.compile(
    r"(?<![\w./-])(?:renam(?:ed?|es|ing)|mov(?:ed?|es|ing)|mv)(?![\w/-])|→|->", re.IGNORECASE
)
STATES = {
    "created": (CREATED, re.compile(f"{EDITED.pattern}|{DELETED.pattern}", re.IGNORECASE | re.MULTILINE)),
    "edited": (EDITED, re.compile(f"{CREATED.pattern}|{DELETED.pattern}", re.IGNORECASE | re.MULTILINE)),
    "created or edited": (
        re.compile(f"{CREATED.pattern}|{EDITED.pattern}", re.IGNORECASE | re.MULTILINE),
        DELETED,
    ),
    "deleted": (DELETED, re.compile(f"{CREATED.pattern}|{EDITED.pattern}", re.IGNORECASE | re.MULTILINE)),
    "renamed": (re.compile(f"{RENAMED.pattern}|{CREATED.pattern}", re.IGNORECASE | re.MULTILINE), EDITED),
}
OPEN = re.compile(
    r"\[ \]|☐|◻|○|▶|\[[~\-/>]\]|(?<![\w./-])(?:open|pending|to-?do|to do|todos|remain(?:s|ing)?|next|in[ _-]progress|not (?:yet )?(?:done|started)"
    r"|outstanding|unfinished|incomplete|current(?:ly)?|active|ongoing|left|still|upcoming|unstarted|started)(?![\w/-])",
    re.IGNORECASE,
)
DONE = re.compile(
    r"\[x\]|[✓✔✅☑]|(?<![\w./-])(?:done|complete[d]?|finished|closed|resolved)(?![\w/-])", re.IGNORECASE
)
AGREED = re.compile(
    r"(?<![\w./-])(?:approv(?:ed?|al)|accept(?:ed)?|agreed|confirmed|plan(?:ned)?|decid(?:ed|ion)|chosen|chose)(?![\w/-])",
    re.IGNORECASE,
)
GENERIC_BRANCHES = {"main", "master", "dev", "develop", "trunk", "test", "next", "staging", "release"}
MESSAGE_WORDS, SENTENCE_WORDS = 80, 40
COMMAND_HEAD, LONGEST_HEAD, ERROR_HEAD = 60, 200, 60


def share(prose: Prose, text: str, size: int, most: int) -> float:
    """How much of a text stands in the brief, in words and order."""
    said = words.words(text)[:most]
    if not said:
        return 0.0
    if len(said) <= size:
        return float(f" {' '.join(said)} " in prose.spoken)
    wanted = words.grams(said, size)
    return len(wanted & prose.grams(size)) / len(wanted)


def paths_of(truth: Truth) -> list[str]:
    return [fact.subject for fact in truth.facts if fact.kind == "files"] + [
        one.subject for one in truth.superseded if one.kind == "files"
    ]


def tail(path: str, others: list[str]) -> str:
    """The shortest end of a path that names it and no other one."""
    parts = [part for part in path.split("/") if part]
    for count in range(1, len(parts) + 1):
        end = "/".join(parts[-count:])
        if count == 1 and (parts[-1].partition(".")[0].lower() in words.GENERIC or len(parts[-1]) < 5):
            continue
        if not any(other != path and (other == end or other.endswith("/" + end)) for other in others):
            return end
    return path


def head(command: str, others: list[str]) -> str:
    """The beginning of a command that tells it from all others."""
    size = COMMAND_HEAD
    while size < min(len(command), LONGEST_HEAD) and any(
        other != command and other.startswith(command[:size]) for other in others
    ):
        size += 20
    return command[:size]


def _file(prose: Prose, fact: Fact, truth: Truth) -> bool:
    places = prose.places(tail(fact.subject, paths_of(truth)))
    value, others = STATES[fact.value]
    return any(prose.tells(place, value, others) for place in places)


def _command(prose: Prose, fact: Fact, truth: Truth) -> bool:
    start = head(fact.subject, [one.subject for one in truth.facts if one.kind == "commands"])
    places = prose.places(start, fact.subject)
    return any(prose.tells(place, *STATUSES[fact.value]) for place in places)


def _test(prose: Prose, fact: Fact, _: Truth) -> bool:
    places = prose.places(fact.subject[:100], fact.subject)
    return any(prose.tells(place, FAILED, OK) for place in places)


def _error(prose: Prose, fact: Fact, _: Truth) -> bool:
    return prose.holds(fact.subject[:ERROR_HEAD], fact.subject)


def _human(prose: Prose, fact: Fact, _: Truth) -> bool:
    return share(prose, fact.subject, 5, MESSAGE_WORDS) >= 0.6


def _constraint(prose: Prose, fact: Fact, _: Truth) -> bool:
    return share(prose, fact.subject, 4, SENTENCE_WORDS) >= 0.75


def _decision(prose: Prose, fact: Fact, _: Truth) -> bool:
    if fact.value == "said":
        return share(prose, fact.subject, 4, SENTENCE_WORDS) >= 0.75
    if fact.value == "approved":
        lines = [prose.lines[number] for number in lines_saying(prose, fact.subject, 0.7)]
        return any(AGREED.search(line.text + "\n" + line.above + "\n" + line.below) for line in lines)
    asked = {word for word in words.words(fact.more) if len(word) > 3}
    answer = f" {' '.join(words.words(fact.subject)[:12])} "
    for number, line in enumerate(prose.line_words):
        if answer in f" {' '.join(line)} ":
            near = {word for one in prose.line_words[max(0, number - 2) : number + 3] for word in one}
            if len(asked & near) >= len(asked) / 2:
                return True
    return False


def lines_saying(prose: Prose, text: str, least: float = 0.8) -> list[int]:
    """The lines that hold a short text, nearly word for word."""
    wanted = words.grams(words.words(text)[:SENTENCE_WORDS], 2)
    return [
        number
        for number, line in enumerate(prose.line_words)
        if wanted and len(line) >= 1 and len(wanted & words.grams(line, 2)) >= least * len(wanted)
    ]


def todo_is(prose: Prose, number: int, text: str, value: Pattern, others: Pattern) -> bool:
    """Whether a line that holds a todo gives it this state, or what it stands under does."""
    own = prose.lines[number].text.replace(text, "")
    if value.search(own) or others.search(own):
        return bool(value.search(own)) and not others.search(own)
    return says(prose.above(number), value, others)


def _todo(prose: Prose, fact: Fact, _: Truth) -> bool:
    lines = lines_saying(prose, fact.subject)
    return any(todo_is(prose, number, fact.subject, OPEN, DONE) for number in lines)


def _question(prose: Prose, fact: Fact, _: Truth) -> bool:
    return share(prose, fact.subject, 5, MESSAGE_WORDS) >= 0.6


def _branch(prose: Prose, fact: Fact, _: Truth) -> bool:
    for place in prose.places(fact.subject):
        around = prose.near(place) + "\n" + prose.lines[place.first].above
        if fact.subject not in GENERIC_BRANCHES or "branch" in around.lower():
            return True
    return False


def _commit(prose: Prose, fact: Fact, _: Truth) -> bool:
    return fact.subject in prose.flat or (
        len(words.words(fact.more)) >= 3 and share(prose, fact.more, 3, SENTENCE_WORDS) >= 0.8
    )


def _id(prose: Prose, fact: Fact, _: Truth) -> bool:
    if fact.subject.startswith(":"):
        return any(prose.holds(form + fact.subject[1:]) for form in (":", "port ", "port: "))
    number = re.search(r"/(?:pull|issues|merge_requests)/(\d+)", fact.subject)
    forms = [fact.subject.rstrip("/")] + ([f"#{number.group(1)}"] if number else [])
    return any(prose.holds(form) for form in forms)


TESTS: dict[str, Callable[[Prose, Fact, Truth], bool]] = {
    "files": _file,
    "commands": _command,
    "tests": _test,
    "errors": _error,
    "human": _human,
    "constraints": _constraint,
    "decisions": _decision,
    "todos": _todo,
    "question": _question,
    "branch": _branch,
    "commits": _commit,
    "ids": _id,
}


def is_found(prose: Prose, fact: Fact, truth: Truth) -> bool:
    return TESTS[fact.kind](prose, fact, truth)
