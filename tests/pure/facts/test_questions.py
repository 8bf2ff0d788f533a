"""An agent's questions and options, and the meaning of the user's answer."""

from __future__ import annotations

import time

import pytest

from segue.facts import questions

TABLE = """When should it run?

| Option | Description |
|--------|-------------|
| **A. At commit time (Recommended)** | Generate when somebody commits. |
| **B. At every checkpoint** | Generate on each call. |

Option A seems best because:
- Only committed work counts

Which do you want?"""
LISTED = """I found:
1. A package
2. A struct

Two ways are open:

**1. By sub-agents (recommended)** - one for each task

**2. In line** - all in this session

Which approach?"""
LETTERS = """Where should it stand?

- **A. Top header** — the first thing.
- **B. Bottom sign-off** — at the end.
- **C. Both** — twice.

Which fits best? (My lean is C.)"""
PLAIN = """Shall I:
A) merge it now, and tag it
B) wait for the review

What do you say?"""
COLUMNS = "| | **A: One file** | **B: A folder** |\n|---|---|---|\n| size | small | large |\n\nA or B?"
DELETE = "Shall I delete the old tables?"
STEPS = "The plan:\n\n1. Add parser\n2. Add CLI\n3. Write docs\n\nThat is all of it. "
NAMED = "### Option 1: Keep the lock\nIt is slow.\n### Option 2: Drop the lock\nIt is quick.\nYour choice?"


@pytest.mark.parametrize(
    ("answer", "words", "told"),
    [
        ("A.", TABLE, "A. (At commit time (Recommended))"),
        ("1", LISTED, "1 (By sub-agents (recommended))"),
        ("a", LETTERS, "a (Top header)"),
        ("A and C", LETTERS, "A and C (A: Top header; C: Both)"),
        ("a, b", LETTERS, "a, b (A: Top header; B: Bottom sign-off)"),
        ("B", PLAIN, "B (wait for the review)"),
        ("a", COLUMNS, "a (One file)"),
        ("2", NAMED, "2 (Drop the lock)"),
        (
            "let's go with option 1. And test it",
            NAMED,
            "let's go with option 1. And test it (1: Keep the lock)",
        ),
        ("A. is fine, log it", TABLE, "A. is fine, log it (A: At commit time (Recommended))"),
        ("I think B, as it is simple", LETTERS, "I think B, as it is simple (B: Bottom sign-off)"),
        ("3", STEPS + "Which of these first?", "3 (Write docs)"),
        ("2", STEPS + "1, 2 or 3?", "2 (Add CLI)"),
        ("2", "Would you like me to:\n1. **Keep it**\n2. **Move it** elsewhere", "2 (Move it)"),
        ("b. also mend the docs", LETTERS, "b. also mend the docs (B: Bottom sign-off)"),
    ],
)
def test_an_answer_by_letter_or_number_is_reported_with_what_it_chose(
    answer: str, words: str, told: str
) -> None:
    assert questions.with_options(answer, words) == told


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("d", LETTERS),
        ("yes", LETTERS),
        ("1. lint fails\n2. update from main", LISTED),
        ("2 things are wrong", LISTED),
        ("a small one", LETTERS),
        ("10-15 minutes", LISTED),
        ("1", "Shall I?"),
        ("1", "1. There is only one.\n\nShall I?"),
        ("write a test", LETTERS),
        ("3", STEPS + "How many retries should I configure?"),
        ("3", STEPS + "Which port should I use?"),
        ("2", STEPS + "What number of workers do you prefer?"),
        ("3", STEPS + "Shall I take 3 or 5 retries?"),
        ("3", STEPS + "Should it be 3 or 5?"),
        ("2", STEPS + "Shall I push?"),
        ("3", STEPS + "\n\n1. By hand\n2. By a script\n\nWhich way?"),
        ("2", "I did:\n1. Add a parser\n2. Add a test\n\nWhich do you want me to show?"),
        ("1. I like option 2", "1. Which colour?\n2. Which size?"),
    ],
)
def test_an_answer_that_chooses_nothing_from_a_list_is_reported_as_it_is(answer: str, words: str) -> None:
    assert questions.with_options(answer, words) == answer


