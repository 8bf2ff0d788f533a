"""The judge of handoff quality, on small transcripts written by hand: what it takes for true, found, stale and used."""

from __future__ import annotations

import ast
import json
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import _baselines, _controls, quality
from bench._judge import cases as judged
from bench._judge import commands, formats, prose, tokens, words
from bench._judge.acts import patched
from bench._judge.asked import constraints
from bench._judge.cases import Case
from bench._judge.forward import Ahead, ahead, forward, measure
from bench._judge.picture import picture
from bench._judge.records import CALL, Record, Transcript
from bench._judge.rename import renamed
from bench._judge.truth import Fact, truth

JUDGE = Path(quality.__file__).parent / "_judge"
FOLDER = "/home/ada/shop"

Raw = dict[str, Any]
Call = tuple[str, Raw, str, int]
"""A tool, its arguments, what it said, and its exit code."""


# Transcripts of the same session, in the format of each agent


def claude(*items: str | Call, branch: str = "feature/cart") -> list[Raw]:
    """Strings are a person's words, or the agent's if they start with '>'."""
    units: list[Raw] = []

    def add(kind: str, message: Raw, **more: Any) -> None:
        parent = units[-1]["uuid"] if units else None
        unit = {"type": kind, "uuid": f"u{len(units)}", "parentUuid": parent, "sessionId": "s", "cwd": FOLDER}
        units.append({**unit, "gitBranch": branch, "message": message, **more})

    for number, item in enumerate(items):
        if isinstance(item, str):
            kind = "assistant" if item.startswith(">") else "user"
            content = [{"type": "text", "text": item.lstrip(">")}]
            add(kind, {"role": kind, "id": f"m{number}", "content": content})
            continue
        tool, arguments, said, code = item
        block = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}
        add("assistant", {"role": "assistant", "id": f"m{number}", "content": [block]})
        text = f"Exit code {code}\n{said}" if code else said
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text, "is_error": bool(code)}
        add("user", {"role": "user", "content": [result]}, toolUseResult=arguments.get("told"))
    return units


def lines(units: list[Raw]) -> bytes:
    return "".join(json.dumps(unit) + "\n" for unit in units).encode()


ASKED = "Fix the cart. Never touch prices.py."
EDITED = {"file_path": f"{FOLDER}/src/cart.py", "old_string": "old = 1", "new_string": "new = 2"}
PATCH = "*** Begin Patch\n*** Update File: src/cart.py\n@@\n-old = 1\n+new = 2\n*** End Patch"
RAN = {"command": "pytest tests"}
SAID = "FAILED tests/a.py::b"


def codex() -> bytes:
    def item(**payload: Any) -> Raw:
        return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload}

    def human(text: str) -> Raw:
        return item(type="message", role="user", content=[{"type": "input_text", "text": text}])

    said = f"Process exited with code 1\n{SAID}"
    return lines(
        [
            {"type": "session_meta", "payload": {"cwd": FOLDER, "git": {"branch": "feature/cart"}}},
            human("# AGENTS.md instructions"),
            human(ASKED),
            item(type="custom_tool_call", name="apply_patch", input=PATCH, call_id="p"),
            item(type="custom_tool_call_output", call_id="p", output="Exit code: 0\nSuccess."),
            item(type="function_call", name="shell", arguments=json.dumps(RAN), call_id="r"),
            item(type="function_call_output", call_id="r", output=said),
        ]
    )


def gemini() -> bytes:
    def call(name: str, arguments: Raw, output: str) -> Raw:
        result = [{"functionResponse": {"response": {"output": output}}}]
        return {"id": name, "name": name, "args": arguments, "status": "success", "result": result}

    calls = [call("replace", EDITED, "ok"), call("run_shell_command", RAN, f"Exit Code: 1\n{SAID}")]
    asked = {"id": "1", "type": "user", "content": ASKED}
    answer = {"id": "2", "type": "gemini", "content": "", "toolCalls": calls}
    return json.dumps({"sessionId": "s", "projectHash": "h", "messages": [asked, answer]}).encode()


