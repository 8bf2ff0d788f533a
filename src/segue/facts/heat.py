"""What the work is about just now: names and files by how much they were used, and how lately.

What an agent touches next is mostly what it touched last. Every use gives heat that goes in two ways: most of it
within a few steps, the rest in the course of hundreds; so only the last hundreds of steps are kept. What results
showed counts for the last few of them alone: of all that they ever showed, hardly anything is used again.
"""

from __future__ import annotations

import math
import re

from msgspec import Struct

from segue.facts.mentions import names, paths_among, tokens
from segue.model import Fact, Origin
from segue.redact import redact

QUICK, SLOW = 20, 300
"""After how many steps heat has gone to a third, of either sort."""
LASTING = 0.5
"""How much of the slow sort counts."""
KEPT = 400
"""How many steps are kept."""
SHOWN, SHOWN_QUICK = 15, 8
"""The same for what results showed."""
TIDIED = 100
"""After how many steps what is too long ago is thrown away."""
TOLD = 80
HOT = 0.4
"""What is cooler than this is used again one time in ten."""
LONGEST = 20_000
SHORTEST, LONGEST_NAME = 4, 100
ALTERNATING = re.compile(r"[A-Za-z]\d+[A-Za-z]+\d|\d[A-Za-z]+\d+[A-Za-z]|(?:[a-z][A-Z]){3}|[0-9a-f]{12}")
WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
DANGEROUS = re.compile(
    r"passw|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|auth|credential|private key|bearer|://[^\s/@]{1,80}:"
    r"|_key|apikey",
    re.IGNORECASE,
)
"""What stands near a secret that does not look like one."""
KEY = b"names are not kept"
LEAST_SECRET = 8
CONTROL = re.compile(r"\x1b\[[0-9;:?]{0,40}[A-Za-z]|[\x00-\x08\x0b-\x1f]")

HYPHENED = re.compile(r"[A-Za-z][A-Za-z0-9]{0,40}+(?:-[A-Za-z0-9]{1,40}+){2,4}+")
"""Names of branches, packages, style classes: words with at least two hyphens. Options are none of them."""
FOLDER = re.compile(r"\.?[A-Za-z_][\w.-]*+")

USED = {"edit": 0.7, "read": 1.2, "run": 0.8, "search": 0.7, "other": 1.0, "reply": 0.6, "prompt": 0.3}
SAW = {"read": 0.8, "search": 0.4, "run": 0.4, "edit": 0.3, "failed": 0.4}
"""What a use of either sort is worth."""


class Use(Struct):
    """One step: a text that was used or shown, or, once it was looked through, what it names."""

    heat: float
    step: int
    is_shown: bool
    home: str = ""
    """The file that it was put into."""
    text: str = ""
    named: list[str] | None = None

    def names(self, secrets: dict[str, str]) -> list[str]:
        """What it names; secrets that it holds are noted, with their kinds."""
        if self.named is None:
            text = CONTROL.sub("", self.text)
            if DANGEROUS.search(text):
                redacted = redact(text, key=KEY)
                for one in redacted.findings:
                    if one.length >= LEAST_SECRET:
                        secrets[text[one.start : one.start + one.length]] = one.kind
                text = redacted.text
            self.named = forms(text)
            self.text = ""
        return self.named


class Spot(Struct):
    """How hot a name is, and where it belongs."""

    heat: float = 0.0
    home: str = ""


class Heat(Struct):
    uses: list[Use] = []
    secrets: dict[str, str] = {}
    """What was seen beside a name that gives it away, with its kind: elsewhere it may stand alone."""
    step: int = 0

    def used(self, text: str, how: str, home: str = "") -> None:
        """What a text names was used."""
        if text:
            self.uses.append(Use(USED[how], self.step, False, home, text[:LONGEST]))

    def saw(self, text: str, how: str) -> None:
        """A result showed what a text names."""
        if how in SAW and text:
            self.uses.append(Use(SAW[how], self.step, True, "", text[:LONGEST]))

    def tick(self) -> None:
        """One more step; what is too long ago is forgotten, in one go from time to time."""
        self.step += 1
        if self.step % TIDIED == 0:
            self.uses = [
                use for use in self.uses if self.step - use.step <= (SHOWN if use.is_shown else KEPT)
            ]

    def now(self) -> dict[str, Spot]:
        """Everything that is hot, by its name; a file by the last two parts of its path."""
        spots: dict[str, Spot] = {}
        counting = [use for use in self.uses if not use.is_shown or self.step - use.step <= SHOWN]
        whole = _in_one_folder({name for use in counting for name in use.names(self.secrets)})
        for use in counting:
            age = self.step - use.step
            if use.is_shown:
                heat = use.heat * math.exp(-age / SHOWN_QUICK)
            else:
                heat = use.heat * (math.exp(-age / QUICK) + LASTING * math.exp(-age / SLOW))
            for name in dict.fromkeys(whole.get(name, name) for name in use.names(self.secrets)):
                spot = spots.setdefault(name, Spot())
                spot.heat += heat
                spot.home = use.home or spot.home
        return spots


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
    parts = WORD.findall(name)
    short = sum(len(part) < 3 for part in parts)
    return bool(parts) and short * 2 <= len(parts) and max(map(len, parts)) >= 3


def forms(text: str) -> list[str]:
    """What a text names, each in the form by which it is counted: a file with the folder that it lies in, a member
    without what it is a member of."""
    words = tokens(text)
    found = [file_form(path) for path in paths_among(words)]
    found += [bare for word in words if word.count("-") > 1 and HYPHENED.fullmatch(bare := word.rstrip("."))]
    for name in names(text):
        found += [part for part in name.split(".") if "_" in part or not (part.islower() or part.istitle())]
    return [form for form in dict.fromkeys(found) if is_word(form.rpartition("/")[2])]


def file_form(path: str) -> str:
    """The last two parts of a path, as many files share a name. A folder that nobody made up says nothing."""
    above, _, name = path.rpartition("/")
    folder = above.rpartition("/")[2]
    is_told = FOLDER.fullmatch(folder) and (len(folder) < SHORTEST or is_word(folder))
    return f"{folder}/{name}" if is_told else name


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
            kind="name", subject=name, value=spots[name].home, entry="", origin=Origin.TOOL, n=n, weight=-cold
        )
        for cold, name in hot[:TOLD]
    ]
