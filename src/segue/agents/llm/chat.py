"""The program that talks to a model of the `llm` library.

    python -P -m segue.agents.llm.chat TRANSCRIPT [--model M] [-o NAME VALUE]... [-- PROMPT]
    python -P -m segue.agents.llm.chat TRANSCRIPT [--model M] --headless < PROMPT

A prompt is stored before the model is asked, and its answer afterwards. On a terminal, the conversation
continues until Ctrl-D.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segue.agents.llm import AGENT, as_text, library, target
from segue.agents.llm.reader import ENDING
from segue.agents.shared.transcripts import entries_file, reader
from segue.base import clock, files
from segue.base.text import printable
from segue.errors import AgentError, BadInput, SegueError
from segue.model import INTERRUPT, Entry, EntryKind, Origin, Spend

MOST = 1_000_000
"""How many characters of an answer are read. It may never end."""
LARGEST_ALONG = 10_000_000


class Talk:
    """A transcript open for writing, by one program at a time."""

    def __init__(self, path: Path, *, is_passing: bool = False) -> None:
        files.make_private_folder(path.parent)
        if path.name == f"{target.NEW}{ENDING}":
            path = path.with_name(f"{uuid.uuid4()}{ENDING}")
        self.path = path
        self.fd = files.open_private(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self.fd)
            raise AgentError(agent=AGENT.name, what=f"{path} is open in another terminal") from None
        source = reader.source_of(AGENT.name, path)
        self.entries = list(entries_file.read(source)) if source and source.size else []
        if source and source.size and os.pread(self.fd, 1, source.size - 1) != b"\n":
            files.write_all(self.fd, b"\n")  # keep a line that a crash cut off separate
        if not self.entries:
            files.write_all(self.fd, target.first_line(Path.cwd(), at=clock.now(), is_made=is_passing))
        self.count = max(1, len(self.entries))

    @property
    def id(self) -> str:
        return self.path.name.removesuffix(ENDING)

    @property
    def model(self) -> str:
        """The model that was asked last."""
        asked = [one.model for one in self.entries if one.kind is EntryKind.PROMPT and one.model]
        return asked[-1] if asked else ""

    def add(self, kind: EntryKind, origin: Origin, text: str, **more: Any) -> None:
        self.count += 1
        parent = self.entries[-1].id if self.entries else "1"
        # Unique in this file, whoever wrote the other entries.
        id = f"{self.count}-{os.urandom(3).hex()}"
        clean = text.encode("utf-8", "replace").decode()
        entry = Entry(id=id, kind=kind, origin=origin, text=clean, parent=parent, at=clock.now(), **more)
        files.write_all(self.fd, entries_file.line(entry))
        os.fsync(self.fd)
        self.entries.append(entry)


def main(arguments: Sequence[str]) -> int:
    # argparse accepts no option between two positional arguments, so the prompt is removed first.
    is_said = list(arguments[-2:-1]) == ["--"]
    given = _parser().parse_args(arguments[:-2] if is_said else arguments)
    try:
        talk = Talk(given.transcript, is_passing=given.passing)
        model = library.get(given.model or talk.model)
        if given.headless:
            _say(talk, model, given, sys.stdin.buffer.read().decode(errors="replace"))
        else:
            _converse(talk, model, given, arguments[-1] if is_said else "")
    except SegueError as error:
        print(f"{_line(str(error))} Next: {_line(error.next_step)}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(_line(f"{error.filename or 'It'}: {error.strerror or error}"), file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="segue to llm:MODEL --", add_help=False, allow_abbrev=False)
    parser.add_argument("transcript", type=Path)
    parser.add_argument("--model", default="")
    parser.add_argument("--headless", action="store_true")
    parser.add_argument(
        "--passing", action="store_true", help="allow the transcript to be removed afterwards"
    )
    parser.add_argument("--along", type=Path, help="a file to send with the prompt")
    parser.add_argument("-s", "--system", default="")
    parser.add_argument("-o", "--option", nargs=2, action="append", default=[])
    return parser


def _converse(talk: Talk, model: Any, given: argparse.Namespace, said: str) -> None:
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - enables line editing; not every Python has it
    print(f"{printable(model.model_id)}, without tools. Ctrl-D ends.\n")
    while True:
        if said.strip():
            try:
                _say(talk, model, given, said)
            except AgentError as error:
                print(_line(str(error)), file=sys.stderr)
            except KeyboardInterrupt:
                talk.add(EntryKind.NOTE, Origin.SYSTEM, "", tool=INTERRUPT)
                print()
            given.along = None
        try:
            said = input("\n> ")
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            said = ""


def _say(talk: Talk, model: Any, given: argparse.Namespace, said: str) -> None:
    """Send a prompt to a model, and store both the prompt and the answer."""
    if not said.strip():
        raise BadInput(what="The prompt is empty.", next="segue to llm:MODEL")
    talk.add(EntryKind.PROMPT, Origin.HUMAN, said, model=model.model_id)
    if given.along:
        content = files.read_file(given.along, LARGEST_ALONG).decode(errors="replace")
        talk.add(EntryKind.PROMPT, Origin.SYSTEM, content)
    pairs, last = as_text.told(talk.entries, talk.id.encode()[:64])
    answer, spend = "", None
    try:
        response = library.asked(model, pairs, last, system=given.system, options=dict(given.option))
        for part in response:
            answer += part
            _show(part)
            if len(answer) > MOST:
                raise AgentError(agent=model.model_id, what="its answer did not end")
        spend = _spend(response, f"{AGENT.name}:{talk.id}:{talk.count + 1}", model.model_id)
    except KeyboardInterrupt:
        _keep(talk, answer, model.model_id, None)
        raise
    except AgentError:
        raise
    except Exception as error:  # a plugin may raise anything
        raise AgentError(agent=model.model_id, what=_line(str(error)).rstrip(".") or repr(error)) from error
    print(flush=True)
    if not _keep(talk, answer, model.model_id, spend):
        raise AgentError(agent=model.model_id, what="its answer was empty")


def _keep(talk: Talk, answer: str, model: str, spend: Spend | None) -> bool:
    """Store a model's answer, with its thoughts separate. Returns whether there was any text."""
    thoughts = library.THOUGHTS.match(answer)
    if thoughts:
        talk.add(EntryKind.THOUGHT, Origin.ASSISTANT, thoughts.group().strip(), model=model)
    reply = answer[thoughts.end() :].strip() if thoughts else answer.strip()
    if reply:
        talk.add(EntryKind.REPLY, Origin.ASSISTANT, reply, model=model, spend=spend)
    return bool(reply)


def _spend(response: Any, key: str, model: str) -> Spend | None:
    """The tokens of an answer, if the plugin reports them."""
    usage = response.usage()
    if usage.input is None and usage.output is None:
        return None
    details = reader.dict_of(usage.details)
    # In OpenAI's form: the input includes the cached part.
    within = reader.dict_of(details.get("prompt_tokens_details") or details.get("input_tokens_details"))
    cached = reader.count_of(within.get("cached_tokens"))
    sent, written = reader.count_of(usage.input), reader.count_of(usage.output)
    return Spend(key=key, model=model, tokens=reader.tokens_within(sent, cached, 0, written), at=clock.now())


def _show(part: str) -> None:
    """Print a model's text without control characters."""
    sys.stdout.write("".join(char if char in "\n\t" else printable(char) for char in part))
    sys.stdout.flush()


def _line(text: str) -> str:
    return printable(" ".join(text.split()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
