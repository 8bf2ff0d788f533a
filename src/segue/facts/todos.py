"""To-do items from whole lists, single items, or Markdown."""

from __future__ import annotations

from msgspec import Struct

from segue.model import Entry, Fact, Origin
from segue.model.tool_action import Act, TodoState


class Item(Struct, frozen=True):
    text: str
    """Empty while only its id and state are known."""
    state: str
    entry: str
    origin: Origin
    n: int


class Todos(Struct):
    planned: dict[str, Item] = {}
    """By the agent's id, otherwise by the text."""
    noted: dict[str, Item] = {}
    """Items of Markdown lists."""

    def plan(self, act: Act, entry: Entry, n: int) -> None:
        if act.is_whole:
            listed = {todo.text for todo in act.todos}
            # Agents remove finished items from their list; that does not reopen them.
            self.planned = {
                key: item
                for key, item in self.planned.items()
                if item.state == "done" and item.text not in listed
            }
        for todo in act.todos:
            key = todo.id or todo.text
            known = self.planned.pop(key, None)
            text = todo.text or (known.text if known else "")
            state = todo.state or (known.state if known else TodoState.OPEN)
            self.planned[key] = Item(text=text, state=str(state), entry=entry.id, origin=entry.origin, n=n)

    def note(self, text: str, state: str, entry: Entry, n: int) -> None:
        self.noted.pop(text, None)
        self.noted[text] = Item(text=text, state=state, entry=entry.id, origin=entry.origin, n=n)

    def facts(self) -> list[Fact]:
        """Every item once, with its last state."""
        noted = [item for item in self.noted.values() if not self._is_worked_off(item)]
        told = sorted([*noted, *self.planned.values()], key=lambda item: item.n)
        every = {item.text: item for item in told if item.text}
        return [
            Fact(
                kind="todo",
                subject=item.text,
                value=item.state,
                entry=item.entry,
                origin=item.origin,
                n=item.n,
            )
            for item in every.values()
        ]

    def _is_worked_off(self, item: Item) -> bool:
        """Whether the item is a checkbox of the user for which the agent made its own list, at least as long, and
        finished it. The user's message still shows it unchecked."""
        if item.origin is not Origin.HUMAN or item.state == "done":
            return False
        boxes = sum(other.entry == item.entry and other.state != "done" for other in self.noted.values())
        later = sum(own.n > item.n for own in self.planned.values())
        return later >= boxes and all(own.state == "done" for own in self.planned.values())
