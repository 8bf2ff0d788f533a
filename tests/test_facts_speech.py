"""What people's words bind an agent to, and what an agent's words leave to do."""

from __future__ import annotations

import pytest

from segue.facts import speech
from tests.conftest import CommandLine
from tests.world import Conversation


@pytest.mark.parametrize(
    ("words", "bound"),
    [
        ("Never mind!", []),
        ("ah ok, I don't know", []),
        ("I don't know, but never push.", ["I don't know, but never push."]),
        ("I don't need any new dependencies.", ["I don't need any new dependencies."]),
        ("Fix it.\n#13 must not be closed.", ["#13 must not be closed."]),
        ("Fix it.\n## Do NOT touch the migrations", ["## Do NOT touch the migrations"]),
        (
            "Build it.\n\n**Out of scope**\n- SSO\n\nNow write the tests.\nNever push to main.",
            ["Out of scope: SSO", "Never push to main."],
        ),
        (
            "## Non-goals\n\nSSO is for later.\n\nUse tabs only.",
            ["Non-goals: SSO is for later.", "Use tabs only."],
        ),
        ("Also a requirement is that other skills work.", ["Also a requirement is that other skills work."]),
        ("# always use tabs", ["# always use tabs"]),
        ("Build it.\n## What must be there\nA list.", []),
        ("Build it.\n## Non-goals\n- Cloud sync\n## Rest\n- A list", ["Non-goals: Cloud sync"]),
        ("**Out of scope:**\n- Import (should come later)", ["Out of scope: Import (should come later)"]),
        (
            "See:\n```markdown\nx\n```bash\nmake\n```\nAlways run tests.\n```\nNever push.",
            ["Never push."],
        ),
        ("```js\nx\n```js\ny\n```\nNever push.", ["Never push."]),
        ("```\nNever push.", ["Never push."]),
        ("İİİ " * 200 + "never delete the production database", None),
    ],
)
def test_what_binds_and_what_only_sounds_so(words: str, bound: list[str] | None) -> None:
    found = [sentence for _, sentence in speech.binding(words)]
    if bound is None:
        assert len(found) == 1 and "never delete the production database" in found[0]
    else:
        assert found == bound


@pytest.mark.parametrize(
    ("words", "step"),
    [
        ("It works. Let me run the tests.", "Let me run the tests."),
        ("I'm checking the diff now before I run it.", "I'm checking the diff now before I run it."),
        ("Rewriting the three commits now.", "Rewriting the three commits now."),
        ("I'm seeing no errors.", ""),
        ("The totals are wrong. Let me implement this:", ""),
        ("Let me run the tests of the ledger once more:", "Let me run the tests of the ledger once more:"),
        ("All done. Let me know if you need more.", ""),
        ("I published `core`, and the tag `next` -> `4.41`.", ""),
        ("Published.\n\nThe branch still needs to be merged.", "The branch still needs to be merged."),
        ("## Next steps\n\n1. Merge it.\n2. Tag it.\n\nThat is all.", "Next steps\n1. Merge it.\n2. Tag it."),
        ("**Remaining work:**\n- the docs\n\nSee [next steps](x.md).", "See [next steps](x.md)."),
        (
            "Still open:\n\nYou may want to:\n- rebase\n- push",
            "Still open:\nYou may want to:\n- rebase\n- push",
        ),
        ("The retry happens on the next request.", ""),
        ("All done. There are no remaining issues.", ""),
        ("Nothing remains to be done.", ""),
        ("## Next steps\n```sh\nmake\n```", "Next steps"),
        ("Nächste Schritte:\n- zusammenführen", "Nächste Schritte:\n- zusammenführen"),
        ("What would you like to do next?", ""),
    ],
)
def test_what_is_left_to_do_is_told_with_the_list_that_it_introduces(words: str, step: str) -> None:
    assert speech.intent_in(words) == step


def test_what_is_out_of_scope_bears_the_number_of_its_message(cli: CommandLine) -> None:
    talk = Conversation(cli.folder, cli.cwd, "aaaa")
    words = "Build it." + " It is for the shop and takes some time." * 200
    talk.prompt(f"{words}\n## Non-goals\n- Cloud sync\n## Rest\n{words}")
    assert "- [1] Non-goals: Cloud sync" in cli("pack", "aaaa", "--budget", "1000").out
