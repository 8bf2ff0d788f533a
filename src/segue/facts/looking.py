"""Whether a command plainly only looks, so that it may run where nothing must be changed.

`shell.purpose` tells what a command is for, and is right often enough for a brief. Here a wrong yes lets two agents
write over each other, so everything that is not known to be harmless counts as a change: programs that are not listed,
the output of other commands put in, settings before a program, scripts, loops.
"""

from __future__ import annotations

import re

from segue.facts.lexer import LONGEST, Simple, Word, simple_commands
from segue.facts.plainly import GIT, GIT_BEFORE, HARMLESS, SEGUE
from segue.patterns import lazy_pattern

GIT_LISTS = {
    "branch": lazy_pattern(r"-[arv]+|--(?:show-current|list|all|remotes|verbose|no-color)"),
    "tag": lazy_pattern(r"-l|--list"),
    "remote": lazy_pattern(r"-v|--verbose"),
    "stash": lazy_pattern(r"list|show"),
    "worktree": lazy_pattern(r"list|--porcelain"),
}
"""Those that change something unless every word after them is one of these; a stash or worktree needs one."""
UNLESS = {
    "find": lazy_pattern(r"-(?:exec|ok|delete|fprint|fls).*"),
    "fd": lazy_pattern(r"-[a-zA-Z]*[xX].*|--exec.*"),
    "rg": lazy_pattern(r"--(?:pre|hostname-bin).*"),
    "sort": lazy_pattern(r"-[a-zA-Z]*o.*|--(?:o|compress-program).*"),
    "file": lazy_pattern(r"-[a-zA-Z]*C.*|--compile"),
    "tree": lazy_pattern(r"-[a-zA-Z]*[oR].*|--output.*"),
    "date": lazy_pattern(r"-[a-zA-Z]*s.*|--s.*|\d+"),
    "git": lazy_pattern(r"--o[pu].*|-[oO].*|--ext.*|--textc.*|--fil.*"),
}
"""Harmless unless one of their words is such."""

LINES = lazy_pattern(r"(?:\d+|\$)(?:,(?:\d+|\$))?p")
"""A script of sed that only picks lines."""
INNER = lazy_pattern(r"[$<>]\(|`|\$\{(?!\w++\})")
"""What puts the output of another command in, or may."""
QUOTED = lazy_pattern(
    r"(?s)\\.|\$'(?:[^'\\]++|\\.)*+'|'[^']*+'|(?P<locale>\$\")|\"(?:[^\"\\]++|\\.)*+\"|[^'\"\\$]++|."
)
"""Quotes as a shell sees them, one after the other; $"..." is rare, and the lexer does not know it."""


def only_looks(command: str) -> bool:
    """Whether nothing but reading can come of a command. What is too long to be seen as a whole may do anything."""
    if len(command) > LONGEST or "\\\n" in command or INNER.search(command):
        return False
    if '$"' in command and any(found["locale"] for found in QUOTED.finditer(command)):
        return False
    simples = simple_commands(command)
    return bool(simples) and all(_looks(command, simple) for simple in simples)


def _looks(command: str, simple: Simple) -> bool:
    if any(item.is_written or not item.target.is_literal for item in simple.redirects):
        return False
    if not simple.words or _is_unknown(command, simple.words[0]):
        return False
    program, words = simple.words[0].text, simple.words[1:]
    if program in HARMLESS:
        return True
    if any(_is_unknown(command, word) for word in words):
        return False  # it could be any option
    texts = [word.text for word in words]
    if program in UNLESS and any(UNLESS[program].fullmatch(text) for text in texts):
        return False
    if program == "git":
        return _git_looks(texts)
    if program == "sed":
        return (
            texts[:1] == ["-n"] and bool(LINES.fullmatch("".join(texts[1:2]))) and not _has_options(texts[2:])
        )
    if program == "uniq":
        return all(text.startswith("-") for text in texts)
    if program == "command":
        return texts[:1] in (["-v"], ["-V"])
    if program == "segue":
        return not texts or (texts[0] in SEGUE and "--mend" not in texts)
    return program in UNLESS


def _is_unknown(command: str, word: Word) -> bool:
    """Whether a word stands for something that is not there to be read; a pattern stands for names of files."""
    return not word.is_literal and bool(re.search(r"[$`\\{]", command[word.start : word.end]))


def _has_options(texts: list[str]) -> bool:
    return any(text.startswith("-") for text in texts)


def _git_looks(texts: list[str]) -> bool:
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] not in GIT_BEFORE and texts[at] != "-C":
            return False
        at += 2 if texts[at] == "-C" else 1
    sub, rest = "".join(texts[at : at + 1]), texts[at + 1 :]
    if sub in ("stash", "worktree") and not rest:
        return False
    return sub in GIT or (sub in GIT_LISTS and all(GIT_LISTS[sub].fullmatch(word) for word in rest))
