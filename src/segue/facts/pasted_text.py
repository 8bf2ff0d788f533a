"""Pasted lines in a user's message: code, data, logs, traces. Pure.

They bind nobody. A line counts as pasted if nobody types such lines; if it only resembles code, several such lines
must stand together. In doubt a line is the user's own.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from segue.base.lazy_regex import lazy_pattern

BEGINS = (
    r"[{}\[\]|>+│├└╭╰⏺⎿❯$%]|\d{1,5} {1,4}[-+] {2}|\d{2,4}[-:/]\d"
    r"|[A-Z][a-z]{2} {1,9}\d{1,2} \d|at \S{1,300}\(|File \""
)
"""Beginnings of output, logs and data."""
COPIED = lazy_pattern(rf" {{4}}|\t|\s*+(?:{BEGINS}|<|#{{2,9}}!)")
"""Beginnings of copied lines: these, and code."""
LOGGED = lazy_pattern(
    rf"\s*+(?!\[(?:IMPORTANT|NOTE|RULE|CRITICAL|ATTENTION|WICHTIG)\])(?:{BEGINS}|E {{3}}\s*+\S"
    r"|\"[\w$@./ -]{1,80}\"\s?:\s?(?:[\[{]|(?:\".*\"|-?\d[\d.eE+-]*+|true|false|null)\s*+(?:,\s*+)?$))"
)
"""The same without indented and quoted lines, which the user may have typed."""
RAISED = lazy_pattern(r"\s*+[A-Z]\w{1,60}(?:Error|Exception): ")
"""Beginning of the last line of a trace, and sometimes of a rule about that error."""
TIME = lazy_pattern(
    r"\s*+\[?(?:\d{4}-\d\d-\d\d[T ])?\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?\s*+$"
)
"""A line with only a time: a log line follows."""
CODE = lazy_pattern(
    r" {2,}+(?:#|//) |\s*+(?:[\w.\[\]\"'-]{1,80} ?(?::=|[+*/|-]?=)=? ?[^\s=]|[)}\]]{1,8}[;,)]*+\s*+$"
    r"|</?[a-zA-Z][^<>]{0,300}>"
    r"|(?:def|class|func|fn|import|package|return|const|var|export|public|private|assert|await|async|elif|struct)"
    r" .{0,200}[(){}=;:\"]"
    r"|(?:if|for|while|with|switch|try|else|except|catch)\b.{0,200}[:{]\s*+$|@\w[\w.]*+(?:\(.*)?$"
    r"|[\w.]{1,80}\(.{0,300}[);,:{(]\s*+$|//|/\*|\*/|[_=~-]{8}|\S{1,200}\.\w{1,8}:\d++\b)"
)
"""Beginnings of code; some sentences begin this way too."""
PLAINLY_CODE = lazy_pattern(r" {2}|\t|\s?(?://|/\*|\*/|[)}\]])|.{0,500}(?:[{}(;]|\):)\s*+$")
"""Code that is not a sentence: indented, a comment, or with brackets that other lines close."""
QUOTED = lazy_pattern(r"\"[^\"\n]{0,300}+\"")
"""Strings in code, which are the program's words."""
LONGEST_HEAD, LONGEST_TAIL = 400, 100
"""Characters read at both ends of a line, where code is recognised."""
FEWEST = 3
"""Minimum number of lines that count as pasted together."""


def lines_pasted(lines: list[str], is_firm: Callable[[str], bool]) -> list[bool]:
    """Which lines are not the user's own. A line with firm words is, even if it begins with a place or a name in
    the code: 'src/a.py:12 never log this'."""
    fenced = lines_fenced(lines)
    lines = [_ends(line) for line in lines]
    found = [
        is_fenced or _is_logged(line, above)
        for is_fenced, above, line in zip(fenced, ["", *lines], lines, strict=False)
    ]
    raised = [bool(RAISED.match(line)) for line in lines]
    # Empty lines do not end a piece of code.
    full = [number for number, line in enumerate(lines) if line.strip()]
    for is_code, group in groupby(full, lambda n: found[n] or raised[n] or bool(CODE.match(lines[n]))):
        if is_code:
            together = [*group]
            sure = [found[number] or bool(PLAINLY_CODE.match(lines[number])) for number in together]
            own = {number for number in _alone(together, sure) if is_firm(QUOTED.sub(" ", lines[number]))}
            left = [number for number in together if number not in own]
            for number in left:
                found[number] = found[number] or raised[number] or len(left) >= FEWEST
    return found


def _is_logged(line: str, above: str) -> bool:
    """Whether nobody types such a line. An error right below a trace belongs to it."""
    is_ending = RAISED.match(line) and COPIED.match(above)
    return bool(LOGGED.match(line) or is_ending or (line.strip() and TIME.match(above)))


def _alone(numbers: list[int], sure: list[bool]) -> list[int]:
    """Possible code lines without definite code on both sides."""
    if not any(sure):
        return numbers
    return [*numbers[: sure.index(True)], *numbers[len(sure) - sure[::-1].index(True) :]]


def _ends(line: str) -> str:
    """Both ends of a line: an endless line would take too long to read."""
    is_short = len(line) <= LONGEST_HEAD + LONGEST_TAIL
    return line if is_short else line[:LONGEST_HEAD] + line[-LONGEST_TAIL:]


def lines_fenced(lines: list[str]) -> list[bool]:
    """Which lines are fenced code, or fences. A fence with a language opens, also inside another one; if they do
    not balance, fences open and close in turn. An unclosed fence does not count."""
    marks = [line.lstrip() for line in lines]
    marks = [mark if mark.startswith("```") else "" for mark in marks]
    return _nested(marks) or _in_turn(marks)


def _nested(marks: list[str]) -> list[bool]:
    found, depth = [], 0
    for mark in marks:
        is_bare = not mark.strip("` \t\r")
        found.append(bool(mark or depth))
        if mark:
            depth += -1 if depth and is_bare else 1
    return found if not depth else []


def _in_turn(marks: list[str]) -> list[bool]:
    found, is_code = [], False
    left = sum(map(bool, marks))
    for mark in marks:
        left -= bool(mark)
        found.append(bool(mark) or is_code)
        is_code = is_code if not mark else not is_code and left > 0
    return found


def without_pasted(text: str) -> str:
    """A user's words with each pasted piece reduced to its first line."""
    kept: list[str] = []
    pasted: list[str] = []
    lines = [*text.split("\n"), ""]
    for line, is_fenced in zip(lines, lines_fenced(lines), strict=True):
        if is_fenced or (line.strip() and COPIED.match(line)):
            pasted.append(line)
            continue
        if len(pasted) >= FEWEST:
            first = next((one.strip() for one in pasted if one.strip(" `")), "")
            pasted = [f"{first[:120]} […{len(pasted) - 1} more lines]"]
        kept += [*pasted, line]
        pasted = []
    return "\n".join([*kept[:-1], *pasted])
