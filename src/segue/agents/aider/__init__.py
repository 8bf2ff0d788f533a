"""aider. It appends everything to one Markdown file in the project: `# aider chat started at …` when it starts,
`#### ` before each line of a prompt, `> ` before each line of its own output, and replies as they are. One
file is one transcript: aider itself restores a conversation from the whole of it.

Lines are told apart by what aider puts around them. It ends each line of a prompt or an output with two
spaces, which headings and quotations in a reply do not have; where an editor has stripped them (seen on the
first such line after a start), the beginning of a line must do. Inside an open code fence of a reply a prompt
is one only after the two empty lines that aider writes between a reply and a prompt, and an output only if it
is one that follows replies. What cannot be told apart: a reply that quotes a history file outside of a fence,
spaces and all; and a start line is always taken for one. Output of several lines bears the mark on its first
line only; it goes on to the line that ends in two spaces.

aider tells the time only when it starts, in the local zone, and that is taken to be this machine's. So the
start has a time, and what was spent has the time of the start.

A block is an entry when something else follows it, or when the file ends after it: aider writes each in one
piece, and what a person asked last must not be missing. Such a last block is looked at again next time;
should it have grown since, the read begins anew. A last line without its end is left for the next read, and
so is the block that it may belong to.
"""

from __future__ import annotations

from segue.model import Agent

AGENT = Agent(name="aider", title="aider", vendor="aider", program="aider", tested="")

CAPABILITIES = {
    "find": "reader", "recognise": "reader", "read": "reader",
    "acts": "tool_calls"
}  # fmt: skip
