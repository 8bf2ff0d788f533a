"""Whether a command plainly only looks, told without patterns: most commands are plain enough for it, and patterns take
as long to load as Python itself. What is not that plain is for `looking`, which knows all that a shell does.

A wrong yes lets two agents write over each other: here and there everything that is not known to be harmless counts as
a change.
"""

from __future__ import annotations

LONGEST = 1 << 16

PROGRAMS = """
ls cat head tail wc nl tac rev cut paste comm cmp diff column grep egrep fgrep jq pwd cd echo printf test [ true false :
basename dirname realpath readlink stat du df which type whereis whoami uname id ps printenv sleep seq hexdump od
strings md5sum sha1sum sha256sum shasum
"""
HARMLESS = frozenset(PROGRAMS.split())
"""Whatever they are given, they change no file."""

GIT_COMMANDS = """
status log diff show grep rev-parse ls-files ls-tree blame shortlog cat-file describe merge-base rev-list name-rev
for-each-ref show-ref check-ignore whatchanged cherry
"""
GIT = frozenset(GIT_COMMANDS.split())
GIT_BEFORE = frozenset(("--no-pager", "-P", "--no-optional-locks"))
GIT_HARM = ("--op", "--ou", "-o", "-O", "--ext", "--textc", "--fil")
SEGUE = frozenset(("status", "show", "check", "log", "usage", "help", "version", "transcripts", "doctor"))
CLOSER = frozenset(
    ("find", "fd", "rg", "sort", "file", "tree", "date", "git", "sed", "uniq", "command", "segue")
)
"""Those whose words decide."""

JOINTS = "|;\n"
SPECIAL = "\\`(){}<>&#"
UNKNOWN = "\0"
"""Stands for what a variable holds."""
ASIDE = "\1"
"""Stands for a redirection that writes to no file."""
NOWHERE = ("2>&1", "2>/dev/null", ">/dev/null", "1>/dev/null", "2>&-", "</dev/null")
OTHERS = ("$(", "<(", ">(", "`")
"""What puts the output of another command in."""


def only_looks(command: str) -> bool | None:
    """Whether nothing but reading can come of a command; None if that takes a closer look."""
    if len(command) > LONGEST or "\\\n" in command or any(sign in command for sign in OTHERS):
        return False
    simples = _simples(command.replace("&&", ";"))
    if simples is None:
        return None
    verdicts = [_looks(words) for words in simples]
    if False in verdicts or not verdicts:
        return False
    return None if None in verdicts else True


class _Words:
    """The simple commands of a command, word by word as they are read."""

    def __init__(self) -> None:
        self.found: list[list[str]] = []
        self.words: list[str] = []
        self.word: str | None = None

    def add(self, text: str) -> None:
        self.word = (self.word or "") + text

    def end_word(self) -> None:
        if self.word is not None:
            self.words.append(self.word)
        self.word = None

    def end_command(self) -> None:
        self.end_word()
        if self.words:
            self.found.append(self.words)
        self.words = []


def _simples(command: str) -> list[list[str]] | None:
    """The words of each simple command, with a sign in place of each variable; None where there is anything that is not
    plain."""
    if UNKNOWN in command or ASIDE in command:
        return None
    for sign in NOWHERE:
        command = f"{command} ".replace(f" {sign} ", f" {ASIDE} ")
    read = _Words()
    at = 0
    while at < len(command):
        char = command[at]
        if char in JOINTS:
            read.end_command()
        elif char in " \t":
            read.end_word()
        elif char != ASIDE:
            piece = _piece(command, at)
            if piece is None:
                return None
            read.add(piece[0])
            at = piece[1]
            continue
        elif not read.words:
            return None  # a redirection alone
        at += 1
    read.end_command()
    return read.found


def _piece(command: str, at: int) -> tuple[str, int] | None:
    """A part of a word and where it ends: what is quoted, a variable, or one sign."""
    char = command[at]
    if char == "$":
        name = _name(command, at + 1)
        return (UNKNOWN, at + 1 + len(name)) if name else None
    if char in "'\"":
        close = command.find(char, at + 1)
        inside = command[at + 1 : close] if close > 0 else None
        if inside is not None and char == '"':
            inside = _without_variables(inside)
        return (inside, close + 1) if inside is not None else None
    return None if char in SPECIAL or char.isspace() else (char, at + 1)


def _name(text: str, at: int) -> str:
    """The name of a variable that begins there."""
    end = at
    while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return text[at:end]


def _without_variables(text: str) -> str | None:
    """What stands in double quotes, with a sign in place of each variable; None where there is more to it."""
    if "\\" in text or "`" in text:
        return None
    first, *rest = text.split("$")
    for part in rest:
        name = _name(part, 0)
        if not name:
            return None
        first += UNKNOWN + part[len(name) :]
    return first


def _looks(words: list[str]) -> bool | None:
    program, texts = words[0], words[1:]
    if UNKNOWN in program:
        return False
    if program in HARMLESS:
        return True
    if any(UNKNOWN in text for text in texts):
        return False  # it could be any option
    if program == "git":
        return _git_looks(texts)
    if program == "segue":
        return not texts or (texts[0] in SEGUE and "--mend" not in texts)
    return None if program in CLOSER else False


def _git_looks(texts: list[str]) -> bool | None:
    if any(text.startswith(GIT_HARM) for text in texts):
        return False
    while texts and texts[0] in GIT_BEFORE:
        texts = texts[1:]
    return True if texts and texts[0] in GIT else None