def opencode() -> bytes:
    def part(tool: str, given: Raw, output: str, code: int) -> Raw:
        state = {"status": "completed", "input": given, "output": output, "metadata": {"exit": code}}
        return {"type": "tool", "tool": tool, "callID": tool, "state": state}

    edited = {"filePath": f"{FOLDER}/src/cart.py", "oldString": "old = 1", "newString": "new = 2"}
    asked = {"info": {"role": "user"}, "parts": [{"type": "text", "text": ASKED}]}
    parts = [part("edit", edited, "ok", 0), part("bash", RAN, SAID, 1)]
    answer = {"info": {"role": "assistant"}, "parts": parts}
    return json.dumps({"info": {"id": "s"}, "messages": [asked, answer]}).encode()


SAME = {
    "claude": lines(claude(ASKED, ("Edit", EDITED, "ok", 0), ("Bash", RAN, SAID, 1))),
    "codex": codex(),
    "gemini": gemini(),
    "opencode": opencode(),
}


def loaded(content: bytes) -> Transcript:
    transcript = formats.load(content)
    assert transcript is not None
    return transcript


def facts_of(content: bytes) -> list[Fact]:
    return truth(formats.records(loaded(content))).facts


def edit(path: str, old: str, new: str) -> Call:
    return ("Edit", {"file_path": f"{FOLDER}/{path}", "old_string": old, "new_string": new}, "ok", 0)


def write(path: str) -> Call:
    return (
        "Write",
        {"file_path": f"{FOLDER}/{path}", "content": "x = 1", "told": {"type": "create"}},
        "ok",
        0,
    )


def ran(command: str, said: str = "", code: int = 0) -> Call:
    return ("Bash", {"command": command}, said, code)


def todo(text: str, status: str) -> Call:
    return ("TodoWrite", {"todos": [{"content": text, "status": status}]}, "ok", 0)


def case(*items: str | Call, after: tuple[str | Call, ...] = ()) -> Case:
    """Cut between the items and what comes after."""
    units = claude(*items, *after)
    transcript = loaded(lines(units))
    return Case("hand@60", transcript, len(claude(*items)))


def types(one: Case, brief: str) -> dict[str, float]:
    return one.judge(brief, 3000).kinds


# Reading


@pytest.mark.parametrize("agent", SAME)
def test_every_agents_transcript_tells_the_same_facts(agent: str) -> None:
    transcript = loaded(SAME[agent])
    assert transcript.agent == agent
    found = facts_of(SAME[agent])
    assert Fact("commands", RAN["command"], "failed") in found
    assert Fact("tests", "tests/a.py::b", "failing") in found
    assert Fact("human", ASKED) in found
    assert Fact("constraints", "Never touch prices.py.") in found
    files = [fact for fact in found if fact.kind == "files"]
    assert [(fact.subject.endswith("src/cart.py"), fact.value) for fact in files] == [(True, "edited")]


@pytest.mark.parametrize("agent", SAME)
def test_a_written_transcript_reads_the_same_again(agent: str) -> None:
    transcript = loaded(SAME[agent])
    again = formats.load(formats.dump(transcript))
    assert again == transcript


@pytest.mark.parametrize("agent", SAME)
def test_what_a_control_plants_is_read_as_the_persons_words(agent: str) -> None:
    transcript = loaded(SAME[agent])
    units = formats.FORMATS[agent].said_by_human(transcript.units, 1, "Never use the saffron index.")
    planted = formats.records(Transcript(agent=agent, units=units))
    assert "Never use the saffron index." in [one.text for one in planted if one.kind == "human"]


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"{}\n[]\n1\n", b'{"type": "user"}\n', b"[" * 5000])
def test_what_is_no_transcript_has_no_cases(content: bytes) -> None:
    assert list(judged.cases("x", content)) == []


def test_what_an_agent_adds_to_a_persons_words_is_not_theirs() -> None:
    said = ("<system-reminder>be nice</system-reminder>Go on with the cart", "[Request interrupted by user]")
    assert [one.text for one in formats.records(loaded(lines(claude(*said))))] == ["Go on with the cart"]


# Cutting


