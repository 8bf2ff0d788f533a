"""Calls, results and acts in short, for tests of what they mean."""

from __future__ import annotations

import json
from typing import Any

from segue.model import Entry, EntryKind, Origin
from segue.model.tool_action import Act, Change, Deed

PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\n"
PATCHED = Act(deed=Deed.EDIT, subject="a.py", changes=(Change(old="x\n", new="y\n"),))


BLOCKS = """I'll change both.

src/app.py
```python
<<<<<<< SEARCH
x = 1
=======
x = 2
>>>>>>> REPLACE
```

`new.py`
````
<<<<<<< SEARCH
=======
y = 1
>>>>>>> REPLACE
````
"""


def call(tool: str, given: Any = None, **more: Any) -> Entry:
    text = given if isinstance(given, str) else json.dumps({} if given is None else given)
    return Entry(
        id="c",
        kind=EntryKind.CALL,
        origin=Origin.ASSISTANT,
        text=text,
        tool=tool,
        call="1",
        native={},
        **more,
    )


def result(text: str = "", native: dict[str, Any] | None = None, **more: Any) -> Entry:
    return Entry(
        id="r", kind=EntryKind.RESULT, origin=Origin.TOOL, text=text, call="1", native=native, **more
    )


def said(kind: EntryKind, text: str, **more: Any) -> Entry:
    return Entry(id="s", kind=kind, origin=Origin.ASSISTANT, text=text, native={}, **more)


def edit(path: str, old: str, new: str, is_everywhere: bool = False) -> Act:
    return Act(deed=Deed.EDIT, subject=path, changes=(Change(old=old, new=new, is_everywhere=is_everywhere),))


def act(deed: Deed, subject: str = "", **more: Any) -> Act:
    return Act(deed=deed, subject=subject, **more)
