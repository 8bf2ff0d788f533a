"""Lexer for command lines: simple commands, words, redirections and heredocs.

A command is never run and may be malformed: the lexer does its best in one pass and ignores everything beyond
`LONGEST`.
"""

from __future__ import annotations

import functools
import re

from msgspec import Struct

from segue.base.lazy_regex import lazy_pattern

LONGEST = 1 << 16
"""Maximum number of characters that are read. Longer commands are scripts, and their beginning shows what they do."""


class Word(Struct):
    """A word without its quotes. A literal one contains no variable, pattern or output of another command."""

    text: str
    start: int
    end: int
    is_literal: bool = True


class Redirect(Struct):
    """A redirection. Its body is the text of a heredoc without expansions."""

    operator: str
    target: Word
    start: int
    body: str | None = None

    @property
    def is_written(self) -> bool:
        """Whether it writes to a file."""
        return ">" in self.operator and not NOWHERE.fullmatch(self.target.text)


class Simple(Struct):
    """One simple command. `joint` joins it to the previous one: '&&', '|', ';', a bracket; empty for the first."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    joint: str

    @property
    def texts(self) -> list[str]:
        return [word.text for word in self.words]


BLANK = lazy_pattern(r"(?:[ \t\r]|\\\r?\n)++")
COMMENT = lazy_pattern(r"#[^\n]*+")
REDIRECT = lazy_pattern(r"(?:\d++|\{\w++\})?(?:<<<|<<-?|<>|<&|>>|>\||>&|<(?!\()|>(?!\())|&>>?")
JOINT = lazy_pattern(r"&&|\|\||\|&|;;|[;|&()\n]")
PIECE = lazy_pattern(
    r"(?P<plain>[^\s'\"`\\$|&;<>()*?\[\]{}]++)|(?P<pattern>[*?\[\]{}]++)|'(?P<single>[^']*+)(?:'|\Z)"
    r"|(?P<ansi>\$'(?:[^'\\]++|\\.)*+(?:'|\Z))|\\(?P<escape>.?)|(?P<double>\")|(?P<command>[$<>]\()"
    r"|(?P<back>`[^`]*+(?:`|\Z))|(?P<variable>\$(?:\{[^}]*+(?:\}|\Z)|\w++|.)?)",
    re.DOTALL,
)
INSIDE = {
    ")": lazy_pattern(r"(?s)\\.|[()'\"`]|(?<=\s)#[^\n]*+|(?<!<)<<(?!<)-?[ \t]*+['\"\\]?([\w.-]++)['\"]?"),
    '"': lazy_pattern(r"(?s)\\.|\$\(|[\"`]"),
}
HEREDOC = lazy_pattern(r"\d*<<-?")
EXPANDED = lazy_pattern(r"[$`\\]")
NOWHERE = lazy_pattern(r"/dev/(?:null|stdout|stderr|tty)|[0-9]|-|")
"""Targets of a redirection that are not files."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[Simple] = []
        self.words: list[Word] = []
        self.redirects: list[Redirect] = []
        self.joint = ""
        self.next_line = 0
        """Position after the heredocs that follow the current line."""

    def read(self) -> list[Simple]:
        while self.at < len(self.text):
            if match := BLANK.match(self.text, self.at) or COMMENT.match(self.text, self.at):
                self.at = match.end()
            elif match := REDIRECT.match(self.text, self.at):
                self._redirect(match)
            elif match := JOINT.match(self.text, self.at):
                self.at = match.end()
                self._join(match.group())
            else:
                self.words.append(self._word())
        self._join("\n")
        return self.found

    def _redirect(self, match: re.Match[str]) -> None:
        self.at = match.end()
        if blank := BLANK.match(self.text, self.at):
            self.at = blank.end()
        target, body = self._word(), None
        if HEREDOC.fullmatch(match.group()):
            start = self.next_line or self.text.find("\n", self.at) + 1 or len(self.text)
            self.next_line, body = _heredoc(self.text, start, target.text)
            is_quoted = self.text[target.start : target.end] != target.text
            body = body if is_quoted or not EXPANDED.search(body) else None
        self.redirects.append(Redirect(match.group(), target, match.start(), body))

    def _join(self, joint: str) -> None:
        if self.words or self.redirects:
            self.found.append(Simple(tuple(self.words), tuple(self.redirects), self.joint))
            self.words, self.redirects, self.joint = [], [], ";" if joint == "\n" else joint
        elif joint in ("(", ")") or not self.joint:
            self.joint = joint.strip()
        if joint == "\n" and self.next_line:
            self.at, self.next_line = self.next_line, 0

    def _word(self) -> Word:
        start, is_literal, said = self.at, True, []
        while match := PIECE.match(self.text, self.at):
            kind = match.lastgroup or ""
            piece, self.at = match.group(kind), match.end()
            if kind == "double":
                self.at = _closing(self.text, self.at, '"')
                piece = self.text[match.end() : self.at].removesuffix('"')
                is_literal &= not EXPANDED.search(piece)
                piece = re.sub(r"\\(?=[\"\\$`])", "", piece)
            elif kind == "command":
                self.at = _closing(self.text, self.at, ")")
                piece, is_literal = self.text[match.start() : self.at], False
            else:
                is_literal &= kind in ("plain", "single", "escape")
            said.append(piece)
        if self.at == start and self.at < len(self.text) and not JOINT.match(self.text, self.at):
            self.at += 1  # skip an unexpected character
        return Word("".join(said), start, self.at, is_literal)


def _closing(text: str, at: int, closer: str) -> int:
    """Index after a closing quote or bracket, with nesting; the end of the text if it is missing."""
    stack = [closer]
    while stack:
        found = INSIDE[stack[-1]].search(text, at)
        if found is None:
            return len(text)
        mark, at = found.group(), found.end()
        if mark == stack[-1]:
            stack.pop()
        elif mark in ("(", "$("):
            stack.append(")")
        elif mark == '"':
            stack.append(mark)
        elif mark in ("'", "`"):
            at = text.find(mark, at) + 1 or len(text)
        elif mark.startswith("<<"):
            at, _ = _heredoc(text, text.find("\n", at) + 1 or len(text), found.group(1))
    return at


def _heredoc(text: str, at: int, delimiter: str) -> tuple[int, str]:
    """End and text of a heredoc; without its delimiter, it reaches to the end of the text."""
    start = at
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        if text[at:end].strip() == delimiter:
            return end, text[start:at]
        at = end
    return at, text[start:]


@functools.lru_cache(maxsize=4)
def simple_commands(command: str) -> tuple[Simple, ...]:
    """The simple commands of a compound."""
    # Cached briefly: a command's properties are read one after the other.
    return tuple(_Reader(command[:LONGEST]).read())