def test_a_transcript_is_cut_where_no_call_waits() -> None:
    [one] = judged.cases(
        "t", lines(claude("Do the thing now", *[ran(f"make all_steps {n}") for n in range(20)]))
    )
    assert one.name == "t@60"
    assert len([record for record in one.before if record.kind == "call"]) == 12
    assert len([record for record in one.before if record.kind == "result"]) == 12
    assert len([record for record in one.after if record.kind == "call"]) == 8


def test_a_compaction_is_cut_out_and_its_neighbours_are_joined() -> None:
    units = claude(*[ran(f"make all_steps {n}") for n in range(50)])
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "x", "logicalParentUuid": "u49"}
    summary = {"type": "user", "isCompactSummary": True, "uuid": "y", "parentUuid": "x", "sessionId": "s"}
    summary["message"] = {"role": "user", "content": "Summary: all is well"}
    units[50]["parentUuid"] = "y"
    found = list(judged.cases("t", lines([*units[:50], boundary, summary, *units[50:]])))
    assert [(one.name, one.summary) for one in found] == [("t@60", ""), ("t@c1", "Summary: all is well")]
    seen = found[0].prefix.units
    assert not [unit for unit in seen if unit.get("uuid") in ("x", "y")]
    assert [unit["parentUuid"] for unit in seen if unit["uuid"] == "u50"] == ["u49"]
    assert len([record for record in found[1].after if record.kind == "call"]) == 25


# What is true


def test_a_later_status_takes_the_place_of_an_earlier_one() -> None:
    found = facts_of(lines(claude(ran("make test", "boom", 2), ran("make test", "fine"))))
    assert [(fact.subject, fact.value) for fact in found if fact.kind == "commands"] == [("make test", "ok")]


@pytest.mark.parametrize(
    "command",
    ["ls -la", "cd src && grep -n x *.py | head", "git status", "cat a.txt; git log -3", "gh pr view 3"],
)
def test_a_command_that_only_looks_is_no_fact(command: str) -> None:
    assert commands.only_looks(command)


@pytest.mark.parametrize(
    "command", ["make", "git push", "sed -i s/a/b/ f", "echo x > f", "cat a | sh", "npm test | tail"]
)
def test_a_command_that_does_something_is_one(command: str) -> None:
    assert not commands.only_looks(command)


def test_where_it_ran_and_what_was_cut_off_do_not_make_another_command() -> None:
    assert commands.core("cd /a/b && go test ./... 2>&1 | tail -5") == commands.core("go test ./...")


def test_a_failing_test_that_passes_later_is_no_fact() -> None:
    failing = ran("go test ./...", "--- FAIL: TestCart (0.1s)", 1)
    assert Fact("tests", "TestCart", "failing") in facts_of(lines(claude(failing)))
    found = facts_of(lines(claude(failing, ran("go test ./...", "ok"))))
    assert not [fact for fact in found if fact.kind == "tests"]


def test_a_file_that_was_made_and_removed_is_deleted() -> None:
    found = facts_of(lines(claude(write("src/tmp_cart.py"), ran("rm src/tmp_cart.py"))))
    assert Fact("files", "src/tmp_cart.py", "deleted") in found


def test_todos_follow_their_last_state() -> None:
    first = ("TaskCreate", {"subject": "Write the parser", "told": {"task": {"id": "1"}}}, "ok", 0)
    second = ("TaskCreate", {"subject": "Test the parser", "told": {"task": {"id": "2"}}}, "ok", 0)
    found = facts_of(
        lines(claude(first, second, ("TaskUpdate", {"taskId": "1", "status": "completed"}, "ok", 0)))
    )
    assert [fact.subject for fact in found if fact.kind == "todos"] == ["Test the parser"]
    listed = facts_of(
        lines(claude(first, second, ("TaskList", {}, "#1 [completed] Parse\n#2 [in_progress] Print", 0)))
    )
    assert [fact.subject for fact in listed if fact.kind == "todos"] == ["Test the parser"], (
        "another one did it"
    )


def test_commits_branch_and_links_are_facts() -> None:
    made = ran("git commit -m x", "[feature/cart 1a2b3c4] Add the cart total\n 1 file changed")
    found = facts_of(lines(claude("See https://example.org/issues/7 please and use port 4711", made)))
    assert Fact("commits", "1a2b3c4", more="Add the cart total") in found
    assert Fact("branch", "feature/cart") in found
    assert {fact.subject for fact in found if fact.kind == "ids"} == {"https://example.org/issues/7", ":4711"}


