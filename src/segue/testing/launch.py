"""What holds for every agent that can be handed work: what is said to it arrives as words, and nothing else is asked.

The program itself is not run here: what is held to account is how it would be started.
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
"""How every prompt of a handoff begins: what was said is found again by this line."""
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
"""Words in options that let an agent do what it would otherwise ask for."""
TYPED = ("--typed-by", "the person")
"""What settings are told to hold where there are none yet."""

Env = Mapping[str, str]


def check_starter(
    starter: Starter, scratch: Path, *, env: Env | None = None, model: str = "some-model", resume: str = ""
) -> None:
    """Whether an agent that can be handed work keeps every promise. `env` is on top of a HOME in `scratch`; `resume`
    is an id of a transcript of its own, for an agent whose ids Segue does not make."""
    around = surroundings(scratch, env)
    project = scratch / "project"
    project.mkdir(parents=True, exist_ok=True)
    before = tree_of(scratch)
    check_spoken(starter, around)
    for mode in Mode:
        check_said(starter, project, around, mode, model)
    check_options(starter, project, around, model, resume or id_for(starter))
    check_offered(starter, project, around)
    ensure(tree_of(scratch) == before, "asking how it is started has changed files")


def check_said(starter: Starter, project: Path, env: Env, mode: Mode, model: str = "") -> None:
    """That a prompt arrives once, as it stands, whatever it begins with."""
    prompts = (*PROMPTS, LONG) if mode is Mode.HEADLESS else PROMPTS
    for prompt in prompts:
        said = _spoken(starter, prompt, env)
        id = id_for(starter) if getattr(starter, "new_id", None) else ""
        start = Start(program=PROGRAM, project=project, mode=mode, prompt=said, model=model, id=id)
        launch = _launched(starter, start, env)
        where = f"{mode.value}, {prompt[:40]!r}"
        ensure(launch == _launched(starter, start, env), f"{where}: asked twice, it is started in two ways")
        _check_launch(launch, where)
        by_argument = [number for number, text in enumerate(launch.argv) if _ends_with(text, said)]
        by_stdin = launch.stdin is not None and _ends_with(launch.stdin, said)
        if mode is Mode.OPEN:
            ensure(launch.stdin is None, f"{where}: standard input is the person's, and is given something")
        ensure(len(by_argument) + by_stdin == 1, f"{where}: it is said {len(by_argument) + by_stdin} times")
        for number in by_argument:
            ensure(
                not launch.argv[number].startswith("-")
                or "--" in launch.argv[:number]
                or launch.argv[number].partition("=")[2] != "",
                f"{where}: the prompt would be taken for an option; put -- before it",
            )


def check_spoken(starter: Starter, env: Env) -> None:
    """That what is really said still begins with the line that it is found by, and is the same each time."""
    for prompt in PROMPTS:
        said = _spoken(starter, prompt, env)
        ensure(said == _spoken(starter, prompt, env), f"`spoken` is never the same: {said[:60]!r}")
        is_found = not prompt.startswith(MARKER) or said.lstrip().startswith(MARKER)
        ensure(is_found, f"`spoken` changes the line that a handoff is found by: {said[:60]!r}")


def check_options(starter: Starter, project: Path, env: Env, model: str, resume: str) -> None:
    """That a model, a transcript and the person's own arguments reach the program, and no leave that nobody gave."""
    for mode in Mode:
        plain = Start(program=PROGRAM, project=project, mode=mode, prompt=PROMPTS[0], model=model)
        launch = _launched(starter, plain, env)
        _ensure_named(launch, model, f"{mode.value}: the model is not passed on")
        resumed = _launched(starter, msgspec.structs.replace(plain, resume=resume), env)
        _ensure_named(resumed, resume, f"{mode.value}: the transcript to go on with is not named")
        asked = msgspec.structs.replace(plain, is_question=True)
        for one in (launch, resumed, _launched(starter, asked, env)):
            _ensure_no_bypass(one, f"{mode.value}: it may more than the person allowed")
        typed = _launched(starter, msgspec.structs.replace(plain, arguments=TYPED), env)
        ensure(
            _without(typed.argv, TYPED) == launch.argv,
            f"{mode.value}: what the person typed for the program is not passed on as it stands: {typed.argv}",
        )
        silent = _launched(starter, msgspec.structs.replace(plain, prompt=""), env)
        ensure(
            mode is Mode.HEADLESS or (silent.stdin is None and "" not in silent.argv),
            f"{mode.value}: without a prompt, the person is to speak, and something is said",
        )


def check_offered(agent: Any, project: Path, env: Env) -> None:
    """What an agent may offer besides: each must bear a machine on which there is nothing."""
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
    """That a piece can be put into settings and taken out again, and another Segue's stays."""
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
    """That whatever an agent tells its hooks is understood or passed over, and an answer says what it should."""
    plain = msgspec.to_builtins(manner)
    odd: tuple[dict[str, Any], ...] = ({}, {"tool_name": 3, "tool_input": []}, {"cwd": None})
    for record in odd:
        ensure(guard.attempt_of(record, plain) is None, "something is attempted that was not told")
    for form in (manner.refuse, manner.tell, manner.warn):
        ensure("held by another" in repr(guard.filled(form, "held by another")), "an answer does not say why")


# What the checks share


def surroundings(scratch: Path, env: Env | None) -> dict[str, str]:
    home = scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {"HOME": str(home), **(env or {})}


def id_for(agent: Any) -> str:
    """An id of a transcript: one that the agent's own file makes, or just any."""
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
    """What the engine says: as the agent's own file puts it, or that of the agent whose program is started."""
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
    """Whether a text is what was said, but for blanks, an option's name before it and a full stop after it."""
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
    """Arguments without those that the person typed; None where these are not all there, in their order."""
    for number in range(len(argv)):
        if tuple(argv[number : number + len(typed)]) == tuple(typed):
            return (*argv[:number], *argv[number + len(typed) :])
    return None
