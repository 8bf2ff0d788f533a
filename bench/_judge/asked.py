"""What people said and decided, and what is still to do: the facts that come from words rather than from deeds."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct, field

from bench._judge import words
from bench._judge.records import CALL, HUMAN, REPLY, RESULT, Record

FEWEST_WORDS = 3
LONG_MESSAGE = 300
MOST_OF_A_LONG_MESSAGE = 8
CONSTRAINT = re.compile(
    r"\b(?:(?:do not|don['’]?t|never|must(?: not|n['’]t)?|always|make sure|be sure|ensure|avoid|instead of|rather than"
    r"|should(?: not|n['’]t)?|only|without|leave|keep|no longer|needs? to|has to|have to|stop|prefer|not \w+,? but)\b)",
    re.IGNORECASE,
)
STRONG = re.compile(
    r"\b(?:do not|don['’]?t|never|must(?: not|n['’]t)?|always|make sure|avoid|should not|shouldn['’]t)\b",
    re.IGNORECASE,
)
NO_CONSTRAINT = re.compile(
    r"\b(?:i|we|you|they|it|that|this|which|who) (?:do not|don['’]?t|doesn['’]?t|never|only) "
    r"(?:know|think|see|understand|get|have|remember|recall|find|work|seem|need|care|mind|believe)\b|^why\b|\bwhy (?:do|don)",
    re.IGNORECASE,
)
CORRECTION = re.compile(
    r"^(?:no[,.! ]|nope|wrong|actually[, ]|wait[, ]|stop\b|not \w+)|\b(?:that['’]?s (?:wrong|not)|i (?:meant|said|told you)"
    r"|not what i|you (?:forgot|missed|broke|ignored)|(?:undo|revert) (?:that|this|it|the|your)|still (?:fails|failing|broken"
    r"|wrong|not)|i (?:don['’]?t|do not) (?:want|like)|not \S+,? (?:use|but))\b",
    re.IGNORECASE,
)
QUESTION = re.compile(
    r"(?:(?:so|and|ok|but|hm+),? )?(?:is|are|was|were|do|does|did|what|why|how|when|where|who|which|would|should|could|can|has"
    r"|have|isn['’]?t|aren['’]?t|doesn['’]?t)\b",
    re.IGNORECASE,
)
REQUEST = re.compile(r"(?:can|could|would|will) you\b|(?:let['’]?s|please|do not|don['’]?t)\b", re.IGNORECASE)
REFUSED = re.compile(
    r"doesn't want to (?:proceed|take this action)|tool use was rejected|rejected by (?:the )?user",
    re.IGNORECASE,
)
REASON = re.compile(
    r"(?:the user said|provided the following reason[^:]*|user feedback):\s*(.+)", re.IGNORECASE | re.DOTALL
)
ANSWER = re.compile(r'"([^"\n]{3,400})"\s*=\s*"([^"\n]{1,400})"')
APPROVED = re.compile(
    r"\s*(?:(?:the )?user (?:has )?approved|(?:your )?plan (?:was )?approved)\b", re.IGNORECASE
)
LISTED = re.compile(r"^#(\d+) \[(\w+)\]", re.MULTILINE)
OPEN_STATES = {"pending", "in_progress", "open", "todo", "active"}
DONE_STATES = {"completed", "done", "complete"}

Said = tuple[str, str, str, str]


class Gathered(Struct):
    facts: list[Said] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    """Todos that are done by now."""


def gather(records: list[Record], calls: dict[str, Record]) -> Gathered:
    found = Gathered()
    todos: dict[str, tuple[str, str]] = {}
    messages: dict[str, None] = {}
    rules: dict[str, None] = {}
    for record in records:
        if record.kind == HUMAN:
            messages.pop(record.text, None)
            messages[record.text] = None
            rules |= dict.fromkeys(constraints(record.text))
        elif record.kind == RESULT and (call := calls.get(record.call)):
            found.facts += _decided(call, record)
            _planned(todos, call, record)
    found.facts += [("human", text, "", "") for text in messages if len(words.words(text)) >= FEWEST_WORDS]
    found.facts += [("constraints", rule, "", "") for rule in rules]
    found.facts += [("todos", text, "open", "") for text, state in todos.values() if state in OPEN_STATES]
    found.done = [text for text, state in todos.values() if state in DONE_STATES]
    question = pending_question(records)
    if question:
        found.facts.append(("question", question, "", ""))
    return found


def constraints(text: str) -> list[str]:
    """Sentences by which a person limits or corrects the work. Of a long, pasted text only the strongest."""
    is_long = len(text.split()) > LONG_MESSAGE
    pattern = STRONG if is_long else CONSTRAINT
    found = []
    for sentence in words.sentences(text[:40_000]):
        count = len(words.words(sentence))
        if not 3 <= count <= 80 or NO_CONSTRAINT.search(sentence):
            continue
        if not REQUEST.match(sentence) and (sentence.endswith("?") or QUESTION.match(sentence)):
            continue
        if pattern.search(sentence) or (not is_long and CORRECTION.search(sentence)):
            found.append(sentence)
    return found[:MOST_OF_A_LONG_MESSAGE] if is_long else found


def _decided(call: Record, result: Record) -> list[Said]:
    name = call.tool.lower().replace("_", "")
    if REFUSED.search(result.text[:400]):
        reason = REASON.search(result.text[:4000])
        text = reason.group(1).split("\n\nNote:")[0].strip() if reason else ""
        return [("decisions", text, "said", "")] if len(words.words(text)) >= FEWEST_WORDS else []
    if name in ("askuserquestion", "askuser", "question", "requestuserinput"):
        return [("decisions", answer, "answer", question) for question, answer in answers(result)]
    if name in ("exitplanmode", "planexit") and not result.is_failed:
        plan = str(call.arguments.get("plan") or "")
        title = next((line.strip("# *") for line in plan.split("\n") if line.strip("# *")), "")
        if len(words.words(title)) >= 2 and APPROVED.match(result.text):
            return [("decisions", title[:160], "approved", "")]
    return []


def answers(result: Record) -> list[tuple[str, str]]:
    told = result.details.get("answers")
    if isinstance(told, dict) and told:
        return [(str(question), str(answer)) for question, answer in told.items() if str(answer).strip()]
    return ANSWER.findall(result.text[:4000])


def _planned(todos: dict[str, tuple[str, str]], call: Record, result: Record) -> None:
    if result.is_failed:
        return
    name = call.tool.lower().replace("_", "")
    given = call.arguments
    if name in ("todowrite", "writetodos", "updateplan"):
        listed: Any = given.get("todos") or given.get("plan")
        if isinstance(listed, list):
            before = dict(todos)
            todos.clear()
            for item in listed:
                if isinstance(item, dict):
                    text = str(
                        item.get("content") or item.get("step") or item.get("description") or ""
                    ).strip()
                    todos[text] = (text, str(item.get("status")))
            # What was done once stays done when the list is made anew.
            todos.update(
                {key: one for key, one in before.items() if key not in todos and one[1] in DONE_STATES}
            )
            todos.pop("", None)
    elif name == "taskcreate":
        told = result.details.get("task")
        key = str(told.get("id")) if isinstance(told, dict) else _number(result.text) or str(len(todos) + 1)
        todos[key] = (str(given.get("subject") or given.get("description") or ""), "pending")
    elif name == "taskupdate":
        key = str(given.get("taskId") or given.get("id") or "")
        if key in todos:
            text, state = todos[key]
            todos[key] = (str(given.get("subject") or text), str(given.get("status") or state))
    elif name == "tasklist":
        # Others of a team may have gone on with it.
        for key, state in LISTED.findall(result.text):
            if key in todos:
                todos[key] = (todos[key][0], state)


def _number(text: str) -> str:
    match = re.search(r"#(\d+)", text[:200])
    return match.group(1) if match else ""


def pending_question(records: list[Record]) -> str:
    """The last question of the agent's last words, where nothing has answered it yet."""
    for record in reversed(records):
        if record.kind in (CALL, RESULT, HUMAN):
            return ""
        if record.kind == REPLY:
            asked = [one for one in words.sentences(record.text[-4000:]) if one.endswith("?")]
            return asked[-1] if asked else ""
    return ""