def test_an_answer_of_the_person_is_a_decision() -> None:
    asked = (
        "AskUserQuestion",
        {"told": {"answers": {"Which database shall we use?": "PostgreSQL"}}},
        "ok",
        0,
    )
    found = facts_of(lines(claude(asked)))
    assert Fact("decisions", "PostgreSQL", "answer", "Which database shall we use?") in found


@pytest.mark.parametrize(
    ("said", "is_approved"),
    [
        ("User has approved your plan. You can now start coding.", True),
        ("User approved switching to build agent.", True),
        ("Plan approved. Switching to Default mode.", True),
        ("Plan rejected. User feedback: no, the plan was approved by nobody", False),
        ("Plan execution was not approved. Remaining in plan mode.", False),
        ("Plan not approved. User feedback:\n\nsmaller", False),
        ("Your plan has been submitted to the team lead for approval.", False),
    ],
)
def test_a_plan_is_a_decision_once_the_person_approved_it(said: str, is_approved: bool) -> None:
    proposed = ("ExitPlanMode", {"plan": "# Split the cart\n\n1. Begin"}, said, 0)
    decided = [fact for fact in facts_of(lines(claude(proposed))) if fact.kind == "decisions"]
    assert decided == ([Fact("decisions", "Split the cart", "approved")] if is_approved else [])


def test_a_question_counts_as_pending_until_something_follows() -> None:
    asked = ">All done. Shall I push it?"
    assert Fact("question", "Shall I push it?") in facts_of(lines(claude("Do the thing now", asked)))
    assert not [
        fact for fact in facts_of(lines(claude(asked, "Yes, push it now"))) if fact.kind == "question"
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Add a button. Never change the schema!", ["Never change the schema!"]),
        ("No, not the cache, use the ledger.", ["No, not the cache, use the ledger."]),
        ("Why do we only have one?", []),
        ("```\nnever do this in code\n```\nGo on", []),
        ("I don't know what that is", []),
    ],
)
def test_sentences_that_limit_the_work_are_constraints(text: str, found: list[str]) -> None:
    assert constraints(text) == found


def test_a_patch_tells_which_files_it_makes_changes_and_removes() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** Move to: c.py\n-x\n+y\n"
        "*** Delete File: d.py\n*** End Patch"
    )
    found = [(act.deed, act.subject, act.to) for act in patched(patch)]
    assert found == [
        ("create", "a.py", ""),
        ("move", "b.py", "c.py"),
        ("edit", "c.py", ""),
        ("delete", "d.py", ""),
    ]


# What is found

WORK = (
    "Fix the cart total. Never touch prices.py in this branch.",
    edit("src/cart.py", "total = sum(prices)", "total = sum(prices) - rebate"),
    write("src/rebate.py"),
    ran("pytest tests/cart", "FAILED tests/cart/test_total.py::test_rebate - assert 3 == 4", 1),
    ran("make lint", "fine"),
)


@pytest.mark.parametrize(
    ("brief", "share"),
    [
        ("- src/cart.py (edited)\n- src/rebate.py (created)", 1.0),
        ("## Files edited\n- `cart.py`\n\n## Files created\n- `rebate.py`", 1.0),
        ("| file | state |\n|---|---|\n| src/cart.py | modified |\n| src/rebate.py | new |", 1.0),
        ("- src/cart.py\n- src/rebate.py", 0.0),
        ("- src/cart.py (deleted)\n- src/rebate.py (deleted)", 0.0),
        ("## Files created, edited or deleted\n- src/cart.py\n- src/rebate.py", 0.0),
    ],
)
def test_a_file_is_found_with_its_state(brief: str, share: float) -> None:
    assert types(case(*WORK), brief)["files"] == share