def test_a_question_in_two_halves_is_reported_as_a_whole() -> None:
    words = "It is set to auto. Should I switch it to manual? Or keep auto, as it is?"
    assert questions.question_in(words) == "Should I switch it to manual? Or keep auto, as it is?"
    assert questions.question_in("Order is kept. Organise it?") == "Organise it?"


def test_a_question_may_stand_above_the_options_that_end_what_was_said() -> None:
    words = "Which of these do you mean?\n\n**A)** Both at once — all the time\n\n**B)** One by one"
    assert questions.question_in(words) == "Which of these do you mean?"
    assert questions.with_options("b", words) == "b (One by one)"
    assert (
        questions.question_in("What did I do?\n1. I mended it.\n2. I ran it.\n" + "All passed. " * 40) == ""
    )


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (
            "It is ignored.\n\nWould you like me to:\n1. **Keep it** (as it is)\n2. **Move it** elsewhere",
            "Would you like me to:\n1. Keep it\n2. Move it",
        ),
        ("Both work. Holding until you tell me which of them.", "Holding until you tell me which of them."),
        ("Both work. Let me know which one you prefer.", "Let me know which one you prefer."),
        ("Waiting for your decision.", "Waiting for your decision."),
        ("I'm waiting on your go-ahead before I push.", "I'm waiting on your go-ahead before I push."),
        ("All done. Let me know if you need more.", ""),
        ("The logs tell me which of them failed.", ""),
        ("I am waiting for the build to end.", ""),
        ("I did this:\n1. I mended it.\n2. I ran it.", ""),
        ("Here is what I can do next:\n- merge\n- tag", ""),
    ],
)
def test_one_can_ask_without_a_question_mark(words: str, asked: str) -> None:
    assert questions.question_in(words) == asked


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Want me to fix the test?", "fix it up"),
        (
            "Want me to go ahead?",
            "yeah let's do it, and then we look at the other pull requests of this week",
        ),
        ("Shall I use redis?", "a dict will do"),
        ("Shall I mend it in part?", "do the proper fix"),
        (
            "Anything you'd change?",
            "only the first one and not on the paths that end in an error of some kind",
        ),
        (
            "Which naming do you prefer?",
            "I think it should be nested below the options of the strategy, as they are",
        ),
        (
            "Shall I switch to #172 and fix it there?",
            "write a comment in #172, I'll handle it over there, not here",
        ),
        ("Which scope?", "A. just this one (Can we update the issue and create a new one for the rest?)"),
        (DELETE, "Absolutely under no circumstances, those hold the customers' data of last year."),
        (
            DELETE,
            "Leave everything exactly where it is for now, somebody else still works with them over there",
        ),
        (DELETE, "why not"),
        (DELETE, "how about no, use a branch"),
        (DELETE, "can we start with the UI"),
        ("How many retries should I configure?", "3"),
        ("Shall I?", "yes - commit, push. Then, can we comment on the other one? And then go on"),
    ],
)
def test_what_answers_a_question(asked: str, answer: str) -> None:
    assert questions.is_answer(answer, asked)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Shall I adjust any of these?", "can you explain: state persists until explicit cleanup"),
        ("Shall I reply?", "ehh, can we not get the id off the payload?\n\nalso look at the open ones"),
        (
            "Shall I draft a fix?",
            "He did rebase. So we can't prevent that. would this still fit? So it would.",
        ),
        ("Which direction?", "isn't that what the summary does"),
        ("Want me to look at it?", "I ran it again just now and still see 38 commits in the main branch"),
        ("Want to verify the state?", "also we may have a reset bug as I called one a little while ago..."),
        (DELETE, "there is no such folder on this machine, and the other one has none of them either"),
        (DELETE, "why would it do that"),
        ("Shall I?", "/exit"),
    ],
)
def test_a_new_request_or_a_question_answers_nothing(asked: str, answer: str) -> None:
    assert not questions.is_answer(answer, asked)


def test_no_list_takes_long_to_look_through() -> None:
    started = time.process_time()
    for words in (
        "1. " * 20_000,
        "| a) " * 20_000,
        "**" * 20_000,
        "1. x\n2. y\n" * 5000,
        "a" + ", a" * 20_000,
    ):
        questions.with_options("1, 2", words)
        questions.with_options(words, LISTED)
        questions.question_in(words)
    assert time.process_time() - started < 8
