"""Actions of the demo agent: the first line of a call's text is a path, or the whole text is a command."""

from __future__ import annotations

from segue.model import Entry, EntryKind
from segue.model.tool_action import Act, Change, Deed

DEEDS = {"write": Deed.WRITE, "edit": Deed.EDIT, "delete": Deed.DELETE, "shell": Deed.RUN}


def acts(entry: Entry, result: Entry | None) -> tuple[Act, ...] | None:
    if entry.kind is not EntryKind.CALL or entry.tool not in DEEDS:
        return None
    deed = DEEDS[entry.tool]
    if deed is Deed.RUN:
        return (Act(deed=deed, subject=entry.text),)
    path, _, rest = entry.text.partition("\n")
    lines = rest.splitlines()
    change = Change(
        old="\n".join(line[1:] for line in lines if line.startswith("-")),
        new="\n".join(line[1:] for line in lines if line.startswith("+")),
    )
    is_edit = deed is Deed.EDIT and bool(rest)
    return (
        Act(
            deed=deed,
            subject=path,
            content=rest if deed is Deed.WRITE else None,
            changes=(change,) if is_edit else (),
        ),
    )