@pytest.mark.parametrize(
    ("brief", "share"),
    [
        ("- `pytest tests/cart` → failed (exit 1)\n- `make lint` → ok", 1.0),
        ("### Failed\n- pytest tests/cart\n### Passed\n- make lint", 1.0),
        ("$ pytest tests/cart\n[result failed] assert\n$ make lint\n[result ok]", 1.0),
        ("- pytest tests/cart: passed\n- make lint: failed", 0.0),
        ("## Commands (ok or failed)\n- pytest tests/cart\n- make lint", 0.0),
        ("pytest tests/cart and make lint", 0.0),
    ],
)
def test_a_command_is_found_with_its_last_status(brief: str, share: float) -> None:
    assert types(case(*WORK), brief)["commands"] == share


@pytest.mark.parametrize(
    ("brief", "share"),
    [
        ("Rules: never touch prices.py in this branch", 1.0),
        ("branch this in prices.py touch never", 0.0),
        ("do not touch the prices file", 0.0),
    ],
)
def test_a_constraint_is_found_in_words_and_order(brief: str, share: float) -> None:
    assert types(case(*WORK), brief)["constraints"] == share


def test_json_says_as_much_as_markdown() -> None:
    one = case(*WORK)
    facts = {
        "files": [{"path": "src/cart.py", "state": "edited"}, {"path": "src/rebate.py", "state": "created"}],
        "commands": {"failed": ["pytest tests/cart"], "passed": ["make lint"]},
        "failing_tests": ["tests/cart/test_total.py::test_rebate"],
        "git": {"branch": "feature/cart"},
        "messages": ["Fix the cart total. Never touch prices.py in this branch."],
        "errors": ["FAILED tests/cart/test_total.py::test_rebate - assert 3 == 4"],
    }
    score = one.judge(json.dumps(facts, indent=2), 3000)
    assert score.missed == []
    assert score.br == 1.0


def test_facts_that_are_stated_plainly_are_all_found() -> None:
    one = case(*WORK)
    assert one.judge(one.brief(_baselines.ledger, 3000), 3000).missed == []


def test_the_types_of_facts_weigh_the_same() -> None:
    many = [edit(f"src/module_{number}.py", "a", "b") for number in range(30)]
    one = case("Fix it all. Never touch prices.py.", *many)
    without = "\n".join(f"- src/module_{number}.py edited" for number in range(30))
    score = one.judge(without, 3000)
    assert score.types == {"files": 1.0, "human": 0.0, "constraints": 0.0, "marks": 0.0}
    assert score.br == 0.25


@pytest.mark.parametrize(
    ("brief", "share"),
    [
        ("## Open tasks\n- Write the parser tests", 1.0),
        ("- [ ] Write the parser tests", 1.0),
        ("- [x] Write the parser tests", 0.0),
        ("Write the parser tests", 0.0),
    ],
)
def test_an_open_todo_must_be_stated_as_open(brief: str, share: float) -> None:
    assert types(case(todo("Write the parser tests", "pending")), brief)["todos"] == share


# What is stale


PASSED_LATER = (ran("make test", "boom", 2), ran("make test", "fine"))
DONE = (todo("Write the parser tests", "completed"),)
GONE = (write("src/legacy_cart.py"), ran("rm src/legacy_cart.py"))
CHANGED = (edit("src/cart.py", "total = sum(prices_of_all)", "total = sum(prices_with_rebate)"),)


@pytest.mark.parametrize(
    ("items", "brief", "share"),
    [
        (PASSED_LATER, "- `make test` failed", 1.0),
        (PASSED_LATER, "- `make test` failed first and passes now", 0.0),
        (DONE, "## Next\n- Write the parser tests", 1.0),
        (DONE, "## Done\n- Write the parser tests", 0.0),
        (GONE, "See src/legacy_cart.py", 1.0),
        (GONE, "src/legacy_cart.py was removed", 0.0),
        (CHANGED, "```\ntotal = sum(prices_of_all)\n```", 1.0),
        (CHANGED, "```\ntotal = sum(prices_with_rebate)\n```", 0.0),
        (CHANGED, "- total = sum(prices_of_all)\n+ total = sum(prices_with_rebate)", 0.0),
    ],
)
def test_an_old_value_without_the_new_one_is_stale(items: tuple[Call, ...], brief: str, share: float) -> None:
    score = case(*items).judge(brief, 3000)
    assert score.st == share
    assert bool(score.stale) == bool(share)


# What lies ahead


