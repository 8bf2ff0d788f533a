"""Message parts, token counts and quota errors that Gemini CLI and Qwen Code, which was made from it, write alike.

A part becomes an entry without an id; the caller, who knows the record, adds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from segue.agents.gemini.limits import limit_of_error
from segue.agents.shared.transcripts.entry_links import bare, note
from segue.agents.shared.transcripts.image_ref import reference
from segue.agents.shared.transcripts.reader import INTERRUPT, compact, count_of, dict_of, list_of, text_of
from segue.base.clock import Moment
from segue.base.hashes import short_hash
from segue.model import Entry, EntryKind, Origin, Tokens

SHELL = ("run_shell_command", "shell")
CANCELLED = "cancelled"
FAILED = ("error", CANCELLED)

REFERENCED_FILES = "--- Content from referenced files ---"
CONTINUE = ("Please continue.", "System: Please continue.")
"""What the programs send to the model in the user's name when an answer was empty."""

_INJECTED = (
    ("<session_context>", "session_context"),
    ("<system-reminder>", "system-reminder"),
    ("This is the Gemini CLI. We are setting up the context", "session_context"),
    ("This is the Qwen Code. We are setting up the context", "session_context"),
    ("Here is the user's editor context", "editor_context"),
    ("Here is a summary of changes in the user's editor context", "editor_context"),
    ("You are an AI agent that brings the power of Gemini directly into the terminal.", "expansion"),
    ("You are Qwen Code, an interactive CLI agent. Analyze the current directory", "expansion"),
    ("System: Potential loop detected.", "continue"),
    ("You have stopped calling tools without finishing.", "continue"),
    ("I ran the following shell command:\n```sh\n", "shell"),
)
_HOOK = re.compile(r"\s*<hook_context>[^<>]*</hook_context>\s*")
"""A hook's output and nothing else. The program escapes both signs in it, so it cannot end early."""
_HOOK_BEFORE = re.compile(r"<hook_context>[^<>]*</hook_context>\n\n")
"""The same before a prompt given at the start of the program: both are in one text."""
_SUMMARY = "<state_snapshot>"
_EXIT = re.compile(r"^Exit Code: (-?\d{1,9})\s*$", re.MULTILINE)
_OUTPUT = re.compile(r"^(Output:) (?!\(empty\))", re.MULTILINE)
"""Before the first line of a command's output."""

# Parts


def part_list(content: Any) -> list[dict[str, Any]]:
    """The parts of a message, which may be a list, a single part or a bare text."""
    parts = content if isinstance(content, list) else [content]
    as_parts = ({"text": part} if isinstance(part, str) else part for part in parts)
    return [part for part in as_parts if isinstance(part, dict)]


def text_in(parts: Sequence[dict[str, Any]]) -> str:
    return "".join(text_of(part.get("text")) for part in parts if not part.get("thought"))


def interruption(text: str) -> Entry:
    return note(INTERRUPT, text, Origin.HUMAN)


def other_parts(parts: Sequence[dict[str, Any]], origin: Origin) -> Iterator[Entry]:
    """Everything that is not text: calls, results, images and unknown parts."""
    for part in parts:
        if isinstance(part.get("functionCall"), dict):
            yield call_entry(part["functionCall"])
        elif isinstance(part.get("functionResponse"), dict):
            yield result_entry(part["functionResponse"])
        elif isinstance(part.get("inlineData"), dict) or isinstance(part.get("fileData"), dict):
            yield bare(EntryKind.IMAGE, origin, picture(part))
        elif not isinstance(part.get("text"), str):
            yield note(next(iter(part), "part"))


def answer_parts(parts: Sequence[dict[str, Any]]) -> Iterator[Entry]:
    """A model's output in order. Text across several parts is one reply."""
    words: list[str] = []
    for part in parts:
        is_word = isinstance(part.get("text"), str) and not part.get("thought")
        if is_word:
            words.append(part["text"])
            continue
        yield from _reply(words)
        words = []
        if isinstance(part.get("text"), str):
            yield bare(EntryKind.THOUGHT, Origin.ASSISTANT, part["text"])
        else:
            yield from other_parts([part], Origin.ASSISTANT)
    yield from _reply(words)


def _reply(words: list[str]) -> Iterator[Entry]:
    text = "".join(words)
    if text.strip():
        yield bare(EntryKind.REPLY, Origin.ASSISTANT, text)


def user_texts(parts: Sequence[dict[str, Any]], typed: str | None, writer: Origin) -> Iterator[Entry]:
    """The texts in the user's place: first what was inserted for them, then what they typed. `typed` is what
    the program says was typed, if it does: then the text is what a command or a file reference made of it, or
    the program's own if nothing was typed."""
    texts, hooks = apart(parts) if typed is None or typed != text_in(parts) else ([typed], [])
    yield from (note("hook_context", said) for said in hooks)
    whole = "".join(texts)
    if hooks and not whole.strip():
        return
    if whole.strip() in CONTINUE or (typed is not None and not typed.strip()):
        yield note("continue", whole)
    elif typed is not None:
        if typed != whole:
            yield note("expansion", whole)
        yield bare(EntryKind.PROMPT, writer, typed)
    else:
        yield from _typed(texts, writer)


