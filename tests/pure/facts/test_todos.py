"""To-do items: known by their id, with their last state."""

from __future__ import annotations

from segue.facts.todos import Todos
from segue.model import Entry, EntryKind, Origin
from segue.model.tool_action import Act, Deed, Todo, TodoState
from tests.pure.facts.test_tracker import plan, said, values

ENTRY = Entry(id="e", kind=EntryKind.RESULT, origin=Origin.TOOL, text="")


def planned(*acts: tuple[Todo, ...], is_whole: bool = False) -> dict[str, str]:
    todos = Todos()
    for n, items in enumerate(acts):
        todos.plan(Act(deed=Deed.PLAN, todos=items, is_whole=is_whole), ENTRY, n)
    return {fact.subject: fact.value for fact in todos.facts()}


def test_what_was_done_before_its_words_are_known_is_done() -> None:
    done = (Todo(text="", state=TodoState.DONE, id="1"),)
    assert planned(done) == {}
    assert planned(done, (Todo(text="Lint", state=None, id="1"),)) == {"Lint": "done"}


def test_a_task_that_is_given_again_is_as_far_as_it_was() -> None:
    given = (Todo(text="Lint", state=None, id="1"),)
    assert planned(given) == {"Lint": "open"}
    active = (Todo(text="", state=TodoState.ACTIVE, id="1"),)
    assert planned(given, active, given) == {"Lint": "active"}


def test_of_a_list_that_was_replaced_only_what_is_done_stays() -> None:
    first = (Todo(text="Lint", state=TodoState.DONE), Todo(text="Test"), Todo(text="Ship"))
    again = (Todo(text="Ship", state=TodoState.ACTIVE),)
    assert planned(first, again, is_whole=True) == {"Lint": "done", "Ship": "active"}


def test_boxes_that_the_agent_made_its_own_list_of_are_over_with_it() -> None:
    asked = said("Build it:\n- [ ] the parser\n- [ ] the docs")
    work = Todo(text="write it", state=TodoState.ACTIVE)
    over = [Todo(text="write it", state=TodoState.DONE), Todo(text="tell of it", state=TodoState.DONE)]
    boxes = {"the parser": "open", "the docs": "open"}
    done = {"write it": "done", "tell of it": "done"}
    assert values([asked], "todo") == boxes
    assert values([asked, *plan(work, over[1])], "todo") == {
        **boxes,
        "write it": "active",
        "tell of it": "done",
    }
    assert values([asked, *plan(*over)], "todo") == done
    assert values([*plan(*over), asked], "todo") == {**done, **boxes}, "these came later"
    assert values([asked, *plan(over[0])], "todo") == {**boxes, "write it": "done"}, "that is about less"
