"""Tests that run the real agent programs against a scripted model, and the parts they are made of.

    def test_it(program: Program, workspace: Path) -> None:  # runs with claude, codex, gemini and opencode
        run = program.run(
            "Write the notes",
            workspace,
            [program.write_file(workspace / "notes.txt", "hello\\n"), program.shell("ls"), Reply("Done.")],
        )
        assert run.exit_code == 0, run.report
        assert "notes.txt" in run.requests[-1].results[1].text

`model_server` is the model, `sandbox` the walls, `program` and a file for each program how to run it,
`install` where it comes from, `conftest` the fixtures.
"""