def apart(parts: Sequence[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The texts of a message in the user's place, and the output of hooks around them: before the text in the
    same part, or after it in a part of its own. Only what is certainly a hook's counts: a tag anywhere else,
    or after a hook's, was typed."""
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    before = _HOOK_BEFORE.match(texts[0]) if texts else None
    hooks = [before[0].rstrip()] if before else []
    if before:
        texts[0] = texts[0][before.end() :]
    is_alone = len(texts) == 1 and not before
    if texts and (is_alone or len(texts) > 1) and _HOOK.fullmatch(texts[-1]):
        hooks.append(texts.pop())
    return texts, hooks


def _typed(texts: list[str], writer: Origin) -> Iterator[Entry]:
    human: list[str] = []
    for index, text in enumerate(texts):
        if text.lstrip().startswith(REFERENCED_FILES):
            yield note("referenced_files", "".join(texts[index:]))
            break
        injected = _injected(text)
        if injected:
            yield injected
        else:
            human.append(text)
    prompt, mark, files = "".join(human).partition(f"\n{REFERENCED_FILES}")
    if mark:
        yield note("referenced_files", mark.lstrip() + files)
    if prompt.strip():
        yield bare(EntryKind.PROMPT, writer, prompt)


def _injected(text: str) -> Entry | None:
    start = text.lstrip()
    if start.startswith(_SUMMARY):
        return bare(EntryKind.SUMMARY, Origin.ASSISTANT, text)
    for words, name in _INJECTED:
        if start.startswith(words):
            return note(name, text, Origin.HUMAN if name == "shell" else Origin.SYSTEM)
    return None


# Calls and results


def call_entry(call: dict[str, Any]) -> Entry:
    return bare(
        EntryKind.CALL,
        Origin.ASSISTANT,
        compact(call.get("args") if "args" in call else {}),
        tool=text_of(call.get("name")) or None,
        call=text_of(call.get("id")) or None,
    )


def result_entry(response: dict[str, Any], *, status: str = "") -> Entry:
    """A result from a function response. `status` is the program's word for the outcome."""
    tool = text_of(response.get("name"))
    answer = response.get("response")
    fields = dict_of(answer)
    failed = "error" in fields
    value = fields.get("output", fields.get("error", answer))
    return result(tool, text_of(response.get("id")), _plain(value), failed=failed or status in FAILED)


def result(tool: str, call: str, text: str, *, failed: bool) -> Entry:
    """A result. A command's output begins on a line of its own, as in other agents."""
    return bare(
        EntryKind.RESULT,
        Origin.TOOL,
        _OUTPUT.sub(r"\1\n", text, count=1) if tool in SHELL else text,
        tool=tool or None,
        call=call or None,
        status=exit_status(tool, text),
        is_error=failed,
    )


def exit_status(tool: str, text: str) -> int | None:
    """The exit status at the end of a shell's result. Success is not written."""
    found = _EXIT.findall(text) if tool in SHELL else []
    return int(found[-1]) if found else None


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else compact(value)


def picture(part: dict[str, Any]) -> str:
    """A reference to an image or other binary file, never its data."""
    inline, file = dict_of(part.get("inlineData")), dict_of(part.get("fileData"))
    if not inline:
        return text_of(file.get("fileUri")) or "an unnamed file"
    return reference(text_of(inline.get("mimeType")) or "data", text_of(inline.get("data")))


# Tokens and limits


def tokens_of(*, prompt: Any, answer: Any, cached: Any, thoughts: Any, tool: Any, total: Any) -> Tokens:
    """The programs count the cached part within the prompt, and what a tool adds separately. Thoughts are
    separate too, except with OpenAI's protocol: there the total shows that the answer includes them."""
    asked, said, thought = count_of(prompt), count_of(answer), count_of(thoughts)
    kept, added = min(count_of(cached), asked), count_of(tool)
    is_within = 0 < count_of(total) < asked + said + thought + added and thought <= said
    return Tokens(
        input=asked - kept + added,
        output=said if is_within else said + thought,
        cache_read=kept,
    )


def limit_entry(text: str, at: Moment | None, model: str) -> Entry | None:
    limit = limit_of_error(text, at, model)
    return bare(EntryKind.LIMIT, Origin.SYSTEM, text, limits=(limit,)) if limit else None


def short(*values: Any) -> str:
    """A hash of some content, short enough to remember thousands."""
    joined = "\0".join(str(value) for value in values)
    return short_hash(joined.encode("utf-8", "replace")).hex()[:12]


def texts_of(values: Any) -> list[str]:
    return [value for value in list_of(values) if isinstance(value, str)]
