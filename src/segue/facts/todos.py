"""What is to do, whichever way an agent writes it down: a whole list, one item at a time, or Markdown."""

from __future__ import annotations

from msgspec import Struct

from segue.acts import Act, TodoState
from segue.model import Entry, Fact, Origin


class Item(Struct, frozen=True):
    text: str
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
            gone = {todo.text for todo in act.todos}
            # An agent drops what is done from its list; that does not open it again.
            self.planned = {
                key: item
                for key, item in self.planned.items()
                if item.state == "done" and item.text not in gone
            }
        for todo in act.todos:
            key = todo.id or todo.text
            known = self.planned.pop(key, None)
            text = todo.text or (known.text if known else "")
            state = (todo.state or TodoState.OPEN).value if todo.state else (known.state if known else "open")
            if text:
                self.planned[key] = Item(text=text, state=state, entry=entry.id, origin=entry.origin, n=n)

    def note(self, text: str, state: str, entry: Entry, n: int) -> None:
        self.noted.pop(text, None)
        self.noted[text] = Item(text=text, state=state, entry=entry.id, origin=entry.origin, n=n)

    def facts(self) -> list[Fact]:
        """Every item once, as it was told last."""
        told = sorted([*self.noted.values(), *self.planned.values()], key=lambda item: item.n)
        every = {item.text: item for item in told}
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
