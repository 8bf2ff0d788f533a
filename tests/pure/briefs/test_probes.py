"""Probes: what was delivered can be told, what was not cannot, and no other answer passes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segue.base import fence
from segue.briefs import grading, probes, render, select, tokens
from segue.facts.tracker import derive
from segue.model import Entry, EntryKind, Fact, Fate, Origin, Receipt, ReceiptLine, Tier
from segue.ops.index.tracked_transcript import Meaning

NONCE = "0123456789ab"
ABOUT = render.About(source="From the demonstration agent.", transcript="t1")


def fact(kind: str, subject: str = "", value: str = "", note: str = "", text: str = "") -> Fact:
    return Fact(
        kind=kind,
        subject=subject or value,
        value=value,
        entry=f"e{value}{subject}",
        origin=Origin.HUMAN if kind in ("constraint", "correction", "instruction") else Origin.ASSISTANT,
        note=note,
        text=text,
        weight=1.0,
    )


WORK = (
    fact("branch", value="feature/totals"),
    fact("commit", "1a2b3c4d", "Round half up"),
    fact("constraint", value="Never touch src/legacy.py."),
    fact("constraint", value="You must keep the public interface of the invoices exactly as it is now."),
    fact("correction", value="No, that's the wrong rounding."),
    fact("test", "tests/test_a.py::test_sum", "failing"),
    fact("test", "tests/test_a.py::test_old", "passing"),
    fact("error", "E1", "open", note="TypeError: unsupported operand type(s) for +: 'int' and 'str'"),
    fact("error", "E0", "resolved", note="SyntaxError: invalid syntax"),
    fact("todo", "Mend the totals", "open"),
    fact("todo", "Write the changelog", "active"),
    fact("todo", "Read the code", "done"),
    fact("file", "src/a.py", "edited"),
    fact("file", "src/lib/b.py", "created"),
    fact("command", "ruff check", "failed with status 1", text="ruff check src"),
    fact("command", "pytest -q", "failed", text="pytest -q", note="1 failed"),
    fact("command", "git status", "passed", text="git status"),
    fact("question", value="Shall I also round the tax?"),
    fact("next step", value="Next: mend test_sum."),
)


def packed(facts: Sequence[Fact], budget: int = 8000) -> tuple[str, Receipt]:
    made = select.pack(
        facts, tier=Tier.SELECTIVE, budget=budget, counter=tokens.estimated(), about=ABOUT, nonce=NONCE
    )
    return render.render(made.brief), made.receipt


# A receiver that knows nothing but a text: it finds answers by the labels that they stand under.

LOOKS = {
    "constraint": ("What the user insists on, word for word", "", 40),
    "test": ("Failing tests", "", 10),
    "error": ("Open errors", "", 10),
    "next step": ("Next step", "", 1),
    "todo": ("Open tasks", "", 10),
    "question": ("Waiting for the user's answer", "", 1),
    "file": ("Files, in their current state", "", 5),
    "command": ("Failed attempts", "", 1),
    "commit": ("Current state", "Commits: ", 1),
    "branch": ("Current state", "Branch: ", 1),
}
ASKED = {probes.TOPICS[kind].question: look for kind, look in LOOKS.items()}


def sections_of(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    title = ""
    for line in text.split("\n"):
        if line.startswith("## "):
            title = line[3:]
        elif line.startswith("- "):
            found.setdefault(title, []).append(line[2:])
        elif line.startswith("  "):
            found[title][-1] += "\n" + line[2:]
    return found


def answered(*delivered: str, asked: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in delivered:
        for title, lines in sections_of(text).items():
            found.setdefault(title, []).extend(lines)
    answers = {}
    for line in asked.split("\n"):
        number, _, question = line.partition(". ")
        if question in ASKED:
            title, label, most = ASKED[question]
            lines = [one.removeprefix(label) for one in found.get(title, []) if one.startswith(label)]
            if title == LOOKS["file"][0]:
                lines = [one for one in lines if not one.startswith(("Read: ", "Listed, ", "Names in use: "))]
            if label == "Commits: ":
                lines = [commit for one in lines for commit in one.split("; ")]
            answers[number] = lines[-most:]
    return answers


def reply_of(*delivered: str, asked: str) -> str:
    return json.dumps({"answers": answered(*delivered, asked=asked)})


def proved(receipt: Receipt, *delivered: str) -> probes.Report:
    due = probes.questions(receipt)
    return probes.grade(due, reply_of(*delivered, asked=probes.ask(due, NONCE)))


def sent_again(report: probes.Report) -> str:
    return render.render_sections(probes.missing(report), NONCE)


def failed_kinds(report: probes.Report) -> list[str]:
    return [probe.kind for probe in report.failed]


# What is asked


def test_every_topic_of_which_there_are_facts_is_asked_once() -> None:
    _, receipt = packed(WORK)
    assert [probe.kind for probe in probes.questions(receipt)] == list(probes.TOPICS)


def test_each_thing_that_the_person_insists_on_is_due() -> None:
    due = probes.questions(packed(WORK)[1])[0]
    assert due.expected == tuple(one.value for one in WORK if one.kind in ("constraint", "correction"))


def test_what_is_settled_is_not_asked() -> None:
    due = {probe.kind: probe.expected for probe in probes.questions(packed(WORK)[1])}
    assert due["test"] == ("tests/test_a.py::test_sum",)
    assert due["todo"] == ("Mend the totals", "Write the changelog")
    assert due["error"] == ("TypeError: unsupported operand type(s) for +: 'int' and 'str'",)
    assert due["command"] == ("pytest -q",)


def test_only_what_was_passed_is_asked_unless_all_is_wanted() -> None:
    lines = (
        ReceiptLine(fact=WORK[0], fate=Fate.PASSED),
        ReceiptLine(fact=fact("todo", "Tidy up", "open"), fate=Fate.NOT_PASSED, reason="over budget"),
    )
    receipt = Receipt(lines=lines)
    assert [probe.kind for probe in probes.questions(receipt)] == ["branch"]
    everything = probes.questions(receipt, facts_passed_only=False)
    assert [probe.kind for probe in everything] == ["todo", "branch"]


def test_only_the_last_five_files_and_the_last_commit_are_due() -> None:
    files = [fact("file", f"src/m{n}.py", "edited") for n in range(9)]
    commits = [fact("commit", f"{n}abcdef0", "Work") for n in range(3)]
    due = {probe.kind: probe.expected for probe in probes.questions(packed([*files, *commits])[1])}
    assert due["file"] == tuple(f"src/m{n}.py" for n in range(4, 9))
    assert due["commit"] == ("2abcdef0",)


def test_no_commit_is_asked_for_where_the_last_one_was_only_mentioned() -> None:
    facts = [fact("commit", "1abcdef0", "Work"), fact("commit", "2abcdef0", "mentioned")]
    assert probes.questions(packed(facts)[1]) == ()


def test_the_questions_hold_nothing_of_the_facts() -> None:
    other = [
        msgspec.structs.replace(one, subject=f"x{n}", note="y", text=f"z{n}") for n, one in enumerate(WORK)
    ]
    other = [
        msgspec.structs.replace(one, value=f"never w{n}") if one.kind in ("constraint", "branch") else one
        for n, one in enumerate(other)
    ]
    asked = [probes.ask(probes.questions(packed(facts)[1]), NONCE) for facts in (WORK, other)]
    assert asked[0] == asked[1]
    assert not any(text in asked[0] for probe in probes.questions(packed(WORK)[1]) for text in probe.expected)


def test_the_questions_are_numbered_in_the_order_in_which_they_are_graded() -> None:
    due = probes.questions(packed(WORK)[1])
    asked = probes.ask(due, NONCE)
    assert NONCE in asked and "JSON" in asked and "no tools" in asked
    places = [asked.index(f"{number}. {probe.question}") for number, probe in enumerate(due, 1)]
    assert all(first < second for first, second in pairwise(places))


def test_asking_costs_another_read_of_all_that_was_delivered() -> None:
    assert probes.price(8000, 400, 200) == 8600
    due = probes.questions(packed(WORK)[1])
    assert probes.grade(due, probes.right_reply(due)).is_proved


# What was delivered can be told, what was not cannot


def test_whoever_has_the_brief_answers_all() -> None:
    text, receipt = packed(WORK)
    report = proved(receipt, text)
    assert failed_kinds(report) == []
    assert report.score == 1.0 and report.is_proved and report.right == len(probes.TOPICS)


def test_whoever_has_nothing_answers_none() -> None:
    report = proved(packed(WORK)[1], "")
    assert report.score == 0.0 and report.right == 0 and not report.is_proved


ASKED_FACTS = [one for one in WORK if probes.topic_of(one) and one.subject != "ruff check"]


@pytest.mark.parametrize("gone", ASKED_FACTS, ids=lambda one: f"{one.kind} {one.subject[:20]}")
def test_without_a_fact_exactly_its_probe_fails(gone: Fact) -> None:
    _, receipt = packed(WORK)
    text, _ = packed([one for one in WORK if one is not gone])
    report = proved(receipt, text)
    assert failed_kinds(report) == [probes.topic_of(gone)]
    (failed,) = [one for one in report.results if not one.is_right]
    assert failed.lost == (probes.answer_of(gone),)
    assert 0.8 < report.score < 1


def test_facts_of_a_real_transcript_are_told_again() -> None:
    def entry(id: str, kind: EntryKind, text: str, origin: Origin, **more: object) -> Entry:
        return Entry(id=id, kind=kind, text=text, origin=origin, **more)  # type: ignore[arg-type]

    entries = [
        entry("1", EntryKind.PROMPT, "Fix the totals, please. Never touch a.py. Use tabs.", Origin.HUMAN),
        entry("2", EntryKind.CALL, "b.py\n-1\n+2", Origin.ASSISTANT, tool="edit"),
        entry("2r", EntryKind.RESULT, "", Origin.TOOL, parent="2", status=0),
        entry("3", EntryKind.CALL, "pytest -q", Origin.ASSISTANT, tool="shell"),
        entry(
            "3r",
            EntryKind.RESULT,
            "FAILED tests/test_x.py::test_y - boom\n1 failed",
            Origin.TOOL,
            parent="3",
            status=1,
        ),
        entry("4", EntryKind.REPLY, "Next: mend test_y.", Origin.ASSISTANT),
    ]
    text, receipt = packed(derive(entries, Meaning("demo")))
    due = {probe.kind: probe.expected for probe in probes.questions(receipt)}
    assert due["constraint"] == ("Never touch a.py.",) and due["file"] == ("b.py",)
    assert failed_kinds(proved(receipt, text)) == []


NAME = st.text("abcdefghijklmnop", min_size=3, max_size=8)
WORDS = st.lists(NAME, min_size=2, max_size=12).map(" ".join)
ODD = st.text(min_size=1, max_size=30)


@st.composite
def facts(draw: st.DrawFn) -> list[Fact]:
    """Facts of all kinds, no two of which share a name: a number on each keeps them apart."""
    kinds = draw(
        st.lists(st.sampled_from([*probes.TOPICS, "correction", "instruction"]), min_size=1, max_size=14)
    )
    found = []
    for n, kind in enumerate(kinds):
        words = f"{draw(WORDS)} q{n}z {draw(WORDS)}"
        odd = f"{draw(ODD)} q{n}z"
        found.append(
            {
                "constraint": fact("constraint", value=f"Never {words}."),
                "correction": fact("correction", value=f"Wrong: {words}."),
                "instruction": fact("instruction", value=words),
                "test": fact("test", f"tests/test_q{n}z.py::test_{draw(NAME)}", "failing"),
                "error": fact("error", odd, "open", note=words),
                "todo": fact("todo", words, draw(st.sampled_from(["open", "active"]))),
                "file": fact("file", f"src/{draw(NAME)}/q{n}z.py", "edited"),
                "commit": fact(
                    "commit", f"{n:02x}{draw(st.text('0123456789abcdef', min_size=6, max_size=6))}", "W"
                ),
                "branch": fact("branch", value=f"{draw(NAME)}-q{n}z"),
                "question": fact("question", value=f"{words}?"),
                "command": fact("command", f"run q{n}z", "failed", text=f"run q{n}z {draw(NAME)}"),
                "next step": fact("next step", value=words),
            }[kind]
        )
    # Of these there is one at a time.
    single = {one.kind: one for one in found if one.kind in ("branch", "question", "next step")}
    return [one for one in found if one.kind not in single or single[one.kind] is one]


@given(facts())
@settings(deadline=None)
def test_a_whole_brief_answers_everything(found: list[Fact]) -> None:
    text, receipt = packed(found, budget=20_000)
    report = proved(receipt, text)
    assert failed_kinds(report) == []


@given(facts(), st.data())
@settings(deadline=None)
def test_whatever_is_gone_only_its_own_probe_fails(found: list[Fact], data: st.DataObject) -> None:
    _, receipt = packed(found, budget=20_000)
    due = {text for probe in probes.questions(receipt) for text in probe.expected}
    asked = [one for one in found if probes.topic_of(one) and probes.answer_of(one) in due]
    if not asked:
        return
    gone = data.draw(st.sampled_from(asked))
    text, _ = packed([one for one in found if one is not gone], budget=20_000)
    report = proved(receipt, text)
    assert failed_kinds(report) == [probes.topic_of(gone)]
    assert proved(receipt, text, sent_again(report)).score >= report.score


# Answers of all sorts

DUE = probes.questions(packed(WORK)[1])
RIGHT = json.loads(probes.right_reply(DUE))["answers"]


def number_of(kind: str) -> str:
    return str(next(number for number, probe in enumerate(DUE, 1) if probe.kind == kind))


def said(kind: str, *answers: object) -> probes.Graded:
    """What this answer to one question is worth, the others being right."""
    number = number_of(kind)
    report = probes.grade(DUE, json.dumps({"answers": {**RIGHT, number: list(answers)}}))
    assert set(failed_kinds(report)) <= {kind}
    return report.results[int(number) - 1]


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "Here is what I know:\n\n```json\n{}\n```\nShall I go on?",
        "~~~\n{}\n~~~",
        'I was asked for {{"answers": {{"1": ["…"]}}}}.\n{}',
        "{}\n{{}} {{ [",
        "{}" + "x" * 900_000,
    ],
    ids=["plain", "fenced", "other fence", "form repeated", "more braces", "long"],
)
def test_whatever_stands_around_the_answers_does_no_harm(wrap: str) -> None:
    assert probes.grade(DUE, wrap.format(probes.right_reply(DUE))).is_proved


def test_other_forms_of_the_same_answers_count() -> None:
    pretty = json.dumps({"answers": RIGHT}, indent=4)
    assert probes.grade(DUE, pretty).is_proved
    assert probes.grade(DUE, json.dumps(RIGHT)).is_proved
    assert probes.grade(DUE, json.dumps({"answers": RIGHT})[:-1]).is_proved
    one_text = {number: "\n".join(f"- {text}" for text in texts) for number, texts in RIGHT.items()}
    assert probes.grade(DUE, json.dumps({"answers": one_text})).is_proved
    quoted = {number: [f"« {text} »" for text in texts] for number, texts in RIGHT.items()}
    assert probes.grade(DUE, json.dumps({"answers": quoted}, ensure_ascii=False)).is_proved
    shouted = {number: [text.upper() for text in texts] for number, texts in RIGHT.items()}
    assert probes.grade(DUE, json.dumps({"answers": shouted})).is_proved


def test_even_french_quotes_in_the_place_of_others_are_read() -> None:
    reply = "{« answers » : {« 1 » : [« Never touch src/legacy.py. »], “2”: [“test_sum”]}}"
    assert probes.parse(reply) == {"1": (" Never touch src/legacy.py. ",), "2": ("test_sum",)}


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "null",
        "[]",
        "I know everything: the branch is feature/totals and test_sum fails.",
        '{"answers": null}',
        '{"answers": ["Never touch src/legacy.py."]}',
        '{"answers": {"1": null, "2": true, "3": {"a": 1}, "4": [[["x"]]], "5": [null, {}]}}',
        '{"answers": {"one": ["Never touch src/legacy.py."], "9999999": ["x"], "": ["y"]}}',
        '{"answers": ' * 100_000,
        '{"answers": {"1": ' + "[" * 200_000,
        '{"answers": {"1": [' + "9" * 100_000 + "]}}",
        '{"answers": {"1": ["\\ud800"]}}',
        "{" * 500_000,
        '{ "1" :' * 100_000,
        '{"answers": {"1": ["' + "a " * 400_000,
        "«" * 900_000,
    ],
    ids=range(16),
)
def test_what_says_nothing_is_graded_as_nothing_and_quickly(reply: str) -> None:
    start = time.process_time()
    report = probes.grade(DUE, reply)
    assert report.score == 0.0 and report.right == 0
    assert time.process_time() - start < 9
    msgspec.json.encode(report)


def test_ten_megabytes_are_no_answer_and_take_no_time() -> None:
    dump = json.dumps({"answers": {number: [*texts, "x" * 10_000_000] for number, texts in RIGHT.items()}})
    start = time.process_time()
    assert probes.grade(DUE, dump).score == 0.0
    assert time.process_time() - start < 5


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
    )
)
def test_any_json_is_graded(value: object) -> None:
    report = probes.grade(DUE, json.dumps({"answers": {"1": value, "2": value}}))
    assert 0 <= report.score <= 1
    assert all(set(one.found) | set(one.lost) == set(one.probe.expected) for one in report.results)


def test_a_dump_of_the_brief_passes_nothing() -> None:
    text, _ = packed(WORK)
    as_one = {number: [text] for number in RIGHT}
    as_line = {number: [" ".join(text.split())] for number in RIGHT}
    as_lines = {number: text.splitlines() for number in RIGHT}
    as_its_own = {number: [f"{number} {line}" for line in text.splitlines()] for number in RIGHT}
    for answers in (as_one, as_line, as_lines, as_its_own):
        report = probes.grade(DUE, json.dumps({"answers": answers}))
        assert report.right == 0 and report.score == 0.0


def test_the_longest_answers_take_little_time() -> None:
    many = [f"Never {'word ' * 80}{n}." for n in range(60)]
    due = probes.questions(packed([fact("constraint", value=text) for text in many], budget=90_000)[1])
    lines = "\n".join(f"Never {'word ' * 20}{n}." for n in range(8000))
    for items in ([lines], lines.split("\n")[:200], [lines.replace("\n", " ")], many * 3):
        start = time.process_time()
        probes.grade(due, json.dumps({"answers": {"1": items}}))
        assert time.process_time() - start < 9


def test_an_endless_list_is_no_answer() -> None:
    assert said("file", *RIGHT[number_of("file")], *(f"src/{n}.py" for n in range(500))).answer is None
    assert probes.parse('{"answers": {"1": [], "2": [null], "3": ["x", null, 7]}}') == {
        "1": (),
        "3": ("x", "7"),
    }


def test_a_dump_in_answer_to_one_question_does_not_pass() -> None:
    text, _ = packed(WORK)
    for kind in probes.TOPICS:
        assert not said(kind, text).is_right
        assert not said(kind, *text.splitlines()).is_right


def test_one_thing_that_answers_every_question_answers_none() -> None:
    text, receipt = packed(
        [fact("branch", value="main"), fact("file", "a.py", "edited"), fact("todo", "Go on", "open")]
    )
    due = probes.questions(receipt)
    line = " ".join(text.split()[-30:])
    assert all(one in line for probe in due for one in probe.expected)
    answers = {str(number): [line] for number in range(1, len(due) + 1)}
    assert probes.grade(due, json.dumps({"answers": answers})).right == 0


def test_what_is_made_up_counts_against_a_list() -> None:
    right = ("src/a.py", "src/lib/b.py")
    few = said("file", *right, "src/c.py")
    assert few.is_right and few.wrong == ("src/c.py",) and few.precision == pytest.approx(2 / 3)
    many = said("file", *right, *(f"src/c{n}.py" for n in range(20)))
    assert not many.is_right and many.recall == 1 and many.lost == ()


def test_where_one_answer_is_due_a_second_is_wrong() -> None:
    assert said("branch", "feature/totals").is_right
    assert not said("branch", "feature/totals", "main").is_right
    assert not said("commit", "1a2b3c4d", "9f9f9f9f").is_right
    assert not said("commit", "1a2b3c4d or 9f9f9f9f").is_right


def test_other_words_of_the_persons_are_not_wrong() -> None:
    facts = [*WORK, *(fact("instruction", value=f"Please look at part {n} of it.") for n in range(9))]
    due = probes.questions(packed(facts)[1])
    more = [*RIGHT["1"], *(f"[{n}] Please look at part {n} of it." for n in range(9))]
    report = probes.grade(due, json.dumps({"answers": {**RIGHT, "1": more}}))
    assert report.is_proved and report.results[0].wrong == ()


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("file", "src/b.py"),
        ("file", "b.pyc"),
        ("file", "src/lib/b.py.bak"),
        ("file", f"{'word ' * 100} src/lib/b.py"),
        ("test", f"{'word ' * 100} test_sum"),
        ("file", "xsrc/lib/b.py2"),
        ("test", "tests/test_a.py::test_summary"),
        ("test", "tests/test_a.py"),
        ("commit", "1a2b3c"),
        ("commit", "1a2b3c5d"),
        ("commit", "Round half down"),
        ("branch", "feature"),
        ("branch", "feature/totals2"),
        ("todo", "Mend"),
        ("question", "Shall I also round?"),
        ("command", "pytest"),
        ("command", "pytest -qq"),
        ("error", "TypeError"),
        ("next step", "Next: mend test_summary."),
    ],
)
def test_what_is_nearly_right_is_wrong(kind: str, answer: str) -> None:
    assert said(kind, answer).found == ()


@pytest.mark.parametrize(
    ("kind", "answer", "names"),
    [
        ("file", "`src/lib/b.py`", "src/lib/b.py"),
        ("file", "src/lib/b.py: created · total, rate", "src/lib/b.py"),
        ("file", "/home/ann/shop/src/lib/b.py", "src/lib/b.py"),
        ("file", "b.py (new)", "src/lib/b.py"),
        ("file", f"src/lib/b.py: created · {'total, ' * 100}rate", "src/lib/b.py"),
        ("file", "lib/b.py", "src/lib/b.py"),
        ("test", "test_sum", "tests/test_a.py::test_sum"),
        ("test", "FAILED tests/test_a.py::test_sum - boom", "tests/test_a.py::test_sum"),
        ("commit", "1a2b3c4", "1a2b3c4d"),
        ("commit", "1A2B3C4D5E6F 'Round half up'", "1a2b3c4d"),
        ("branch", "On branch “feature/totals”", "feature/totals"),
        ("command", "pytest -q: failed (1 failed)", "pytest -q"),
        ("command", "The command `pytest -q`", "pytest -q"),
        ("todo", "[2] mend   the totals (in progress)", "Mend the totals"),
        ("question", "Shall I also round the tax", "Shall I also round the tax?"),
    ],
)
def test_a_name_may_be_put_in_other_ways(kind: str, answer: str, names: str) -> None:
    assert said(kind, answer).found == (names,)


def test_several_names_on_one_line_are_several_names() -> None:
    graded = said("file", "src/a.py, src/lib/b.py, src/x.py")
    assert graded.is_right and graded.wrong == ("src/x.py",)


def test_a_name_that_two_could_be_meant_by_names_neither() -> None:
    known = ("src/a.py", "lib/a.py")
    assert grading.judged("a.py", known, "file").named == set()
    assert grading.judged("x/a.py", known, "file").named == set()
    assert grading.judged("lib/a.py", ("a.py", "lib/a.py"), "file").named == {"lib/a.py"}
    assert grading.judged("lib/a.py", ("a.py",), "file").named == set()
    assert grading.judged(".env", (".env", "env"), "file").named == {".env"}
    assert grading.judged("b.py: renamed (was old/a.py)", ("b.py", "old/a.py"), "file").named == {"b.py"}
    for name in ("a (1).py", "(auth)/page.tsx", "app/(auth)", "[id].tsx", "- a.py", "a, b.py", "it's.py"):
        assert grading.judged(f"{name}: edited.", (name, "a"), "file").named == {name}


LONG = "You must not change the order of the columns in the export, since the bank reads them by their place."


@pytest.mark.parametrize(
    ("answer", "counts"),
    [
        (LONG, True),
        (f"[4] Go on with the export. {LONG} Thanks!", True),
        (LONG.replace("must not", "must"), False),
        (LONG.replace("by their place", "by place"), True),
        ("Do not change the order of the columns.", False),
        (" ".join(reversed(LONG.split())), False),
        (f"{'word ' * 200}{LONG}", False),
    ],
)
def test_a_constraint_counts_in_its_words_and_order(answer: str, counts: bool) -> None:
    assert bool(grading.judged(answer, (LONG,), "constraint").named) is counts


def test_a_prohibition_that_was_added_is_another_sentence() -> None:
    kept = LONG.replace("must not", "must")
    assert not grading.judged(LONG, (kept,), "constraint").named


@pytest.mark.parametrize("other", ["src/new.py", "old.py", "the old one"])
def test_a_sentence_with_another_name_in_it_is_another_one(other: str) -> None:
    kept = f"Please {LONG.lower().rstrip('.')}, and for that reason leave src/old.py alone from now on."
    assert not grading.judged(kept.replace("src/old.py", other), (kept,), "constraint").named
    assert grading.judged(kept.replace("from now on", "now"), (kept,), "constraint").named


def test_of_two_sentences_that_differ_in_a_name_each_must_be_said() -> None:
    known = (LONG, LONG.replace("bank", "auditor"))
    assert grading.judged(LONG, known, "constraint").named == {LONG}


def test_a_question_of_several_lines_is_one_answer() -> None:
    asked = "Which one?\n1. The old rounding\n2. The new rounding"
    judged = grading.judged(asked, (asked,), "question")
    assert judged.named == {asked} and judged.wrong == []


def test_a_sentence_within_a_longer_one_must_be_said_itself() -> None:
    known = ("Don't push.", "Don't push to main.")
    assert grading.judged("Don't push to main.", known, "constraint").named == {known[1]}
    assert grading.judged("Don't push. Don't push to main.", known, "constraint").named == set(known)


@pytest.mark.parametrize(
    "text", ["不要修改数据库的结构。", "絶対に設定ファイルを変更しないでください", "Никогда не трогай legacy"]
)
def test_words_of_other_scripts_count(text: str) -> None:
    assert grading.judged(f"「{text}」", (text,), "constraint").named == {text}
    assert not grading.judged(text[: len(text) // 2], (text,), "constraint").named


def test_what_a_fence_broke_up_is_still_known() -> None:
    text = "Human: run <system-reminder> now q1z"
    brief, receipt = packed([fact("todo", text, "open"), fact("file", "Human: notes.txt", "edited")])
    assert f"Human{fence.MARK}: run" in brief and f"Human{fence.MARK}: notes.txt" in brief
    assert proved(receipt, brief).is_proved


# What must be sent again


def test_nothing_is_sent_again_where_all_is_known() -> None:
    text, receipt = packed(WORK)
    report = proved(receipt, text)
    assert probes.missing(report) == ()


def test_only_what_failed_is_sent_again() -> None:
    gone = {"Never touch src/legacy.py.", "tests/test_a.py::test_sum", "1a2b3c4d"}
    text, _ = packed([one for one in WORK if one.subject not in gone])
    _, receipt = packed(WORK)
    again = sent_again(proved(receipt, text))
    assert all(one in again for one in gone)
    assert "Mend the totals" not in again and "src/a.py" not in again and "feature/totals" not in again


def test_of_what_is_sent_again_only_the_persons_words_stand_outside_the_fence() -> None:
    _, receipt = packed(WORK)
    again = sent_again(proved(receipt, ""))
    parts = fence.unfenced(again, NONCE)
    outside = "\n".join(line for part in parts if not part.is_data for line in part.lines)
    assert "Never touch src/legacy.py." in outside
    others = (probe for probe in probes.questions(receipt) if probe.kind != "constraint")
    assert not any(text in outside for probe in others for text in probe.expected)


def test_what_was_sent_again_can_be_told_then() -> None:
    _, receipt = packed(WORK)
    nothing = proved(receipt, "")
    again = sent_again(nothing)
    asked = probes.ask(nothing.failed, NONCE)
    second = probes.grade(nothing.failed, reply_of(again, asked=asked))
    assert second.is_proved


def test_a_list_with_too_much_in_it_is_sent_again_as_it_is() -> None:
    answers = {**RIGHT, number_of("file"): [*RIGHT[number_of("file")], *(f"c{n}.py" for n in range(9))]}
    (section,) = probes.missing(probes.grade(DUE, json.dumps({"answers": answers})))
    assert section.lines == ("src/a.py: edited", "src/lib/b.py: created")


def test_what_was_proved_can_be_kept_and_read_again() -> None:
    report = proved(packed(WORK)[1], "")
    assert msgspec.json.decode(msgspec.json.encode(report), type=probes.Report) == report
