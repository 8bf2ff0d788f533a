"""Settings: from files and environment to one frozen `Settings`, with the source of each value.

Later layers override earlier ones: defaults < the user's file < a trusted project's file < environment < flags < the
organisation's policy. A project file that is not trusted may only narrow: each setting defines which values are
narrower. Others are ignored and reported.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from segue.errors import BadFile, BadValue, UnknownKey
from segue.model import Preserve


class Settings(Struct, frozen=True, kw_only=True):
    """A field for each setting, named by its key with underscores for dots."""

    handoff_auto: bool = False
    handoff_auto_switch: bool = False
    handoff_preserve: Preserve = Preserve.STANDARD
    handoff_models: tuple[str, ...] = ()
    limits_recommend: int = 75
    limits_urgent: int = 90
    limits_models: dict[str, int] = {}
    run_chain: tuple[str, ...] = ()
    run_week: int = 60
    run_prewarm: bool = False
    vendors_allowed: tuple[str, ...] = ()
    redact_allow: tuple[str, ...] = ()
    mcp_allow: tuple[str, ...] = ()
    verify_test_command: tuple[str, ...] = ()
    verify_run_tests: bool = False
    store_url: str = ""
    store_busy_seconds: int = 30
    user_name: str = ""


class Kind(Struct, frozen=True):
    """The type of a setting's value: in words for people, and as a function that raises ValueError."""

    takes: str
    read: Callable[[Any], Any]
    shown: Callable[[Any], Any] = lambda value: value
    """The value without its secrets."""


class Setting(Struct, frozen=True):
    key: str
    kind: Kind
    about: str
    is_narrower: Callable[[Any, Any], bool]
    """Whether the second value may come from a project that is not trusted, given the first."""

    @property
    def field(self) -> str:
        return self.key.replace(".", "_")

    @property
    def default(self) -> Any:
        return getattr(Settings(), self.field)


def _read_flag(value: Any) -> bool:
    words = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in words:
        return words[value.lower()]
    raise ValueError


def _read_whole(pattern: str, most: int) -> Callable[[Any], int]:
    """A reader of whole numbers from 1, also as a text that matches a pattern."""

    def read(value: Any) -> int:
        if isinstance(value, str) and re.fullmatch(pattern, value.strip()):
            value = int(value.strip().rstrip("%"))
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most:
            return value
        raise ValueError

    return read


def _read_names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list | tuple) and all(isinstance(part, str) and part for part in value):
        return tuple(value)
    raise ValueError


TOOLS = ("prepare", "offer")
"""What an agent may be allowed to do by itself, besides reading."""


def _read_tools(value: Any) -> tuple[str, ...]:
    found = _read_names(value)
    if set(found) <= set(TOOLS):
        return found
    raise ValueError


