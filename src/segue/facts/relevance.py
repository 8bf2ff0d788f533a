"""What the work is about just now: names and files by how much they were used, and how lately.

What an agent touches next is mostly what it touched last, and often. Each use gives heat that fades with the square
root of the steps since, as memory of people does: quickly at first, and then ever more slowly. What the person said
fades with each further message instead, as it holds until they say something else. What a result showed gives less
than what was used, the less the more it showed, and is forgotten sooner. Only where the files that were opened last
stood together in a result before, the work goes through a list: what is left of that comes next.
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
"""For how many steps a use counts, and what a result showed; and for how many messages what the person said."""
BESIDE = 0.5
"""What lines beside an edit count, as against those that it changed."""
CROWD = 100
"""A result that shows so many names gives each half of what it would give to one alone."""
TIDIED = 100
"""After how many steps what is too long ago is thrown away."""
TOLD = 120
"""How many names are told at most."""
HOT = 0.3
"""What is cooler is left out, of names and of files that were only read."""
OPENED_LAST, IN_LIST, MOST_LEFT = 6, 0.75, 20
"""A list is gone through where that share of the files that were opened last stood in it, and this many are left."""
FEWEST_IN_LIST = 3
LEFT = "not opened yet"
FEWEST_SHOWN, TAKEN_UP = 50, 0.005
"""An agent that was shown so many names and used less than this share of them since uses none."""
LONGEST = 20_000
SHORTEST, LONGEST_NAME = 4, 100
ALTERNATING = re.compile(r"[A-Za-z]\d+[A-Za-z]+\d|\d[A-Za-z]+\d+[A-Za-z]|(?:[a-z][A-Z]){3}|[0-9a-f]{12}")
WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
REDACTION_KEY = b"names are not kept"
ESCAPED = re.compile(r"\\[nrt](?:(?<=[\s\"'`(]..)|(?<![\\/:.]..)(?=[A-Z]))")
"""The end of a line as code spells it: what follows is a word of its own. Before a backslash of a path stands a part of
the path, a dot or a colon."""
CONTROL = re.compile(r"\x1b\[[0-9;:?]{0,40}[A-Za-z]|[\x00-\x08\x0b-\x1f]")

HYPHENED = re.compile(r"[A-Za-z][A-Za-z0-9]{0,40}+(?:-[A-Za-z0-9]{1,40}+){2,4}+")
"""Names of branches, packages, options, style classes: words with at least two hyphens."""
BACKSLASHED = re.compile(r"\.{0,2}+\\{0,2}+(?:[\w.@+-]++\\{1,2}+)++[\w@+-][\w.@+-]{0,80}\.[A-Za-z]\w{0,9}")
"""A file by its path as Windows writes it, once or twice escaped."""
FOLDER = re.compile(r"\.?[A-Za-z_][\w.-]*+")

USED = {
    "edit": 1.0,
    "read": 1.0,
    "run": 2.0,
    "search": 1.0,
    "other": 1.0,
    "reply": 0.5,
    "said": 0.5,
}
SAW = {
    "read": 0.75,
    "look": 0.5,
    "search": 0.375,
    "run": 0.375,
    "edit": 0.375,
    "failed": 0.375,
    "other": 0.375,
}
"""What a use of either sort is worth."""


class Use(Struct):
    """A text that was used in a call, told by the agent, shown by a result or said by the person, or, once it was
    looked through, what it names."""

    sort: Literal["used", "told", "shown", "said"]
    heat: float
    at: int
    """The step; of what was said, the message."""
    home: str = ""
    """The file that it was put into."""
    text: str = ""
    beside: list[str] = []
    """The lines of the text that only show where something was changed."""
    named: list[str] | None = None
    near: list[str] = []
    """What only those lines name."""

    @property
    def names(self) -> list[str]:
        """All that it names."""
        return [*(self.named or ()), *self.near] if self.near else self.named or []

    def look(self, text: str, secrets: dict[str, str], *, is_dangerous: bool) -> None:
        """See what it names, in its plain text; secrets that it holds are noted, with their kinds, but no plain words:
        those mean something else elsewhere."""
        if is_dangerous:
            # The text as a whole: lines alone would not give away what they hold.
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
    """As much of a text as is looked through, to the end of a word: half a secret looks like none."""
    if len(text) <= LONGEST:
        return text
    parts = text[:LONGEST].rsplit(None, 1)
    return parts[0] if len(parts) > 1 else ""


def _plain(text: str) -> str:
    """Without what only a terminal understands. Few texts have any of it, and that is soon seen."""
    return text if text.replace("\n", " ").replace("\t", " ").isprintable() else CONTROL.sub("", text)


def _parted(text: str, aside: list[str]) -> tuple[str, str]:
    """A text without some of its lines, and those."""
    if not aside:
        return text, ""
    lines, known = text.split("\n"), frozenset(aside)
    left = [line for line in lines if line not in known]
    taken = [line for line in lines if line in known]
    return "\n".join(left), "\n".join(taken)


class Spot(Struct):
    """How hot a name is, and where it belongs."""

    heat: float = 0.0
    home: str = ""
    is_left: bool = False
    """Whether it is a file of the list that is being gone through, and was not opened yet."""


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
    """What was seen beside a name that gives it away, with its kind: elsewhere it may stand alone."""
    opened: dict[str, int] = {}
    """The files that were read or changed, each with the step."""
    step: int = 0
    messages: int = 0
    asked: int = 0
    """The step of the last message."""

    def opens(self, path: str) -> None:
        self.opened[file_form(path)] = self.step

    def used(self, text: str, how: str, home: str = "", beside: Iterable[str] = ()) -> None:
        """What a text names was used; what stands in lines beside it, less so."""
        if text:
            sort: Literal["used", "told"] = "told" if how == "reply" else "used"
            self.uses.append(Use(sort, USED[how], self.step, home, _begun(text), [*beside]))

    def saw(self, text: str, how: str) -> None:
        """A result showed what a text names."""
        if text:
            self.uses.append(Use("shown", SAW[how], self.step, "", _begun(text)))

    def said(self, text: str) -> None:
        """Whoever gives the orders said what a text names, or agreed to it."""
        self.messages += 1
        self.asked = self.step
        self.uses.append(Use("said", USED["said"], self.messages, "", _begun(text)))

    def tick(self) -> None:
        """One more step; what is too long ago is forgotten, in one go from time to time."""
        self.step += 1
        if self.step % TIDIED == 0:
            self.uses = self._counting()

    def now(self, *, has_changed: bool = False) -> dict[str, Spot]:
        """Everything that is hot, by its name; a file by the last two parts of its path. An agent that has changed
        something does not only read."""
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
        """What no call was about yet of the list that the work goes through, the last one that it may be."""
        opened = {whole.get(name, name): step for name, step in self.opened.items()}
        last = sorted(opened, key=lambda name: opened[name])[-OPENED_LAST:]
        if len(last) < FEWEST_IN_LIST:
            return []
        met_with = {
            whole.get(name, name) for use in counting if use.sort == "used" for name in use.named or ()
        }
        for use in reversed(counting):
            if use.sort == "shown" and use.at < self.asked:
                break  # the person has asked for something else since
            listed = {whole.get(name, name) for name in use.named or ()} if use.sort == "shown" else set()
            met = sum(opened[name] > use.at and name in listed for name in last)
            if met >= max(FEWEST_IN_LIST, IN_LIST * len(last)):
                left = sorted(name for name in listed - met_with if is_file(name) and name not in opened)
                if 0 < len(left) <= MOST_LEFT:
                    return left
        return []

    def _spare_said(self, counting: list[Use]) -> None:
        """What the person calls something by is a name, whoever showed it as a password."""
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
    """Whether an agent opens files and takes up next to none of the names that they show: so it will go on."""
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
    """For the name of each file that is known in one folder only, the name with its folder: they mean the same."""
    found: dict[str, list[str]] = {}
    for name in names:
        if "/" in name:
            found.setdefault(name.rpartition("/")[2], []).append(name)
    return {name: known[0] for name, known in found.items() if len(known) == 1}


def is_word(name: str) -> bool:
    """Whether people made it up, out of words: not a piece of a hash, a key or a token, whose letters, cases and
    digits alternate as in no name."""
    if not SHORTEST <= len(name) <= LONGEST_NAME or ALTERNATING.search(name):
        return False
    # Small letters alone, as most names have, are soon taken apart.
    is_plain = name.isascii() and name.islower() and name.replace("_", "").isalpha()
    lengths = [len(part) for part in (name.split("_") if is_plain else WORD.findall(name)) if part]
    short = sum(length < 3 for length in lengths)
    if short * 2 <= len(lengths) and max(lengths, default=0) >= 3:
        return True
    return 2 * sum(length for length in lengths if length > 3) >= len(name)


def _is_made_up(name: str) -> bool:
    """Whether people made it up; of a file, its name without the ending."""
    stem = name.rpartition(".")[0]
    return is_word(name) if len(stem) < SHORTEST else is_word(stem)


def forms(text: str) -> list[str]:
    """What a text names, each in the form by which it is counted: a file with the folder that it lies in, a member
    without what it is a member of."""
    if "\\" in text:
        text = ESCAPED.sub(" ", text).replace("\\.", ".")
    # A plain word names nothing, and most words are plain.
    words = [word for word in tokens(text) if not (word.isalpha() and word.islower())]
    if max(map(len, words), default=0) > LONGEST_PATH:
        words = [word for word in words if len(word) <= LONGEST_PATH]
    return list(dict.fromkeys(itertools.chain.from_iterable(map(_forms_in, words))))


@functools.lru_cache(maxsize=1 << 15)
def _forms_in(word: str) -> tuple[str, ...]:
    """What one word names: the same words stand in text after text."""
    if "\\" in word and BACKSLASHED.fullmatch(word):
        word = word.replace("\\\\", "/").replace("\\", "/").lstrip("/")
    found = [file_form(path) for path in paths_among([word])] if may_be_path(word) else []
    if word.count("-") > 1 and HYPHENED.fullmatch(bare := word.strip(".-")):
        found.append(bare)
    for name in names(word):
        found += [part for part in name.split(".") if "_" in part or not (part.islower() or part.istitle())]
    return tuple(form for form in found if _is_made_up(form.rpartition("/")[2]))


def file_form(path: str) -> str:
    """The last two parts of a path, as many files share a name. A folder that nobody made up says nothing."""
    above, _, name = path.rpartition("/")
    folder = above.rpartition("/")[2]
    is_told = FOLDER.fullmatch(folder) and (len(folder) < SHORTEST or is_word(folder))
    return f"{folder}/{name}" if is_told else name


def is_file(form: str) -> bool:
    """Whether it is by its form that of a file: other names have no folder and no ending."""
    return "/" in form or "." in form


def heat_of(path: str, folder: str, spots: dict[str, Spot]) -> float:
    """How hot a file is, by its path as seen from the folder of the work."""
    return max((spots[form].heat for form in _forms_of(path, folder) if form in spots), default=0.0)


def _forms_of(path: str, folder: str) -> tuple[str, str]:
    """A file with its folder, which for one that lies there is that of the work; and its name alone."""
    return file_form(path if "/" in path else f"{folder}/{path}"), path.rpartition("/")[2]


def facts(spots: dict[str, Spot], n: int, told: set[str], folder: str) -> list[Fact]:
    """The hottest names that are not told as files already, each with the file that it was last put into."""
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
