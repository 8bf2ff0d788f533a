"""Relevance of names and files to the current work, by how often and how recently they were used.

An agent's next file is usually one that it used recently and often. Each use adds a score that fades with the
square root of the steps since, like human memory. What the user said fades with each further message instead. What
a result showed scores less than what was used, less still in a long result, and is forgotten sooner. Exception: if
the files opened last stood together in one result, the work goes through that list, and the rest of the list comes
next.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from segue.facts.mentions import LONGEST_PATH, may_be_path, names, paths_among, tokens
from segue.model import Fact, Origin
from segue.redact import prefilter, redact, value_shape

KEPT, SHOWN, SAID = 1000, 200, 100
"""Lifetime of a use and of a shown result in steps, and of the user's words in messages."""
BESIDE = 0.5
"""Weight of the lines around an edit; changed lines have 1."""
CROWD = 100
"""A result with this many names scores half per name."""
TIDIED = 100
"""Number of steps between clean-ups."""
TOLD = 120
"""Maximum number of reported names."""
HOT = 0.3
"""Minimum score of names and of files that were only read."""
OPENED_LAST, IN_LIST, MOST_LEFT = 6, 0.75, 20
"""The work goes through a list if it contained this share of the last opened files and at most this many are left."""
FEWEST_IN_LIST = 3
LEFT = "not opened yet"
FEWEST_SHOWN, TAKEN_UP = 50, 0.005
"""An agent that was shown this many names and has used less than this share of them uses none."""
LONGEST = 20_000
SHORTEST, LONGEST_NAME = 4, 100
ALTERNATING = re.compile(r"[A-Za-z]\d+[A-Za-z]+\d|\d[A-Za-z]+\d+[A-Za-z]|(?:[a-z][A-Z]){3}|[0-9a-f]{12}")
WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
REDACTION_KEY = b"names are not kept"
ESCAPED = re.compile(r"\\[nrt](?:(?<=[\s\"'`(]..)|(?<![\\/:.]..)(?=[A-Z]))")
"""An escaped line break in code: a new word follows. Before a backslash in a path stands a part of the path, a dot
or a colon."""
CONTROL = re.compile(r"\x1b\[[0-9;:?]{0,40}[A-Za-z]|[\x00-\x08\x0b-\x1f]")

HYPHENED = re.compile(r"[A-Za-z][A-Za-z0-9]{0,40}+(?:-[A-Za-z0-9]{1,40}+){2,4}+")
"""Names of branches, packages, options, style classes: words with at least two hyphens."""
BACKSLASHED = re.compile(r"\.{0,2}+\\{0,2}+(?:[\w.@+-]++\\{1,2}+)++[\w@+-][\w.@+-]{0,80}\.[A-Za-z]\w{0,9}")
"""A Windows path of a file, escaped once or twice."""
FOLDER = re.compile(r"\.?[A-Za-z_][\w.-]*+")

USED = {"edit": 1.0, "read": 1.0, "run": 2.0, "search": 1.0, "other": 1.0, "reply": 0.5, "said": 0.5}
SAW = {
    "read": 0.75,
    "look": 0.5,
    "search": 0.375,
    "run": 0.375,
    "edit": 0.375,
    "failed": 0.375,
    "other": 0.375,
}
"""Score by source."""


class Use(Struct):
    """A text from a call, an agent's message, a result or a user's message; once parsed, the names in it."""

    sort: Literal["used", "told", "shown", "said"]
    heat: float
    at: int
    """The step; of a user's message, its number."""
    home: str = ""
    """The file that it was written to."""
    text: str = ""
    beside: list[str] = []
    """Context lines of a change."""
    named: list[str] | None = None
    near: list[str] = []
    """Names in context lines only."""

    @property
    def names(self) -> list[str]:
        """All names."""
        return [*(self.named or ()), *self.near] if self.near else self.named or []

    def look(self, text: str, secrets: dict[str, str], *, is_dangerous: bool) -> None:
        """Find the names in the plain text. Secrets are noted with their kinds, except ordinary words, which mean
        something else elsewhere."""
        if is_dangerous:
            # The whole text: single lines would not reveal their secrets.
            redacted = redact(text, key=REDACTION_KEY)
            for one in redacted.findings:
                secret = text[one.start : one.start + one.length]
                if value_shape.is_telling(secret):
                    secrets[secret] = one.kind
            text = redacted.text
        changed, beside = _parted(text, self.beside)
        self.named = forms(changed)
        if beside:
            known = frozenset(self.named)
            self.near = [form for form in forms(beside) if form not in known]
        self.text, self.beside = "", []


def _begun(text: str) -> str:
    """Beginning of a text, up to the end of a word: half a secret does not look like one."""
    if len(text) <= LONGEST:
        return text
    parts = text[:LONGEST].rsplit(None, 1)
    return parts[0] if len(parts) > 1 else ""


def _plain(text: str) -> str:
    """Text without terminal control sequences. Few texts have any, and the check is fast."""
    return text if text.replace("\n", " ").replace("\t", " ").isprintable() else CONTROL.sub("", text)


