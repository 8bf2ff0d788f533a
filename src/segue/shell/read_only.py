"""Whether a command only reads, so that it may run while the worktree is leased. Uses no patterns.

A wrong yes lets two agents overwrite each other's work, so everything that is not known to be harmless counts as a
change: commands that `strict_lexer` refuses, unlisted programs, output of other commands, settings before a
program. (`commands.classify` is right often enough for a brief, but not for this.) A hook asks while the agent
waits, and `re` takes as long to load as Python itself.
"""

from __future__ import annotations

from segue.shell.strict_lexer import EITHER, NAME, SIGNS, UNKNOWN, NotPlain, simple_commands

LONGEST = 1 << 16

PROGRAMS = """
ls cat head tail wc nl tac rev tr fold expand cut paste comm cmp diff column grep egrep fgrep jq pwd cd echo test [ true
false : basename dirname realpath readlink stat du df which type whereis whoami uname id nproc ps pgrep printenv sleep
seq expr hexdump od strings cksum md5sum sha1sum sha256sum sha512sum shasum exit break continue
"""
HARMLESS = frozenset(PROGRAMS.split())
"""Programs that change no file, whatever their arguments."""

UNLESS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fd": ("xX", ("--exec",)),
    "rg": ("", ("--pre", "--hostname-bin")),
    "sort": ("o", ("--o", "--co")),
    "file": ("C", ("--c",)),
    "tree": ("oR", ("--output",)),
}
"""Programs that are harmless without these one-letter options and these prefixes of other options."""

FIND_HARM = ("-ok", "-delete", "-fprint", "-fls")
TEST_SIGNS = ("=", "==", "!=")
SEGUE = frozenset(("status", "show", "check", "log", "usage", "help", "version", "transcripts", "doctor"))

GIT_COMMANDS = """
status log diff show grep rev-parse ls-files ls-tree blame shortlog cat-file describe merge-base rev-list name-rev
for-each-ref show-ref check-ignore whatchanged cherry
"""
GIT = frozenset(GIT_COMMANDS.split())
GIT_BEFORE = frozenset(("--no-pager", "-P", "--no-optional-locks"))
GIT_HARM = ("--op", "--ou", "-o", "-O", "--ext", "--textc", "--fil")
LISTING = ("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
"""With these, `branch` and `tag` only list: a word is a filter instead of a new name."""
GIT_LISTS = {
    "branch": ("-a", "-r", "-v", "-vv", "-av", "-avv", "--all", "--remotes", "--verbose", "--show-current"),
    "tag": ("-l", "-n"),
}
GIT_FIRST = {
    "remote": ("get-url",),
    "stash": ("list", "show"),
    "worktree": ("list",),
    "config": ("--get", "--get-all", "--get-regexp", "--list", "-l"),
}
"""Harmless only with one of these first, and with no options except MAY_FOLLOW after it."""
MAY_FOLLOW = frozenset(("--porcelain", "-p", "--stat", "--name-only", "--oneline"))

XARGS_ALONE = frozenset(("-0", "-r", "-I{}", "-I%", "--null", "--no-run-if-empty"))
XARGS_NUMBERS = frozenset(("-n", "-L", "-P"))

SED_OPTIONS = frozenset(("-n", "-E", "-r", "-nE", "-En", "-nr"))
SED_COMMANDS = ("p", "d", "q", "=")
SED_FLAGS = frozenset("gpiI0123456789")


def only_looks(command: str) -> bool:
    """Whether a command only reads. A command that is too long to check quickly may do anything."""
    if len(command) > LONGEST:
        return False
    try:
        simples = simple_commands(command)
        return bool(simples) and all(_looks(words[0], words[1:]) for words in simples)
    except NotPlain:
        return False


def _looks(program: str, texts: list[str]) -> bool:
    if program in HARMLESS:
        return True
    if program == "xargs":
        return _xargs_looks(texts)
    if program == "printf":
        return not texts or not _may_set(texts[0])
    if program == "[[":
        return texts[-1:] == ["]]"] and not any(_may_reckon(text) for text in texts)
    if any(_may_be_option(text) for text in texts):
        return False
    if program in UNLESS:
        letters, starts = UNLESS[program]
        return not any(_has_letter(text, letters) or text.startswith(starts) for text in texts)
    own = OWN.get(program)
    return own is not None and own(texts)


def _may_be_option(text: str) -> bool:
    """Whether a word could expand to any option. A word that begins with a letter cannot."""
    is_named = bool(text) and text[0] not in f"-{EITHER}"
    return UNKNOWN in text or (not is_named and (EITHER in text or NAME in text))


def _has_letter(text: str, letters: str) -> bool:
    is_short = text.startswith("-") and not text.startswith("--")
    return is_short and any(letter in text for letter in letters)


def _may_set(text: str) -> bool:
    """Whether the first argument of `printf` could make it set a variable, such as PATH."""
    has_sign = any(sign in text for sign in SIGNS)
    return text.startswith(("-v", UNKNOWN, EITHER)) or (text.startswith("-") and has_sign)


def _may_reckon(text: str) -> bool:
    """Whether a word between double brackets could be an arithmetic expression that sets a variable."""
    return text not in TEST_SIGNS and ("=" in text or "[" in text)


def _find_looks(texts: list[str]) -> bool:
    for text, after in zip(texts, [*texts[1:], ""], strict=True):
        if text.startswith(FIND_HARM):
            return False
        if text.startswith("-exec") and (text not in ("-exec", "-execdir") or after not in HARMLESS):
            return False
    return True


def _date_looks(texts: list[str]) -> bool:
    def sets(text: str) -> bool:
        is_set = _has_letter(text, "s") and not text.startswith("-I")
        return is_set or text.startswith("--s") or text.replace(".", "").isdigit()

    return not any(sets(text) or NAME in text or EITHER in text for text in texts)


def _uniq_looks(texts: list[str]) -> bool:
    """`uniq` writes to its second argument."""
    files = [text for text in texts if not text.startswith("-") or text == "-"]
    return len(files) <= 1 and "--" not in texts and not any(EITHER in text or NAME in text for text in files)


def _command_looks(texts: list[str]) -> bool:
    return texts[:1] in (["-v"], ["-V"])


def _segue_looks(texts: list[str]) -> bool:
    return not texts or (texts[0] in SEGUE and "--mend" not in texts)


def _xargs_looks(texts: list[str]) -> bool:
    """Words passed on by `xargs` may be any option, so only harmless programs are allowed."""
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] in XARGS_ALONE or (texts[at][:2] in XARGS_NUMBERS and texts[at][2:].isdigit()):
            at += 1
        elif texts[at] in XARGS_NUMBERS or texts[at : at + 2] in (["-I", "{}"], ["-I", "%"]):
            at += 2
        else:
            return False
    return at >= len(texts) or texts[at] in HARMLESS