def test_forward_recall_is_weighted_and_precision_is_not() -> None:
    found = measure(
        {"cart.py", "oldName", "otherName"},
        Ahead({"cart.py", "newName"}, {"cart.py": 3.0, "newName": 1.0}, "/home/ada/shop"),
    )
    assert found.recall == 0.75
    assert found.precision == pytest.approx(1 / 3)
    assert found.f1 == pytest.approx(2 * 0.75 / 3 / (0.75 + 1 / 3))


def test_where_nothing_that_was_shown_is_used_later_nothing_is_measured() -> None:
    units = claude("Do the thing now", *[ran(f"make step_number_{n}") for n in range(20)])
    assert list(judged.cases("t", lines(units))) == []


def test_a_tools_own_words_are_no_names_from_the_work() -> None:
    todos = {
        "todos": [{"content": "Add cartTotal", "status": "in_progress"}],
        "output_mode": "files_with_matches",
    }
    call = Record(kind=CALL, arguments=todos)
    rest = ahead([call], [call])
    assert rest.used == {"cartTotal"}
    assert forward(prose.Prose("- Add cartTotal (in_progress)"), rest).precision == 1, (
        "nor for who prints them"
    )


def test_a_file_is_the_same_with_and_without_the_folder_of_the_work() -> None:
    call = Record(kind=CALL, arguments={"file_path": "/home/ada/shop/README.md"}, folder="/home/ada/shop")
    rest = ahead([call], [call])
    assert forward(prose.Prose("- README.md: edited"), rest).recall == 1
    assert forward(prose.Prose("- docs/README.md: edited"), rest).recall == 0


@pytest.mark.parametrize(
    ("text", "folder", "found"),
    [
        ("/app/src/route.ts src/app/route.ts", "/app", ["src/route.ts", "app/route.ts"]),
        ("src/cart.py", "/", ["cart.py"]),
        ("print('\\nTotalPrice', 'a\\tTaxRate')", "", ["TotalPrice", "TaxRate"]),
        (r"C:\repo\tests\test_a.py", "", ["test_a.py"]),
    ],
)
def test_only_the_folder_itself_and_the_ends_of_lines_are_left_aside(
    text: str, folder: str, found: list[str]
) -> None:
    assert list(words.references(text, folder)) == found


def test_what_agents_of_a_team_tell_each_other_is_no_persons_word() -> None:
    told = '<teammate-message teammate_id="lead">Never touch the lexer</teammate-message>'
    assert (
        formats.records(loaded(lines(claude(told, "Go on with the cart"))))[0].text == "Go on with the cart"
    )


def test_only_what_was_shown_before_can_be_recalled() -> None:
    one = case(edit("src/cart.py", "cartTotal", "x"), after=(edit("src/cart.py", "cartTotal", "brandNew"),))
    assert set(one.rest.weights) == {"cart.py", "cartTotal"}
    assert one.rest.used == {"cart.py", "cartTotal", "brandNew"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see src/shop/cart.py and CartTotal", {"cart.py", "CartTotal"}),
        ("pkg/index.ts", {"pkg/index.ts"}),
        ("plain words, 2026-01-28T22:00 and v1.2.3", set()),
        ("self.cart_total(x)", {"cart_total"}),
    ],
)
def test_references_are_files_and_made_up_names(text: str, found: set[str]) -> None:
    assert set(words.references(text)) == found


def test_whoever_sees_the_rest_names_more_of_it() -> None:
    noise = [ran(f"make noise_target_{number}") for number in range(40)]
    one = case(edit("src/cart.py", "cartTotal", "x"), *noise, after=(edit("src/cart.py", "cartTotal", "y"),))
    assert one.ideal(200) > one.judge(one.brief(_baselines.last, 200), 200).f1


# One figure


def test_a_brief_over_its_budget_scores_nothing() -> None:
    one = case(*WORK, after=(edit("src/cart.py", "rebate", "y"),))
    brief = one.brief(_baselines.ledger, 3000)
    assert one.judge(brief, 3000).hq > 50
    assert one.judge(brief, tokens.count(brief) - 1).hq == 0