def _parted(text: str, aside: list[str]) -> tuple[str, str]:
    """Split a text into its own lines and the context lines."""
    if not aside:
        return text, ""
    lines, known = text.split("\n"), frozenset(aside)
    left = [line for line in lines if line not in known]
    taken = [line for line in lines if line in known]
    return "\n".join(left), "\n".join(taken)


class Spot(Struct):
    """Score of a name, and the file that it belongs to."""

    heat: float = 0.0
    home: str = ""
    is_left: bool = False
    """Whether it is an unopened file of the current list."""


def _add(spots: dict[str, Spot], heat: float, home: str, names: list[str]) -> None:
    for name in dict.fromkeys(names):
        spot = spots.get(name)
        if spot is None:
            spot = spots[name] = Spot()
        spot.heat += heat
        spot.home = home or spot.home


class Heat(Struct):
    uses: list[Use] = []
    secrets: dict[str, str] = {}
    """Secrets recognised by a name next to them, with their kinds: elsewhere they may stand alone."""
    opened: dict[str, int] = {}
    """Files that were read or changed, with the step."""
    step: int = 0
    messages: int = 0
    asked: int = 0
    """Step of the last message."""

    def opens(self, path: str) -> None:
        self.opened[file_form(path)] = self.step

    def used(self, text: str, how: str, home: str = "", beside: Iterable[str] = ()) -> None:
        """Score the names in a used text, and less those in its context lines."""
        if text:
            sort: Literal["used", "told"] = "told" if how == "reply" else "used"
            self.uses.append(Use(sort, USED[how], self.step, home, _begun(text), [*beside]))

    def saw(self, text: str, how: str) -> None:
        """Score the names in a result."""
        if text:
            self.uses.append(Use("shown", SAW[how], self.step, "", _begun(text)))

    def said(self, text: str) -> None:
        """Score the names in an instruction, or in a plan that the user approved."""
        self.messages += 1
        self.asked = self.step
        self.uses.append(Use("said", USED["said"], self.messages, "", _begun(text)))

    def tick(self) -> None:
        """Count a step; old uses are removed from time to time."""
        self.step += 1
        if self.step % TIDIED == 0:
            self.uses = self._counting()

    def now(self, *, has_changed: bool = False) -> dict[str, Spot]:
        """Scores by name; a file's name is the last two parts of its path. An agent that has changed something is
        not only reading."""
        spots: dict[str, Spot] = {}
        counting = self._counting()
        self._look([use for use in counting if use.named is None])
        whole = _in_one_folder({name for use in counting for name in use.names})
        self._spare_said(counting)
        is_reader = not has_changed and _takes_up_none(counting)
        for use in counting:
            heat = use.heat / math.sqrt(1 + self._age(use))
            if use.sort == "shown":
                heat *= CROWD / (CROWD + len(use.named or ()))
            named = filter(is_file, use.named or ()) if is_reader and use.sort == "shown" else use.named or ()
            _add(spots, heat, use.home, [whole.get(name, name) for name in named])
            if use.near:
                _add(spots, heat * BESIDE, use.home, [whole.get(name, name) for name in use.near])
        for name in self._left(counting, whole):
            spots[name].heat += USED["read"]
            spots[name].is_left = True
        return spots

    def _look(self, new: list[Use]) -> None:
        texts = [_plain(use.text) for use in new]
        for use, text, is_dangerous in zip(new, texts, prefilter.dangerous(texts), strict=True):
            use.look(text, self.secrets, is_dangerous=is_dangerous)

    def _left(self, counting: list[Use], whole: dict[str, str]) -> list[str]:
        """Unopened files of the list that the work goes through, unless there are too many."""
        opened = {whole.get(name, name): step for name, step in self.opened.items()}
        last = sorted(opened, key=lambda name: opened[name])[-OPENED_LAST:]
        if len(last) < FEWEST_IN_LIST:
            return []
        met_with = {
            whole.get(name, name) for use in counting if use.sort == "used" for name in use.named or ()
        }
        for use in reversed(counting):
            if use.sort == "shown" and use.at < self.asked:
                break  # the user has asked for something else since
            listed = {whole.get(name, name) for name in use.named or ()} if use.sort == "shown" else set()
            met = sum(opened[name] > use.at and name in listed for name in last)
            if met >= max(FEWEST_IN_LIST, IN_LIST * len(last)):
                left = sorted(name for name in listed - met_with if is_file(name) and name not in opened)
                if 0 < len(left) <= MOST_LEFT:
                    return left
        return []

    def _spare_said(self, counting: list[Use]) -> None:
        """A word that the user uses as a name is not a secret, even if a result showed it as a password."""
        said = {name for use in counting if use.sort == "said" for name in use.named or ()}
        for name in said & self.secrets.keys():
            if not value_shape.is_distinctive(name):
                del self.secrets[name]

    def _counting(self) -> list[Use]:
        kept = {"used": KEPT, "told": KEPT, "shown": SHOWN, "said": SAID}
        return [use for use in self.uses if self._age(use) <= kept[use.sort]]

    def _age(self, use: Use) -> int:
        return (self.messages if use.sort == "said" else self.step) - use.at