# git


def _git_looks(texts: list[str]) -> bool:
    if texts == ["--version"]:
        return True
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] not in GIT_BEFORE and texts[at] != "-C":
            return False
        at += 2 if texts[at] == "-C" else 1
    sub, rest = "".join(texts[at : at + 1]), texts[at + 1 :]
    if any(text.startswith(GIT_HARM) for text in rest) or (
        sub == "grep" and any(_has_letter(text, "O") for text in rest)
    ):
        return False
    if sub in GIT_LISTS:
        return _git_lists(sub, rest)
    if sub in GIT_FIRST:
        is_first = rest[:1] != [] and rest[0] in GIT_FIRST[sub]
        is_first &= all(text in MAY_FOLLOW or not text.startswith("-") for text in rest[1:])
        return is_first or (sub == "remote" and rest in ([], ["-v"], ["--verbose"]))
    return sub in GIT


def _git_lists(sub: str, rest: list[str]) -> bool:
    is_list = any(text in LISTING or (sub, text) == ("tag", "-l") for text in rest)
    return all(
        text in LISTING
        or text in GIT_LISTS[sub]
        or text.startswith(("--sort=", "--format="))
        or (is_list and not text.startswith("-"))
        for text in rest
    )


# sed


def _sed_looks(texts: list[str]) -> bool:
    scripts: list[str] = []
    at = 0
    while at < len(texts) and texts[at].startswith("-"):
        if texts[at] in ("-e", "-ne"):
            scripts += texts[at + 1 : at + 2]
            at += 1
        elif texts[at] not in SED_OPTIONS:
            return False
        at += 1
    if not scripts:
        scripts = texts[at : at + 1]
        at += 1
    has_options = any(text.startswith("-") for text in texts[at:])
    return bool(scripts) and not has_options and all(_only_prints(script) for script in scripts)


def _only_prints(script: str) -> bool:
    """Whether a sed script only selects lines and replaces text. Programs disagree where a pattern with brackets
    ends; with a single command that cannot matter."""
    if any(char in script for char in f"\n{SIGNS}"):
        return False
    at = count = 0
    while at < len(script):
        at = _after_command(script, at)
        count += 1
    return count == 1 or (count > 1 and "[" not in script)


def _after_command(script: str, at: int) -> int:
    at = _after_address(script, _after_blanks(script, at))
    if script[at : at + 1] == ",":
        at = _after_address(script, at + 1)
    at = _after_blanks(script, at)
    if script[at : at + 1] == "!":
        at = _after_blanks(script, at + 1)
    if script[at : at + 1] == "s":
        mark = script[at + 1 : at + 2]
        if not mark or mark.isalnum() or mark in "\\ ;":
            raise NotPlain
        at = _after_mark(script, _after_mark(script, at + 2, mark), mark)
        while script[at : at + 1] in SED_FLAGS:
            at += 1
    elif script[at : at + 1] in SED_COMMANDS:
        at += 1
    else:
        raise NotPlain
    at = _after_blanks(script, at)
    if script[at : at + 1] not in ("", ";"):
        raise NotPlain
    return at + 1


def _after_address(script: str, at: int) -> int:
    if script[at : at + 1] == "$":
        return at + 1
    if script[at : at + 1] == "/":
        return _after_mark(script, at + 1, "/")
    at += script[at : at + 1] == "+"
    while script[at : at + 1].isdigit():
        at += 1
    return at


def _after_mark(script: str, at: int, mark: str) -> int:
    while at < len(script):
        if script[at] == mark:
            return at + 1
        at += 2 if script[at] == "\\" else 1
    raise NotPlain


def _after_blanks(script: str, at: int) -> int:
    while script[at : at + 1] == " ":
        at += 1
    return at


OWN = {
    "find": _find_looks,
    "date": _date_looks,
    "uniq": _uniq_looks,
    "command": _command_looks,
    "segue": _segue_looks,
    "git": _git_looks,
    "sed": _sed_looks,
}
"""Checks of the programs whose arguments need their own rules."""
