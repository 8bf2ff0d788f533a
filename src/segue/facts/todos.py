"""What is to do, whichever way an agent writes it down: a whole list, one item at a time, or Markdown."""

from __future__ import annotations

from msgspec import Struct

from segue.model import Entry, Fact, Origin
from segue.model.tool_action import Act, TodoState


class Item(Struct, frozen=True):
    text: str
    """Empty while only its id and its state are known."""
    state: str
    entry: str
    origin: Origin
    n: int


class Todos(Struct):
    planned: dict[str, Item] = {}
    """By the agent's own id, or by the text where it has none."""
    noted: dict[str, Item] = {}
    """Items of Markdown lists."""

    def plan(self, act: Act, entry: Entry, n: int) -> None:
        if act.is_whole:
            listed = {todo.text for todo in act.todos}
            # An agent drops what is done from its list; that does not open it again.
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
        """Every item once, as it was told last."""
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
        """Whether it is a box of the person's that the agent made a list of its own of, no shorter, and all of that is
        done. It still stands in their message."""
        if item.origin is not Origin.HUMAN or item.state == "done":
            return False
        boxes = sum(other.entry == item.entry and other.state != "done" for other in self.noted.values())
        later = sum(own.n > item.n for own in self.planned.values())
        return later >= boxes and all(own.state == "done" for own in self.planned.values())
