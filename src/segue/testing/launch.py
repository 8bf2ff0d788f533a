"""Checks of how an agent is started: the prompt arrives as plain text, and no extra permission is requested.

The program itself is not run; only its command line is checked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from segue import agents
from segue.agents.shared.launch import ONE_ARGUMENT, Launch, Start, Starter
from segue.agents.shared.settings.hook_settings import Manner
from segue.agents.shared.settings.project_config import Belongings
from segue.agents.shared.settings.settings_patch import Piece, Reach
from segue.briefs import render
from segue.hooks import guard
from segue.model.delivery import Mode
from segue.testing.sample import ensure

PROGRAM = "/usr/bin/the-program"
MARKER = f"{render.HEADING} h-0123456789ab"
"""The first line of every handoff prompt. The handoff is found again by it."""
PROMPTS = (
    f"{MARKER}\n\nGo on with `src/a.py`, as ada@example.com said.\n",
    f"{MARKER}\n\n@~/.ssh/id_rsa is named here, and @src and (@notes.md), and user@host\n",
    f"{MARKER}\n\n/clear\n!ls -la\n--model=other\n'quoted' \"twice\" $HOME `id` \\@ \\\\ %s {{x}} 🙂 日本語 @file\n",
    "-p is how this begins",
    "--resume=latest is how this begins",
    "/clear is how this begins",
    "!ls is how this begins",
    "@notes.md is how this begins",
    '"quoted" is how this begins',
)
LONG = f"{MARKER}\n\n" + "Words without an end. " * 12_000
BYPASS = re.compile(
    r"dangerous|yolo|bypass|full-auto|skip-permissions|allow-all|auto-approve|trust-all|accept.?edits", re.I
)
"""Words in options that let an agent act without asking."""
TYPED = ("--typed-by", "the person")
"""Arguments that the user typed."""

Env = Mapping[str, str]


def check_starter(
    starter: Starter, scratch: Path, *, env: Env | None = None, model: str = "some-model", resume: str = ""
) -> None:
    """Check that an agent that can be started keeps every promise. `env` is added to a HOME in `scratch`.
    `resume` is an id of one of its transcripts, for an agent whose ids Segue does not make."""
    around = surroundings(scratch, env)
    project = scratch / "project"
    project.mkdir(parents=True, exist_ok=True)
    before = tree_of(scratch)
    check_spoken(starter, around)
    for mode in Mode:
        check_said(starter, project, around, mode, model)
    check_options(starter, project, around, model, resume or id_for(starter))
    check_offered(starter, project, around)
    ensure(tree_of(scratch) == before, "`command` has changed files")


def check_said(starter: Starter, project: Path, env: Env, mode: Mode, model: str = "") -> None:
    """Check that a prompt arrives once and unchanged, whatever it begins with."""
    prompts = (*PROMPTS, LONG) if mode is Mode.HEADLESS else PROMPTS
    for prompt in prompts:
        said = _spoken(starter, prompt, env)
        id = id_for(starter) if getattr(starter, "new_id", None) else ""
        start = Start(program=PROGRAM, project=project, mode=mode, prompt=said, model=model, id=id)
        launch = _launched(starter, start, env)
        where = f"{mode.value}, {prompt[:40]!r}"
        ensure(launch == _launched(starter, start, env), f"{where}: two calls give different command lines")
        _check_launch(launch, where)
        by_argument = [number for number, text in enumerate(launch.argv) if _ends_with(text, said)]
        by_stdin = launch.stdin is not None and _ends_with(launch.stdin, said)
        if mode is Mode.OPEN:
            ensure(launch.stdin is None, f"{where}: standard input is the user's, but gets text")
        ensure(len(by_argument) + by_stdin == 1, f"{where}: it is said {len(by_argument) + by_stdin} times")
        for number in by_argument:
            ensure(
                not launch.argv[number].startswith("-")
                or "--" in launch.argv[:number]
                or launch.argv[number].partition("=")[2] != "",
                f"{where}: the prompt would be taken for an option; put -- before it",
            )


def check_spoken(starter: Starter, env: Env) -> None:
    """Check that the sent prompt keeps the line that it is found by, and is the same each time."""
    for prompt in PROMPTS:
        said = _spoken(starter, prompt, env)
        ensure(
            said == _spoken(starter, prompt, env),
            f"`spoken` gives different texts for one prompt: {said[:60]!r}",
        )
        is_found = not prompt.startswith(MARKER) or said.lstrip().startswith(MARKER)
        ensure(is_found, f"`spoken` changes the line that a handoff is found by: {said[:60]!r}")


def check_options(starter: Starter, project: Path, env: Env, model: str, resume: str) -> None:
    """Check that model, transcript and the user's arguments reach the program, and no permission that nobody gave."""
    for mode in Mode:
        plain = Start(program=PROGRAM, project=project, mode=mode, prompt=PROMPTS[0], model=model)
        launch = _launched(starter, plain, env)
        _ensure_named(launch, model, f"{mode.value}: the model is not passed on")
        resumed = _launched(starter, msgspec.structs.replace(plain, resume=resume), env)
        _ensure_named(resumed, resume, f"{mode.value}: the transcript to resume is not named")
        asked = msgspec.structs.replace(plain, is_question=True)
        for one in (launch, resumed, _launched(starter, asked, env)):
            _ensure_no_bypass(one, f"{mode.value}: it gets more permissions than the user gave")
        typed = _launched(starter, msgspec.structs.replace(plain, arguments=TYPED), env)
        ensure(
            _without(typed.argv, TYPED) == launch.argv,
            f"{mode.value}: the user's arguments are not passed on unchanged: {typed.argv}",
        )
        silent = _launched(starter, msgspec.structs.replace(plain, prompt=""), env)
        ensure(
            mode is Mode.HEADLESS or (silent.stdin is None and "" not in silent.argv),
            f"{mode.value}: without a prompt, the user speaks first, but text is sent",
        )