def test_a_dump_of_names_binds_nothing() -> None:
    one = case(*WORK, after=(edit("src/cart.py", "rebate", "y"),))
    dumped = one.judge(one.brief(_baselines.dump, 3000), 3000)
    assert dumped.fr == 1.0
    assert dumped.hq < one.judge(one.brief(_baselines.last, 3000), 3000).hq


@given(st.text(max_size=400))
def test_any_text_gets_a_score(text: str) -> None:
    one = case(*WORK, after=(edit("src/cart.py", "rebate", "y"),))
    score = one.judge(text, 3000)
    assert 0 <= score.hq <= 100
    assert 0 <= score.st <= 1


@given(st.text(max_size=300), st.integers(1, 60))
def test_what_is_made_to_fit_fits(text: str, budget: int) -> None:
    cut = tokens.fit(text, budget)
    assert text.startswith(cut)
    assert tokens.count(cut) <= budget


@pytest.mark.parametrize("name", ["last", "mover", "bm25", "dump", "ledger"])
def test_every_baseline_keeps_to_its_budget(name: str) -> None:
    one = case(*WORK, *[ran(f"make target_{number}", "said " * 50) for number in range(40)])
    for budget in (50, 300, 2000):
        assert tokens.count(one.brief(getattr(_baselines, name), budget)) <= budget


# Controls


def test_renaming_keeps_what_is_true() -> None:
    transcript = loaded(lines(claude(*WORK)))
    before = truth(formats.records(transcript))
    after = truth(formats.records(renamed(transcript, seed=3)))
    assert [(fact.kind, fact.value) for fact in after.facts] == [
        (fact.kind, fact.value) for fact in before.facts
    ]
    assert [len(fact.subject) for fact in after.facts] == [len(fact.subject) for fact in before.facts]


def test_renaming_changes_names_and_nothing_else() -> None:
    units = claude("Look at cartTotal and priceTable and rebate_rules and other_things")
    transcript = loaded(lines(units))
    said = formats.records(renamed(transcript, seed=1))[0].text
    assert said != "Look at cartTotal and priceTable and rebate_rules and other_things"
    assert said.startswith("Look at ") and said.count(" and ") == 3


def test_a_strategy_that_loses_early_words_fails_the_canaries() -> None:
    one = case("Start the work now", *[ran(f"make target_{number}", "said " * 200) for number in range(60)])
    lost = list(_controls.canaries(one, _baselines.last, ""))
    assert len(lost) == 15
    assert not _controls.verdicts(lost)[0].holds

    def whole(path: Path, agent: str, budget: int) -> str:
        return path.read_text()

    assert _controls.verdicts(list(_controls.canaries(one, whole, "")))[0].holds


def test_a_control_on_noise_sees_what_noise_pushes_out() -> None:
    one = case(*WORK)
    [seen] = _controls.noisy(one, _baselines.last, "")
    assert seen.figure < seen.before
    [kept] = _controls.noisy(one, _baselines.ledger, "")
    assert kept.figure == kept.before == 1.0


def test_the_judge_imports_nothing_of_what_it_judges() -> None:
    imported = set()
    for path in JUDGE.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or "")
    assert imported
    assert not [name for name in imported if name.split(".")[0] == "segue"]


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 200_000,
        "[" * 200_000,
        "[a\n" * 60_000,
        "'" * 200_000,
        "| tail " * 30_000,
        "<bash-stdout>" * 20_000,
    ],
)
def test_hostile_text_is_read_in_time(text: str) -> None:
    begun = time.process_time()
    facts_of(lines(claude(text, ran(text, text, 1), f">{text}")))
    prose.Prose(text[:60_000])
    assert time.process_time() - begun < 5


def test_the_picture_names_every_strategy_with_its_last_score() -> None:
    points = {"segue": {2000: 80.0, 8000: 90.0}, "last": {2000: 30.0, 8000: 50.0}}
    root = ElementTree.fromstring(picture(points, quality.NAMES, "a note & more"))
    said = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "Segue  90" in said
    assert "last messages  50" in said
    assert "a note & more" in said


def test_a_path_of_windows_is_the_same_with_slashes() -> None:
    assert words.slashed(r"see D:\app\src\a.py, C:\\x\\b.js") == "see D:/app/src/a.py, C:/x/b.js"
