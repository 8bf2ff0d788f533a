"""The command line's front door: what must be quick is answered before anything else is loaded."""

import sys


def main() -> None:
    try:
        if sys.argv[1:] in (["--version"], ["-V"]):
            from segue import __version__

            print(f"segue {__version__}", flush=True)
            return
        if sys.argv[1:2] == ["statusline"]:
            import os  # lazy: as all else here

            from segue.faces.fast_statusline import main as status_line  # lazy: see above

            given = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
            sys.exit(status_line(sys.argv[2:], given, os.environ))
        if sys.argv[-1] == "--json" and len(sys.argv) <= 4:
            import gc  # lazy: as all else here

            gc.disable()  # there is nothing worth collecting in a run this short, nor in what it loads
            from segue.faces.fast_usage import answer  # lazy: see above

            code = answer(sys.argv[1:])
            if code is not None:
                # All is written and closed: taking the interpreter down in order would only take time.
                import os  # lazy: as all else here

                os._exit(code)
            gc.enable()
        import gc  # lazy: as all else here

        gc.set_threshold(50_000)  # what is loaded stays, and looking through it again and again takes time
        from segue.faces.cli import main as command_line  # lazy: see above

        sys.exit(command_line())
    except KeyboardInterrupt:
        sys.exit(130)
    except RuntimeError as error:
        # Interrupted while a class was being made, Python 3.11 wraps it up.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        sys.exit(130)
    except OSError as error:
        # Only the version is written outside the command line's own care. What is still in the buffer must
        # not fail once more at the end.
        import os  # lazy: as all else here

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(f"error: the output cannot be written: {error.strerror}")


if __name__ == "__main__":
    main()
