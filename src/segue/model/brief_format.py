"""The texts that mark a brief: Segue writes them, and recognises them in transcripts later."""

from __future__ import annotations

HEADING = "# Handoff"
TITLES = {
    "violation": "The user's prohibitions that were broken",
    "constraint": "What the person insists on, word for word",
    "instruction": "What the person asked for, in order",
    "plan": "The plan that the agent works to",
    "stay": "Who had the work since you left, in order, and what each of them did",
    "state": "How things stand",
    "file": "Files, as they now stand",
    "content": "What is in them",
    "failure": "Tried, and failed",
    "command": "Commands, with their last result",
    "test": "Tests failing",
    "error": "Errors still open",
    "decision": "Decided",
    "todo": "Open tasks",
    "assertion": "What the agent asserts, and nothing bears out",
    "findings": "What other agents reported to it",
    "talk": "What the agent said before, in order",
    "reply": "The agent's last words",
    "pending": "Not finished",
    "question": "Waiting for the person's answer",
    "next step": "Next step",
}
HUMAN = ("constraint", "instruction")
"""The sections that hold the user's own words."""
