"""Strict lexer for command lines: words of simple commands, or an error. Uses no patterns.

`lexer` makes the best of any command. This one must be certain how every shell divides the command, and raises
UncertainSyntax otherwise. It reads quotes, brackets, redirections, heredocs, loops and conditions as a shell does, so
that no command hides in another.
"""

from __future__ import annotations

UNKNOWN = "\0"
"""Replaces a variable: it may hold any words."""
EITHER = "\1"
"""Replaces a brace: one of several texts follows."""
NAME = "\2"
"""Replaces a loop variable whose words are all known; none begins with a dash."""
SIGNS = UNKNOWN + EITHER + NAME

OTHERS = ("$(", "<(", ">(", "`")
"""Operators that insert the output of another command."""
OPERATORS = ("&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">")
READS = ("<", "<<<")
DEVICES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")
CLOSER = {"if": "fi", "while": "done", "until": "done", EITHER: "}"}
"""Closing word of each opening word."""
DEEPEST = 32
BETWEEN = ("then", "elif", "else", "do")
ENDS_RUN = frozenset(" \t\n;|&()<>'\"\\${`")
ENDS_QUOTED = frozenset('"$\\')
ENDS_DELIMITER = frozenset(" \t\n;|&)<>")
SPECIAL_NAMES = frozenset("?$!#@*-0123456789")
AFTER_DOLLAR = frozenset(" \t\n|)/\\.,;&<>}]%")
"""Before these, a dollar sign is literal."""


class NotPlain(Exception):
    """Shells may disagree on how to read this command."""


def simple_commands(command: str) -> list[list[str]]:
    """Words of each simple command without quotes; unknown parts are replaced by signs."""
    if any(sign in command for sign in SIGNS) or any(other in command for other in OTHERS):
        raise NotPlain
    return _Reader(command).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[list[str]] = []
        self.words: list[str] = []
        self.pieces: list[str] | None = None
        """Pieces of the current word; None between words."""
        self.is_bare = True
        """Whether the current word is unquoted: only then is `if` a keyword."""
        self.is_loop = False
        self.redirect = ""
        """Operator of a redirection whose target comes next."""
        self.has_redirect = False
        self.open: list[tuple[str, str, str]] = []
        """For each open group: its closing word, and the loop variable with its sign."""
        self.is_closed = False
        """Whether a group was just closed: no word may follow."""
        self.bodies: list[tuple[str, bool, bool]] = []
        """Heredocs after this line: delimiter, whether it is quoted, whether leading tabs are removed."""

    def read(self) -> list[list[str]]:
        while self.at < len(self.text):
            self._step(self.text[self.at])
        self._end_command("\n")
        if self.open or self.bodies:
            raise NotPlain
        return self.found

    def _step(self, char: str) -> None:
        if char in "<>" or self.text.startswith("&>", self.at):
            self._redirection()
        elif char == "#" and self.pieces is None:
            end = self.text.find("\n", self.at)
            self.at = end if end >= 0 else len(self.text)
        elif char not in " \t\n;|&()":
            self._piece(char)
        elif char in " \t":
            self._end_word()
            self.at += 1
        elif char == "(":
            self._open_bracket()
        else:
            self._end_command(char)
            self.at += 1
            if char == ")":
                self._close(char)
            elif char == "\n":
                self._skip_bodies()
            elif char == ";" and self.text.startswith(";", self.at):
                raise NotPlain

    # Words

    def _piece(self, char: str) -> None:
        """Read a piece of a word: quoted text, a variable, a brace, or plain characters."""
        if char == "\\":
            after = self.text[self.at + 1 : self.at + 2]
            if after in ("", "\r"):
                raise NotPlain
            self.at += 2
            if after != "\n":  # else the line continues
                self._add(after, is_bare=False)
        elif char == "'":
            close = self.text.find("'", self.at + 1)
            if close < 0:
                raise NotPlain
            self._add(self.text[self.at + 1 : close], is_bare=False)
            self.at = close + 1
        elif char == '"':
            self._double_quotes()
        elif char == "$":
            self._variable(is_quoted=False)
        elif char == "{":
            is_literal = self.text.startswith("{}", self.at)
            self._add("{}" if is_literal else EITHER)
            self.at += 2 if is_literal else 1
        else:
            run = self._run(ENDS_RUN)
            if any(char.isspace() for char in run):
                raise NotPlain
            self._add(run)

    def _run(self, ends: frozenset[str]) -> str:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ends:
            self.at += 1
        return self.text[start : self.at]

    def _add(self, piece: str, *, is_bare: bool = True) -> None:
        if self.pieces is None:
            self.pieces, self.is_bare = [], True
        self.pieces.append(piece)
        self.is_bare &= is_bare

    def _double_quotes(self) -> None:
        self._add("", is_bare=False)
        self.at += 1
        while (char := self.text[self.at : self.at + 1]) != '"':
            if char == "$":
                self._variable(is_quoted=True)
            elif char == "\\":
                after = self.text[self.at + 1 : self.at + 2]
                if after != "\n":
                    self._add(after if after in ("$", '"', "\\") else char + after)
                self.at += 2
            elif char:
                self._add(self._run(ENDS_QUOTED))
            else:
                raise NotPlain
        self.at += 1

    def _variable(self, *, is_quoted: bool) -> None:
        after = self.text[self.at + 1 : self.at + 2]
        name = _name(self.text, self.at + 1)
        if name:
            self.at += 1 + len(name)
            if self.text.startswith("[", self.at):
                raise NotPlain  # some shells calculate there
            self._add(self._stands_for(name), is_bare=False)
        elif after == "{":
            name = _name(self.text, self.at + 2)
            self.at += 3 + len(name)
            if not name or self.text[self.at - 1 : self.at] != "}":
                raise NotPlain
            self._add(self._stands_for(name), is_bare=False)
        elif after in SPECIAL_NAMES:
            self._add(UNKNOWN, is_bare=False)
            self.at += 2
        else:
            is_quote = after in ("'", '"')
            if (
                after in ("(", "[")
                or (is_quote and not is_quoted)
                or self.text.startswith("\\\n", self.at + 1)
            ):
                raise NotPlain
            is_itself = not after or is_quote or after in AFTER_DOLLAR
            self._add("$" if is_itself else UNKNOWN, is_bare=False)
            self.at += 1

    def _stands_for(self, name: str) -> str:
        return next((sign for _, own, sign in self.open if own == name), UNKNOWN)

    def _end_word(self) -> None:
        if self.pieces is None:
            return
        word, self.pieces = "".join(self.pieces), None
        if self.redirect:
            self._aim(word)
            return
        if self.is_closed or "$(" in word or "`" in word:
            raise NotPlain  # joined from quoted pieces; some programs would run it
        is_own = not self.words and not self.has_redirect and self.is_bare
        if word == "[[" and not self.words and not is_own:
            raise NotPlain  # a program with that name
        if not (is_own and self._is_reserved(word)):
            self.words.append(word)

    # Redirections

    def _redirection(self) -> None:
        operator = next(one for one in OPERATORS if self.text.startswith(one, self.at))
        if self.redirect and self.pieces is None:
            raise NotPlain
        said = "".join(self.pieces or ())
        if operator[0] != "&" and not self.redirect and self.is_bare and said.isascii() and said.isdigit():
            self.pieces = None  # the number of the redirected stream
        self._end_word()
        self.has_redirect = True
        self.at += len(operator)
        if operator in ("<<", "<<-"):
            self._delimiter(is_indented=operator == "<<-")
        else:
            self.redirect = operator

    def _aim(self, target: str) -> None:
        operator, self.redirect = self.redirect, ""
        is_number = operator in ("<&", ">&") and (target == "-" or (target.isascii() and target.isdigit()))
        is_device = operator not in ("<>", "<&") and target in DEVICES
        if not (operator in READS or is_number or is_device):
            raise NotPlain

    def _delimiter(self, *, is_indented: bool) -> None:
        while self.text.startswith((" ", "\t"), self.at):
            self.at += 1
        said = self._run(ENDS_DELIMITER)
        is_quoted = said[:1] in ("'", '"') and said[-1:] == said[:1]
        name = said[1:-1] if is_quoted else said
        if not name or not all(char.isalnum() or char in "_-." for char in name):
            raise NotPlain
        self.bodies.append((name, is_quoted, is_indented))

    def _skip_bodies(self) -> None:
        for name, is_quoted, is_indented in self.bodies:
            line = ""
            while (line.lstrip("\t") if is_indented else line) != name:
                if self.at >= len(self.text) or (not is_quoted and _may_expand(line)):
                    raise NotPlain
                line = self._run(frozenset("\n"))
                self.at += 1
        self.bodies = []

    # Groups

    def _open(self, closer: str, name: str = "", sign: str = "") -> None:
        is_reused = bool(name) and any(name == own for _, own, _ in self.open)
        if is_reused or len(self.open) >= DEEPEST:
            raise NotPlain
        self.open.append((closer, name, sign))

    def _open_bracket(self) -> None:
        is_first = not self.words and self.pieces is None and not self.has_redirect and not self.is_closed
        if not is_first or self.text.startswith("((", self.at):
            raise NotPlain
        self._open(")")
        self.at += 1

    def _is_reserved(self, word: str) -> bool:
        """Whether a word is a keyword before a command or closes a group."""
        if word in CLOSER:
            self._open(CLOSER[word])
        elif word in CLOSER.values():
            self._close(word)
        elif word == "for":
            self.is_loop = True
            return False
        else:
            return word == "!" or (word in BETWEEN and bool(self.open))
        return True

    def _close(self, word: str) -> None:
        if not self.open or self.open.pop()[0] != word:
            raise NotPlain
        self.is_closed = True

    def _loop(self, joint: str) -> None:
        """Read the head of a loop. In some shells, a lower-case variable sets the search path for programs."""
        name, each = "".join(self.words[1:2]), self.words[3:]
        is_usual = name == _name(name, 0) and name.islower() and not name.endswith("path")
        if not is_usual or self.words[2:3] != ["in"] or not each or self.has_redirect or joint not in ";\n":
            raise NotPlain
        is_known = all(
            word and word[0] != "-" and not any(char.isspace() or char in SIGNS for char in word)
            for word in each
        )
        self._open("done", name, NAME if is_known else UNKNOWN)

    def _end_command(self, joint: str) -> None:
        self._end_word()
        if self.redirect or (self.has_redirect and not self.words and not self.is_closed):
            raise NotPlain
        if self.is_loop:
            self._loop(joint)
        elif self.words:
            self.found.append(self.words)
        self.words, self.has_redirect, self.is_closed, self.is_loop = [], False, False, False


def _name(text: str, at: int) -> str:
    """Name of the variable at an index."""
    end = at
    while end < len(text) and text[end].isascii() and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return "" if text[at:end][:1].isdigit() else text[at:end]


def _may_expand(line: str) -> bool:
    """Whether a heredoc line contains more than text and plain variables."""
    return "\\" in line or "${" in line or "$[" in line