def check_offered(agent: Any, project: Path, env: Env) -> None:
    """Check the optional capabilities on a machine with an empty home."""
    bare = {"HOME": env["HOME"]}
    if tell := getattr(agent, "program", None):
        ensure(isinstance(tell(bare), str | None), "`program` gives neither a path nor None")
    if tell := getattr(agent, "keeps_transcripts_as", None):
        ensure(isinstance(tell(bare), str), "`keeps_transcripts_as` gives no name")
    if tell := getattr(agent, "vendor_of", None):
        ensure(bool(tell("some-model", bare)), "`vendor_of` gives no vendor")
    if tell := getattr(agent, "belongings", None):
        ensure(isinstance(tell(bare, project), Belongings), "`belongings` gives no Belongings")
    if tidy := getattr(agent, "tidy", None):
        for id in ("", "no-such-transcript", "../../x"):
            tidy(id, bare)
    if offered := getattr(agent, "hooks", None):
        check_manner(offered())
    for offer in ("pieces", "tool_server"):
        if offered := getattr(agent, offer, None):
            given = offered()
            for piece in (given,) if isinstance(given, Piece) else given:
                check_piece(piece, bare)


def check_piece(piece: Piece, env: Env) -> None:
    """Check that a patch can be added to settings and removed again, and that another Segue's stays."""
    ours, other = Reach("/home/a b/data", ("/usr/bin/segue",)), Reach("/other", ("/opt/other/segue",))
    ensure(piece.file(env).is_absolute(), "`file` gives no whole path")
    ensure(not piece.has(piece.empty, ours), "a piece is found where there is none")
    ensure(piece.drop(piece.empty, ours) == piece.empty, "where nothing is, something was dropped")
    added = piece.add(piece.empty, ours)
    ensure(piece.has(added, ours), "a piece that was added is not found")
    ensure(piece.add(added, ours) == added, "a piece that is there is added once more")
    dropped = piece.drop(added, ours)
    ensure(not piece.has(dropped, ours), "a piece that was dropped is still there")
    ensure(piece.drop(dropped, ours) == dropped, "a piece that was dropped leaves something of itself")
    ensure(
        bool(piece.purpose) and not piece.purpose.endswith("."), "`purpose` is a few words, and no sentence"
    )
    piece.trouble(added, other, env)


def check_manner(manner: Manner) -> None:
    """Check that a hook protocol parses or ignores any record, and that its answers contain the reason."""
    plain = msgspec.to_builtins(manner)
    odd: tuple[dict[str, Any], ...] = ({}, {"tool_name": 3, "tool_input": []}, {"cwd": None})
    for record in odd:
        ensure(
            guard.attempt_of(record, plain) is None,
            "a tool call that changes nothing is taken for an attempt",
        )
    for form in (manner.refuse, manner.tell, manner.warn):
        ensure("held by another" in repr(guard.filled(form, "held by another")), "an answer does not say why")


# What the checks share


def surroundings(scratch: Path, env: Env | None) -> dict[str, str]:
    home = scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {"HOME": str(home), **(env or {})}


def id_for(agent: Any) -> str:
    """A transcript id: the agent's own, or any."""
    make = getattr(agent, "new_id", None)
    return str(make("a seed")) if make else "11111111-2222-4333-8444-555555555555"


def tree_of(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder, with its mode and content."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _launched(starter: Starter, start: Start, env: Env) -> Launch:
    launch = starter.command(start, env)
    ensure(isinstance(launch, Launch), f"`command` gives no Launch: {launch!r:.80}")
    return launch


def _spoken(starter: Any, prompt: str, env: Env) -> str:
    """The prompt that is sent: escaped by the agent, or by the one whose program is started."""
    keeper = getattr(starter, "keeps_transcripts_as", None)
    say = agents.load(keeper(env)).spoken if keeper else getattr(starter, "spoken", None)
    return str(say(prompt)) if say else prompt


def _check_launch(launch: Launch, where: str) -> None:
    ensure(bool(launch.argv) and launch.argv[0] == PROGRAM, f"{where}: {launch.argv[:1]} is not the program")
    texts = [*launch.argv, *launch.env, *launch.env.values()]
    for text in texts:
        ensure(isinstance(text, str), f"{where}: {text!r:.80} is no text")
        ensure("\0" not in text, f"{where}: {text!r:.80} cannot be passed to a program")
        size = len(os.fsencode(text))
        ensure(size <= ONE_ARGUMENT, f"{where}: an argument of {size:,} bytes; headless, use standard input")


def _ends_with(text: str, said: str) -> bool:
    """Whether a text is the prompt, apart from blanks, an option's name before it and a full stop after it."""
    words, wanted = " ".join(text.split()), " ".join(said.split())
    return words.removesuffix(".").endswith(wanted.removesuffix("."))


def _ensure_named(launch: Launch, name: str, otherwise: str) -> None:
    told = [*launch.argv, *launch.env.values()]
    ensure(not name or any(name in text for text in told), f"{otherwise}: {launch.argv}")


def _ensure_no_bypass(launch: Launch, otherwise: str) -> None:
    options = [text for text in launch.argv[1:] if MARKER not in text]
    for text in (*options, *launch.env, *launch.env.values()):
        ensure(not BYPASS.search(text), f"{otherwise}: {text}")


def _without(argv: Sequence[str], typed: Sequence[str]) -> tuple[str, ...] | None:
    """The arguments without those that the user typed; None if these are not all there in order."""
    for number in range(len(argv)):
        if tuple(argv[number : number + len(typed)]) == tuple(typed):
            return (*argv[:number], *argv[number + len(typed) :])
    return None
