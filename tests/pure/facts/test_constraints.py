"""Constraints in the user's words, and open intents in the agent's."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segue.briefs import render
from segue.facts import constraints, pasted_text, questions
from segue.model import Fact, Origin
from tests.conftest import CommandLine
from tests.world import Conversation


@pytest.mark.parametrize(
    ("words", "bound"),
    [
        ("Never mind!", []),
        ("ah ok, I don't know", []),
        ("I don't know, but never push.", ["I don't know, but never push."]),
        ("I don't need any new dependencies.", ["I don't need any new dependencies."]),
        ("Fix it.\n#13 must not be closed.", ["#13 must not be closed."]),
        ("Fix it.\n## Do NOT touch the migrations", ["## Do NOT touch the migrations"]),
        (
            "Build it.\n\n**Out of scope**\n- SSO\n\nNow write the tests.\nNever push to main.",
            ["Out of scope: SSO", "Never push to main."],
        ),
        (
            "## Non-goals\n\nSSO is for later.\n\nUse tabs only.",
            ["Non-goals: SSO is for later.", "Use tabs only."],
        ),
        ("Also a requirement is that other skills work.", ["Also a requirement is that other skills work."]),
        ("# always use tabs", ["# always use tabs"]),
        ("Build it.\n## What must be there\nA list.", []),
        ("Build it.\n## Non-goals\n- Cloud sync\n## Rest\n- A list", ["Non-goals: Cloud sync"]),
        ("**Out of scope:**\n- Import (should come later)", ["Out of scope: Import (should come later)"]),
        (
            "See:\n```markdown\nx\n```bash\nmake\n```\nAlways run tests.\n```\nNever push.",
            ["Never push."],
        ),
        ("```js\nx\n```js\ny\n```\nNever push.", ["Never push."]),
        ("```\nNever push.", ["Never push."]),
        ("İİİ " * 200 + "never delete the production database", None),
    ],
)
def test_what_binds_and_what_only_sounds_so(words: str, bound: list[str] | None) -> None:
    found = [sentence for _, sentence in constraints.binding(words)]
    if bound is None:
        assert len(found) == 1 and "never delete the production database" in found[0]
    else:
        assert found == bound


HAR = """This is all of it:

{
  "headers": [
    {
      "name": "Connection",
      "value": "keep-alive"
    },
    {
      "name": "Cache-Control",
      "value": "max-age=0, must-revalidate"
    }
  ]
}"""
LOG = """Maybe take the other address?

01:12:38.300
 Host key verification failed.
01:12:38.301
 Please make sure you have the correct access rights
01:12:38.301
 and the repository exists."""
CODE = """Some tests are unhappy:

        browser.sessions = {
            "one": Session(
                id="one",
                summary="A summary that should be displayed in full",
                first="Only the first message is available",
                size=5,
            )
        }
