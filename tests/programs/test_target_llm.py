"""Work that is handed to a model without tools: the real `llm` library, with a model of its own behind it."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import matrix
from .household import Household, Ran
from .matrix import CONSTRAINTS, SECRET
from .model_server import Fault, ModelServer, Reply, Request, Script
from .terminal import CTRL_D, ENTER, Terminal

MODEL = "on-loopback"


def saying(text: str) -> Script:
    """A model that always says the same, also where it is offered no tools."""
    return Script(then=Reply(text), auxiliary=Reply(text))


class WithLibrary:
    """A household in which the library knows one model, and an agent has begun to work."""

    def __init__(self, household: Household) -> None:
        self.household = household
        self.project = household.project("p")
        self.library = household.home / "llm"
        self.library.mkdir()
        (self.library / "extra-openai-models.yaml").write_text(
            f"- model_id: {MODEL}\n  model_name: m1\n  api_base: {household.sandbox.url}/v1\n"
            f"- model_id: other-one\n  model_name: m2\n  api_base: {household.sandbox.url}/v1\n"
        )
        matrix.begin(household, "claude", self.project)

    def __call__(self, *arguments: str, script: Any = ()) -> Ran:
        return self.household.segue(*arguments, cwd=self.project, script=script, environment=self.environment)

    @property
    def environment(self) -> dict[str, str]:
        return {"LLM_USER_PATH": str(self.library), "LLM_LOAD_PLUGINS": ""}

    def chats(self) -> list[Path]:
        return sorted(self.household.home.rglob("*.llm.jsonl"))


@pytest.fixture
def here(tmp_path: Path, programs: dict[str, Path]) -> Iterator[WithLibrary]:
    with Household(tmp_path) as household:
        yield WithLibrary(household)


def test_there_and_back_through_a_model_without_tools(here: WithLibrary) -> None:
    unasked = here("to", f"llm:{MODEL}", "--headless")
    assert unasked.exit_code == 5 and "127.0.0.1" in unasked.stderr, unasked.report
    assert unasked.server.requests == () and here.chats() == []

    away = here(
        *("to", f"llm:{MODEL}", "--headless", "--yes", "--json"),
        script=saying("canary-done: round once, in sum.py."),
    )
    assert away.exit_code == 0, away.report
    delivery = away.data["handoff"]["delivery"]
    assert (delivery["way"], away.data["handoff"]["state"]) == ("native", "completed")
    (asked,) = away.server.requests
    assert asked.model == "m1" and not asked.body.get("tools")
    roles = [message["role"] for message in asked.body["messages"]]
    assert roles == ["user", "assistant", "user"]
    first, answered, last = (message["content"] for message in asked.body["messages"])
    assert matrix.PROMPT in first and all(reply in answered for reply in matrix.REPLIES)
    assert "I called the tool" in answered and "<<<data " in answered
    assert last.startswith("# Handoff h-") and "You have no tools here" in last
    assert all(constraint in last for constraint in CONSTRAINTS)
    assert SECRET not in json.dumps(asked.body)

    (chat,) = here.chats()
    assert stat.S_IMODE(chat.stat().st_mode) == 0o600
    listed = here("transcripts", "--agent", "llm", "--json").data["transcripts"]
    (one,) = [item["transcript"] for item in listed]
    assert (one["id"], one["model"], one["project"]) == (delivery["transcript"], MODEL, str(here.project))
    assert one["context_tokens"], "the library told what the answer used"

    back = here("back", "--headless", "--json", script=saying("I know."))
    assert back.exit_code == 0, back.report
    told = back.requests[0].text
    assert "Back from llm" in told and "canary-done" in told


def test_another_model_goes_on_with_the_same_conversation(here: WithLibrary) -> None:
    assert here("to", f"llm:{MODEL}", "--headless", "--yes", script=saying("canary-one.")).exit_code == 0
    ran = here("to", "llm:other-one", "--headless", "--yes", "--json", script=saying("Mine."))
    assert ran.exit_code == 0, ran.report
    assert ran.data["handoff"]["delivery"]["way"] == "resume"
    (asked,) = ran.server.requests
    assert asked.model == "m2" and "canary-one." in asked.text and matrix.PROMPT in asked.text
    assert len(here.chats()) == 1


def test_on_a_terminal_it_is_a_conversation_that_ctrl_d_ends(here: WithLibrary) -> None:
    household = here.household
    with (
        ModelServer(saying("canary-taken"), household.sandbox.listener) as server,
        Terminal(
            household.sandbox,
            [sys.executable, "-m", "segue", "to", f"llm:{MODEL}", "--yes"],
            cwd=here.project,
            environment={**household.environment, **here.environment},
        ) as terminal,
    ):
        terminal.wait_for("canary-taken")
        terminal.type(f"and one more thing{ENTER}")
        terminal.wait_for(lambda: terminal.shown.count("canary-taken") == 2)
        terminal.wait_for(lambda: terminal.shown.rstrip().endswith(">"))
        terminal.type(CTRL_D)
        closed = terminal.end()
    assert (closed.exit_code, closed.is_sane, closed.left) == (0, True, []), terminal.shown
    assert "has the work" in terminal.shown
    assert [m["role"] for m in server.requests[-1].body["messages"]][-3:] == ["user", "assistant", "user"]
    assert server.requests[-1].body["messages"][-1]["content"] == "and one more thing"


def test_what_arrived_is_proved_by_questions_and_the_copy_is_thrown_away(here: WithLibrary) -> None:
    from segue.agents.demo import answer

    def from_the_message(request: Request) -> Reply:
        text = next((m.text for m in reversed(request.messages) if "# Handoff h-" in m.text), "")
        return Reply(answer.reply_to(text))

    script = Script(then=from_the_message, auxiliary=from_the_message)
    for way in ("native", "prompt"):
        ran = here(
            *("to", f"llm:{MODEL}", "--headless", "--yes", "--prove", "--json", "--way", way), script=script
        )
        assert ran.exit_code == 0, ran.report
        report = ran.data["proof"]["report"]
        assert report["score"] == 1.0, json.dumps(report, indent=1)
        assert len(here.chats()) == 1, "the copy that was asked is thrown away"
        assert here("undo").exit_code == 0
        here.chats()[0].unlink()


def test_a_model_that_refuses_is_named_with_its_error_and_the_next_try_starts_again(
    here: WithLibrary,
) -> None:
    refusing = Script(then=Fault(400), auxiliary=Fault(400))
    failed = here("to", f"llm:{MODEL}", "--headless", "--yes", script=refusing)
    assert failed.exit_code == 6 and "without taking the handoff" in failed.stderr, failed.report
    assert "400" in failed.stderr and here.chats() == []
    back = here("back", "--headless", "--json", script=saying("I know."))
    assert back.exit_code == 5 and "nowhere to return from" in back.stderr, back.report
    again = here("to", f"llm:{MODEL}", "--headless", "--yes", script=saying("I have it."))
    assert again.exit_code == 0 and len(here.chats()) == 1, again.report


@pytest.mark.parametrize(
    ("to", "says"), [("llm", "needs a model"), ("llm:no-such", "has no model 'no-such'")]
)
def test_a_model_that_is_not_there_is_refused_before_anything_is_done(
    here: WithLibrary, to: str, says: str
) -> None:
    ran = here("to", to, "--headless", "--yes")
    assert ran.exit_code == 2 and says in ran.stderr, ran.report
    assert here("handoff", "list", "--json").data == []