def _read_argv(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        import shlex  # lazy: few name a command

        value = shlex.split(value)
    if isinstance(value, list | tuple) and all(isinstance(part, str) and "\0" not in part for part in value):
        return tuple(value)
    raise ValueError


def _read_text(value: Any) -> str:
    if isinstance(value, str) and value.isprintable():
        return value
    raise ValueError


def _read_store(value: Any) -> str:
    text = _read_text(value)
    if text and not re.match(r"postgres(ql)?://", text):
        raise ValueError
    return text


def without_password(url: str) -> str:
    """An address without its password, fit to be shown and logged. Anything unclear is left out."""
    scheme, mark, rest = url.strip().partition("://")
    if not mark:
        return "..."
    credentials, _, place = rest.rpartition("@")
    user = credentials.partition(":")[0]
    place = re.split(r"[?#]", place)[0]
    shown = f"{user}@{place}" if user else place
    # A word after a colon could be a password whose @ was forgotten: only a port is shown.
    plain = r"([\w.-]+@)?([\w.-]*|\[[\da-fA-F:]+\])(:\d+)?(/[\w.-]*)?"
    return f"{scheme}://{shown}" if re.fullmatch(plain, shown) else f"{scheme}://..."


FLAG = Kind("true or false", _read_flag)
PERCENT = Kind("a whole percentage from 1% to 100%", _read_whole(r"\d{1,3}%?", 100))
SECONDS = Kind("a whole number of seconds from 1 to 3600", _read_whole(r"\d+", 3600))
NAMES = Kind("a list of names", _read_names)
ALLOWED_TOOLS = Kind(f"a list of {' and '.join(TOOLS)}, or nothing", _read_tools)
TEXT = Kind("a line of text", _read_text)
ARGV = Kind("a command: its program and arguments, run without a shell", _read_argv)
STORE = Kind(
    "postgresql://..., or nothing for the store in your own folder",
    _read_store,
    lambda value: without_password(value) if isinstance(value, str) and value else value,
)
PRESERVE = Kind(" or ".join(Preserve), Preserve)


def _never(_old: Any, _new: Any) -> bool:
    return False


def _lower(old: Any, new: Any) -> bool:
    return bool(new <= old)


def _fewer(old: Any, new: Any) -> bool:
    return set(new) <= set(old)


def _less_kept(old: Preserve, new: Preserve) -> bool:
    return list(Preserve).index(new) <= list(Preserve).index(old)


MODEL_LIMIT = "limits.models."
COMMAND_LINE = "On the command line"
"""The place of a value from the command line, for errors."""

SETTINGS = (
    Setting("handoff.auto", FLAG, "prepare a handoff automatically at a threshold", _lower),
    Setting("handoff.auto_switch", FLAG, "let `segue run` switch agents at the urgent threshold", _lower),
    Setting("handoff.preserve", PRESERVE, "how much a handoff carries", _less_kept),
    Setting("handoff.models", NAMES, "models that work may go to: opus, or fast=agent:model", _fewer),
    Setting("limits.recommend", PERCENT, "recommend a handoff once this share of a limit is used", _never),
    Setting("limits.urgent", PERCENT, "call a handoff urgent once this share of a limit is used", _never),
    Setting("limits.models", PERCENT, "the share for one model, as limits.models.NAME", _never),
    Setting("run.chain", NAMES, "default agents of `segue run`, the preferred one first", _fewer),
    Setting("run.week", PERCENT, "skip agents that have used this share of their weekly limit", _lower),
    Setting("run.prewarm", FLAG, "give the next agent the context before the switch; costs tokens", _lower),
    Setting(
        "vendors.allowed",
        NAMES,
        "vendors that context may go to without asking",
        _fewer,
    ),
    Setting(
        "redact.allow",
        NAMES,
        "values that are not secrets: a text, a pattern with *, or a /regular expression/",
        _fewer,
    ),
    Setting("mcp.allow", ALLOWED_TOOLS, "what an agent may do through `segue mcp` beyond reading", _fewer),
    Setting(
        "verify.test_command",
        ARGV,
        "the command that runs the project's tests, for `segue verify --tests`",
        _never,
    ),
    Setting("verify.run_tests", FLAG, "run the tests on every return and `segue verify`", _lower),
    Setting("store.url", STORE, "where the shared store is", _never),
    Setting("store.busy_seconds", SECONDS, "how long to wait for a busy store", _never),
    Setting("user.name", TEXT, "your name in the log; your login name if empty", _never),
)
BY_KEY = {setting.key: setting for setting in SETTINGS}


class Layer(StrEnum):
    DEFAULT = "default"
    USER = "user file"
    PROJECT = "project file"
    ENVIRONMENT = "environment"
    FLAG = "flag"
    POLICY = "policy"


class Source(Struct, frozen=True):
    """The source of a value: 'user file /home/ada/.config/segue/settings.toml:3'."""

    layer: Layer
    place: str = ""

    def __str__(self) -> str:
        return f"{self.layer.value} {self.place}".rstrip()


class Assignment(Struct, frozen=True):
    """One value for one key, from one place."""

    key: str
    value: Any
    source: Source


class Resolved(Struct, frozen=True):
    """The settings in force, the source of each, and what an untrusted project could not change."""

    settings: Settings
    sources: dict[str, Source]
    ignored: tuple[Assignment, ...] = ()

    def value(self, key: str) -> Any:
        setting = setting_for(key, COMMAND_LINE)
        found = getattr(self.settings, setting.field)
        return found.get(key.removeprefix(MODEL_LIMIT)) if key.startswith(MODEL_LIMIT) else found

    def source(self, key: str) -> Source:
        return self.sources.get(key, Source(Layer.DEFAULT))

    def every_key(self) -> list[str]:
        """Every key that has a value, including one for each model that has its own limit."""
        models = [MODEL_LIMIT + name for name in sorted(self.settings.limits_models)]
        keys = [setting.key for setting in SETTINGS if setting.key != "limits.models"]
        after = keys.index("limits.urgent") + 1
        return [*keys[:after], *models, *keys[after:]]


def setting_for(key: str, place: str) -> Setting:
    """The setting for a key; `limits.models.NAME` is one key for each model."""
    if re.fullmatch(re.escape(MODEL_LIMIT) + r"[A-Za-z0-9][\w.:-]*", key):
        return BY_KEY["limits.models"]
    if key in BY_KEY and key != "limits.models":
        return BY_KEY[key]
    import difflib  # lazy: only a mistake needs it

    known = [*BY_KEY, MODEL_LIMIT + "NAME"]
    close = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    raise UnknownKey(
        place=place,
        key=key,
        nearest=f" Did you mean {close[0]}?" if close else "",
        next="segue config list shows every setting"
        if place in (COMMAND_LINE, "--set")
        else "correct it with segue config edit; segue config path shows every file",
    )


def assign(key: str, value: Any, source: Source, place: str) -> Assignment:
    setting = setting_for(key, place)
    try:
        return Assignment(key, setting.kind.read(value), source)
    except ValueError:
        value = setting.kind.shown(value)
        shown = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
        raise BadValue(
            place=place, key=key, value=shown, takes=setting.kind.takes, next=_mend(place, key)
        ) from None


def _mend(place: str, key: str) -> str:
    """How to correct a wrong value."""
    if place == COMMAND_LINE:
        return f"segue config get {key} shows the current value"
    if place.startswith(("SEGUE_", "--set")):
        return f"give {place} another value, or leave it out"
    return "correct it with segue config edit; segue config path shows every file"


LARGEST_FILE = 64_000
DEEPEST = 20


def read_bytes(path: Path) -> bytes | None:
    """The content of a settings file; None if there is none. A pipe or a device is refused without waiting for it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadFile(place=path, what=error.strerror or str(error)) from error
    try:
        content = os.read(fd, LARGEST_FILE + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else None
    except OSError as error:
        raise BadFile(place=path, what=error.strerror or str(error)) from error
    finally:
        os.close(fd)
    if content is None or len(content) > LARGEST_FILE:
        raise BadFile(place=path, what="it is not a regular file, or is too large")
    return content


def read_file(path: Path, layer: Layer) -> list[Assignment]:
    """The assignments in a settings file; empty if there is no such file."""
    content = read_bytes(path)
    return read_content(content, path, layer) if content is not None else []


def read_content(content: bytes, path: Path, layer: Layer) -> list[Assignment]:
    try:
        # Some editors begin a file with a byte order mark, which TOML does not allow.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(place=path, what=str(error)) from error
    return read_text(text, path, layer)


def read_text(text: str, path: Path, layer: Layer) -> list[Assignment]:
    import tomllib  # lazy: most starts find no settings file

    try:
        leaves = list(_leaves(tomllib.loads(text), ""))
    except (ValueError, RecursionError) as error:
        raise BadFile(place=path, what=str(error)) from error
    lines = lines_of(text)
    found = []
    for key, value in leaves:
        place = f"{path}:{_line_in(lines, key)}"
        found.append(assign(key, value, Source(layer, place), place))
    return found


def _leaves(tree: Mapping[str, Any], prefix: str) -> Iterable[tuple[str, Any]]:
    for name, value in tree.items():
        key = prefix + name
        # A table under a setting's own key is a wrong value, not a longer key.
        if isinstance(value, dict) and (key not in BY_KEY or key == "limits.models"):
            yield from _leaves(value, key + ".")
        else:
            yield key, value


def lines_of(text: str) -> dict[str, int]:
    """The first line of each key of a TOML text, with tables and parts of keys: TOML's own reader does not report
    lines."""
    found: dict[str, int] = {}
    table: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = here = _split_key(stripped.strip("[").partition("]")[0])
        elif "=" in stripped and not stripped.startswith("#"):
            here = table + _split_key(stripped.partition("=")[0])
        else:
            continue
        for depth in range(len(here), 0, -1):
            found.setdefault(".".join(here[:depth]), number)
    return found


def _line_in(lines: Mapping[str, int], key: str) -> int:
    """The line of a key, or of the longest part of it that has one."""
    while key and key not in lines:
        key = key.rpartition(".")[0]
    return lines.get(key, 1)


def _split_key(text: str) -> list[str]:
    return [part.strip().strip("\"'") for part in text.split(".")[:DEEPEST]]


def read_environment(env: Mapping[str, str]) -> list[Assignment]:
    """SEGUE_LIMITS_URGENT and the like: a name for each key. SEGUE_STORE is short for store.url."""
    found = []
    for name, key in environment_names().items():
        if name in env:
            found.append(assign(key, env[name], Source(Layer.ENVIRONMENT, name), name))
    for name, value in env.items():
        if model := re.fullmatch(r"SEGUE_LIMITS_MODELS_(\w+)", name):
            key = MODEL_LIMIT + model.group(1).lower()
            found.append(assign(key, value, Source(Layer.ENVIRONMENT, name), name))
    return found


def environment_names() -> dict[str, str]:
    names = {"SEGUE_" + setting.field.upper(): setting.key for setting in SETTINGS}
    del names["SEGUE_LIMITS_MODELS"]
    del names["SEGUE_STORE_URL"]
    return {**names, "SEGUE_STORE": "store.url"}


def read_flags(pairs: Iterable[str]) -> list[Assignment]:
    """`--set key=value`, as often as wanted."""
    found = []
    for pair in pairs:
        key, _, value = pair.partition("=")
        found.append(assign(key.strip(), value.strip(), Source(Layer.FLAG, "--set"), "--set"))
    return found


def resolve(layers: Iterable[list[Assignment]], *, is_trusted: bool) -> Resolved:
    """The settings from all layers, in the order given."""
    values: dict[str, Any] = {}
    sources: dict[str, Source] = {}
    ignored = []
    for assignment in (assignment for layer in layers for assignment in layer):
        setting = setting_for(assignment.key, str(assignment.source))
        current = values.get(assignment.key, setting.default)
        from_stranger = assignment.source.layer is Layer.PROJECT and not is_trusted
        if from_stranger and not setting.is_narrower(current, assignment.value):
            ignored.append(assignment)
            continue
        values[assignment.key] = assignment.value
        sources[assignment.key] = assignment.source
    models = {k.removeprefix(MODEL_LIMIT): v for k, v in values.items() if k.startswith(MODEL_LIMIT)}
    plain = {BY_KEY[k].field: v for k, v in values.items() if not k.startswith(MODEL_LIMIT)}
    return Resolved(Settings(limits_models=models, **plain), sources, tuple(ignored))
