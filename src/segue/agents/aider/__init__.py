"""aider: everything is appended to one Markdown file in the project. A start is `# aider chat started at …`, lines of a
prompt begin with `#### `, lines of its own output with `> `, and replies have no prefix. One file is one transcript:
aider itself restores a conversation from the whole file.

aider ends each line of a prompt or output with two spaces, which headings and quotations in a reply don't have. If an
editor removed them (seen on the first such line after a start), the prefix decides. Inside an open code fence of a
reply, a prompt counts only after the two empty lines that aider writes between a reply and a prompt, and an output
only if it is one that follows replies. Two cases cannot be told apart: a reply that quotes a history file outside a
fence, with its spaces; and a start line, which always counts as one. Output of several lines has the prefix on its
first line only, and continues to the line that ends in two spaces.

aider writes the time only when it starts, in local time, which is taken to be this machine's. So only the start has a
time, and spends have the time of the start.

A block becomes an entry when something else follows it, or at the end of the file: aider writes each block at once,
and the user's last prompt must not be missing. The next read checks such a last block again; if it has grown, the
read starts over. An incomplete last line is left for the next read, with the block that it may belong to.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="aider", title="aider", vendor="aider", program="aider", tested="")

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "acts": "tool_calls"
}  # fmt: skip