>       assert "Session" in content
E       AssertionError: must not be empty"""
COMMENTS = """Look:
// Keys that must be stored in the file
// rather than in the database.
var keys = map[string]bool{
"""


@pytest.mark.parametrize("words", [HAR, LOG, CODE, COMMENTS])
def test_pasted_data_logs_and_code_bind_nobody_and_what_is_said_beside_them_does(words: str) -> None:
    assert list(constraints.binding(words)) == []
    assert list(constraints.binding(f"Never push.\n{words}")) == [("constraint", "Never push.")]
    assert list(constraints.binding(f"{words}\n\nNever push.")) == [("constraint", "Never push.")]


@pytest.mark.parametrize(
    "words",
    [
        "src/a.py:12 don't swallow the exception\nsrc/b.py:40 never log the token\nsrc/c.py:7 must keep the name",
        "TIMEOUT=30 must stay\nRETRIES=3 don't touch\nDEBUG=0 never switch on",
        "get_user() must never raise (see #12)\nget_team() must never raise (see #12)\nput() never waits (see #3)",
        "return errors, never raise (see #4)\nreturn lists, never sets (see #4)\nreturn early, always (see #5)",
        "ValueError: never raise this one from the API",
        "src/a.py:12 never log this\nsrc/b.py:3 never log that\n\ndef log(text):\n    print(text)\n    return 1",
    ],
)
def test_a_list_of_rules_about_places_in_the_code_is_the_persons_own(words: str) -> None:
    bound = [sentence for _, sentence in constraints.binding(words)]
    assert bound == [line for line in words.split("\n") if constraints.is_firm(line)]


@pytest.mark.parametrize(
    "words",
    [
        'File "a.py", line 3, in get\n    raise ValueError(name)\nValueError: name must not be empty',
        "def get(only):\n    x = 1\nnever = load(x)\nif never:\n    return load(x)",
        'NAME = "must be set"\nHINT = "never empty"\nPORT = 80',
        "```\nTIMEOUT=30 must stay\n```",
    ],
)
def test_firm_words_inside_of_code_bind_nobody(words: str) -> None:
    assert list(constraints.binding(words)) == []


@pytest.mark.parametrize(
    "words",
    [
        "Is there any reason we don't parse it on entry?",
        "wait, does it only run on main?",
        "We don't go back to the first prompt, right?",
        "can you explain: overlap only for new files",
        "It looks like we're only showing what came since the merge",
        "This causes the sum to always return 0, which inflates the count.",
        "While this is consistent with the other field, UTC would avoid trouble with time zones.",
        "Instead of lines 235-236:",
        "There's only a README there, please fill it in",
        "no, this is fine.",
        "stop",
        "Wait!",
    ],
)
def test_what_only_asks_or_tells_or_calls_binds_nobody(words: str) -> None:
    assert list(constraints.binding(words)) == []


@pytest.mark.parametrize(
    "words",
    [
        "Is it done, but don't touch the schema?",
        "Does it work without touching the schema?",
        "what is left, and please never push?",
        "Is there a way that it is only shown when asked for?",
        "What if we don't wait for the person?",
        "When there is a file, it must be selected.",
        "What I want is that you never push.",
        "It must only run on main.",
        "This is only for tests.",
        "This needs to stay without a lock.",
        "It should always be sorted.",
        "There's only one rule: never push.",
        "Stop pushing to main.",
        "No, use a dict.",
        "export only what is used\nimport nothing from there\nreturn errors, never panic",
        "timeout = 30 must not change",
        "That stays as it is, can't be touched.",
        "This stays private, only the owner may read it.",
        "It stays at most 100 lines.",
        "This goes into the internal API only.",
        "This shows that only the owner may read it.",
        "That touches the schema, can't be done.",
        "there's only one place you may write to: ./out",
    ],
)
def test_in_doubt_a_sentence_binds(words: str) -> None:
    assert [sentence for _, sentence in constraints.binding(words)]


def test_what_might_bind_all_the_same_stays_in_its_message_however_that_is_shortened() -> None:
    padding = "It is for the shop and takes some time. " * 40
    words = f"{padding}\nThis causes it to always return 0.\n// Keys must be stored\n// a\n// b\n{padding}"
    fact = Fact(kind="instruction", subject="e1", value=words, entry="e1", origin=Origin.HUMAN, n=1)
    told = render.line(fact, 600, room=render.Room.SCARCE)
    assert "This causes it to always return 0. […] // Keys must be stored" in told
    assert len(told) <= 600


@pytest.mark.parametrize("limit", [400, 500, 3000])
def test_what_might_bind_takes_no_more_room_than_its_message_has(limit: int) -> None:
    reports = "\n".join(f"This makes case {n} always return nothing{' at all' * 25}." for n in range(12))
    words = (
        f"{'It is for the shop. ' * 200}\n{reports}\nThis one always fails.\n{'It takes some time. ' * 200}"
    )
    fact = Fact(kind="instruction", subject="e1", value=words, entry="e1", origin=Origin.HUMAN, n=1)
    told = render.line(fact, limit, room=render.Room.SCARCE)
    assert len(told) <= limit
    assert limit < 500 or "This makes case 0 always" in told[limit // 3 :]


def test_no_paste_takes_long_to_look_through() -> None:
    started = time.process_time()
    for one in (
        "a" * 50_000,
        '"a": "' * 9000,
        "(" * 50_000,
        "x.y(" * 9000,
        "if " * 9000,
        "< a" * 9000,
        "1:" * 9000,
    ):
        list(constraints.binding(f"{one}\n{one}\n{one}"))
    assert time.process_time() - started < 8


@pytest.mark.parametrize(
    "line",
    [
        "@" + "a" * 1_000_000 + "!",
        " " * 1_000_000 + "x",
        '"a": 1' + " " * 1_000_000 + "x",
        *(one * (1_000_000 // len(one)) for one in ("@", '"', ":", "=", "(", "- ", "* ", "1. ", "A) ")),
    ],
    ids=lambda line: repr(line[:8]),
)
def test_a_line_of_a_megabyte_takes_no_longer_than_many_short_ones(line: str) -> None:
    started = time.process_time()
    list(constraints.binding(line))
    constraints.doubtful(line)
    questions.question_in(line)
    questions.with_options("1, 2", line)
    questions.with_options(line, "1. a\n2. b\n\nWhich?")
    pasted_text.without_pasted(line)
    assert time.process_time() - started < 8


def test_a_line_of_data_that_is_long_is_data_all_the_same() -> None:
    assert list(constraints.binding('"text": "' + "You must never push. " * 50 + '",')) == []


def test_what_stands_between_nested_fences_is_cut_down_as_one_piece() -> None:
    words = "See:\n```markdown\nx\n```bash\nmake\n```\ny\n```\nThat is all."
    assert pasted_text.without_pasted(words) == "See:\n```markdown […6 more lines]\nThat is all."


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("It works. Let me run the tests.", "Let me run the tests."),
        ("I'm checking the diff now before I run it.", "I'm checking the diff now before I run it."),
        ("Rewriting the three commits now.", "Rewriting the three commits now."),
        ("I'm seeing no errors.", ""),
        ("The totals are wrong. Let me implement this:", ""),
        ("Let me run the tests of the ledger once more:", "Let me run the tests of the ledger once more:"),
        ("All done. Let me know if you need more.", ""),
        ("I published `core`, and the tag `next` -> `4.41`.", ""),
        ("Published.\n\nThe branch still needs to be merged.", "The branch still needs to be merged."),
        ("## Next steps\n\n1. Merge it.\n2. Tag it.\n\nThat is all.", "Next steps\n1. Merge it.\n2. Tag it."),
        ("**Remaining work:**\n- the docs\n\nSee [next steps](x.md).", "See [next steps](x.md)."),
        (
            "Still open:\n\nYou may want to:\n- rebase\n- push",
            "Still open:\nYou may want to:\n- rebase\n- push",
        ),
        ("The retry happens on the next request.", ""),
        ("All done. There are no remaining issues.", ""),
        ("Nothing remains to be done.", ""),
        ("## Next steps\n```sh\nmake\n```", "Next steps"),
        ("Nächste Schritte:\n- zusammenführen", "Nächste Schritte:\n- zusammenführen"),
        ("What would you like to do next?", ""),
    ],
)
def test_what_is_left_to_do_is_reported_with_the_list_that_it_introduces(words: str, step: str) -> None:
    assert constraints.intent_in(words) == step


def test_what_is_out_of_scope_has_the_number_of_its_message(cli: CommandLine) -> None:
    talk = Conversation(cli.folder, cli.cwd, "aaaa")
    words = "Build it." + " It is for the shop and takes some time." * 200
    talk.prompt(f"{words}\n## Non-goals\n- Cloud sync\n## Rest\n{words}")
    assert "- [1] Non-goals: Cloud sync" in cli("pack", "aaaa", "--budget", "1000").out


@given(st.text("ab.!?; \t\r\x0b", max_size=20))
def test_a_plain_line_has_the_same_sentences_however_they_are_found(line: str) -> None:
    assert [*filter(None, constraints.PLAIN_SENTENCE.split(line))] == [
        *filter(None, constraints.SENTENCE.split(line))
    ]


RULES = """Use one table.

## Notes

The parser is quick. Never write to the ledger!
- Keep it small
- You must not change src/api.py
"""


def test_a_plan_binds_by_what_it_is_firm_about() -> None:
    assert [*constraints.rules(RULES)] == ["Never write to the ledger!", "You must not change src/api.py"]


def test_what_a_plan_excludes_binds_by_its_heading() -> None:
    plan = "# Sync\n\n## Out of scope (do not build)\n- Cloud sync\n- Admin panel\n"
    heading = "Out of scope (do not build)"
    assert [*constraints.rules(plan)] == [
        f"## {heading}",
        f"{heading}: Cloud sync",
        f"{heading}: Admin panel",
    ]


def test_of_a_plan_as_many_rules_count_as_of_a_message_whatever_stands_between_them() -> None:
    wishes = "".join(
        f"- It should be quick in place {number}.\n" for number in range(2 * constraints.MOST_BINDING)
    )
    assert [*constraints.rules(f"{wishes}Never write to the ledger.")] == ["Never write to the ledger."]


@pytest.mark.parametrize(
    "words",
    [
        "[IMPORTANT] Never deploy to production.",
        "Do  not deploy to production.",
        "Do\xa0not deploy to production.",
        "Under no circumstances deploy to production.",
    ],
)
def test_a_prohibition_is_one_however_it_is_set(words: str) -> None:
    assert [*constraints.binding(f"Mend it.\n{words}")] == [("constraint", words)]
    assert constraints.is_firm(words)


@pytest.mark.parametrize(
    "words",
    ["The loop is finished and I will now exit.", "Let me provide you with a summary:", "I'll stop here."],
)
def test_who_ends_has_no_next_step(words: str) -> None:
    assert constraints.intent_in(words) == ""


@pytest.mark.parametrize(
    "line", ["├── content_hash.txt # must match", "48 -        // it must never be HTML"]
)
def test_a_tree_and_a_numbered_difference_are_pasted(line: str) -> None:
    assert [*constraints.binding(f"Look at this:\n{line}")] == []


SECRET = "ghp_" + "x8Kq2Lm5Np7Rs9Tv1Wy3Za4Bc6De8Fg0Hj2K"


@given(st.integers(700, 2100))
def test_no_word_is_cut_in_two_where_only_the_end_is_looked_at(length: int) -> None:
    words = f"I use {SECRET} here. " + ("x " * length)[:length].rstrip()
    for told in (
        constraints.intent_in(f"{words} next steps: I will go on"),
        questions.question_in(f"{words}, shall I go on?"),
    ):
        assert SECRET in told or SECRET[8:] not in told


def test_who_asks_loudly_asks() -> None:
    assert questions.question_in("It is mended. Shall I go on?!") == "Shall I go on?"