def _takes_up_none(uses: Iterable[Use]) -> bool:
    """Whether an agent opens files but uses almost none of their names, and so will not use the next ones."""
    shown: dict[str, int] = {}
    taken_up: set[str] = set()
    for use in uses:
        for name in use.named or () if use.sort in ("shown", "used") else ():
            if use.sort == "shown" and not is_file(name):
                shown.setdefault(name, use.at)
            elif shown.get(name, use.at) < use.at:
                taken_up.add(name)
    return len(shown) >= FEWEST_SHOWN and len(taken_up) < TAKEN_UP * len(shown)


def _in_one_folder(names: set[str]) -> dict[str, str]:
    """Full name of each file that occurs in one folder only."""
    found: dict[str, list[str]] = {}
    for name in names:
        if "/" in name:
            found.setdefault(name.rpartition("/")[2], []).append(name)
    return {name: known[0] for name, known in found.items() if len(known) == 1}


def is_word(name: str) -> bool:
    """Whether people made up the name from words. In hashes, keys and tokens, letters, cases and digits alternate
    as in no name."""
    if not SHORTEST <= len(name) <= LONGEST_NAME or ALTERNATING.search(name):
        return False
    # A fast path for lower-case names, the most common ones.
    is_plain = name.isascii() and name.islower() and name.replace("_", "").isalpha()
    lengths = [len(part) for part in (name.split("_") if is_plain else WORD.findall(name)) if part]
    short = sum(length < 3 for length in lengths)
    if short * 2 <= len(lengths) and max(lengths, default=0) >= 3:
        return True
    return 2 * sum(length for length in lengths if length > 3) >= len(name)


def _is_made_up(name: str) -> bool:
    """Whether people made up the name; for a file, without its extension."""
    stem = name.rpartition(".")[0]
    return is_word(name) if len(stem) < SHORTEST else is_word(stem)


def forms(text: str) -> list[str]:
    """Names in a text in their normal form: files with their folder, members without their owner."""
    if "\\" in text:
        text = ESCAPED.sub(" ", text).replace("\\.", ".")
    # Plain words name nothing, and most words are plain.
    words = [word for word in tokens(text) if not (word.isalpha() and word.islower())]
    if max(map(len, words), default=0) > LONGEST_PATH:
        words = [word for word in words if len(word) <= LONGEST_PATH]
    return list(dict.fromkeys(itertools.chain.from_iterable(map(_forms_in, words))))


@functools.lru_cache(maxsize=1 << 15)
def _forms_in(word: str) -> tuple[str, ...]:
    """Names in one word. Cached because texts repeat words."""
    if "\\" in word and BACKSLASHED.fullmatch(word):
        word = word.replace("\\\\", "/").replace("\\", "/").lstrip("/")
    found = [file_form(path) for path in paths_among([word])] if may_be_path(word) else []
    if word.count("-") > 1 and HYPHENED.fullmatch(bare := word.strip(".-")):
        found.append(bare)
    for name in names(word):
        found += [part for part in name.split(".") if "_" in part or not (part.islower() or part.istitle())]
    return tuple(form for form in found if _is_made_up(form.rpartition("/")[2]))


def file_form(path: str) -> str:
    """The last two parts of a path, because many files share a name. Generated folder names are dropped."""
    above, _, name = path.rpartition("/")
    folder = above.rpartition("/")[2]
    is_told = FOLDER.fullmatch(folder) and (len(folder) < SHORTEST or is_word(folder))
    return f"{folder}/{name}" if is_told else name


def is_file(form: str) -> bool:
    """Whether a name has the form of a file: other names have no folder and no extension."""
    return "/" in form or "." in form


def heat_of(path: str, folder: str, spots: dict[str, Spot]) -> float:
    """Score of a file by its path relative to the folder of the work."""
    return max((spots[form].heat for form in _forms_of(path, folder) if form in spots), default=0.0)


def _forms_of(path: str, folder: str) -> tuple[str, str]:
    """A file with its folder (that of the work, if it lies there), and its name alone."""
    return file_form(path if "/" in path else f"{folder}/{path}"), path.rpartition("/")[2]


def facts(spots: dict[str, Spot], n: int, told: set[str], folder: str) -> list[Fact]:
    """The most relevant names that are not reported as files, each with the file that it was last written to."""
    known = {form for path in told for form in _forms_of(path, folder)}
    hot = sorted((-spot.heat, name) for name, spot in spots.items() if spot.heat >= HOT and name not in known)
    return [
        Fact(
            kind="name",
            subject=name,
            value=spots[name].home,
            note=LEFT if spots[name].is_left else "",
            entry="",
            origin=Origin.TOOL,
            n=n,
            weight=-cold,
        )
        for cold, name in hot[:TOLD]
    ]
