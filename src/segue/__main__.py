"""Entry point: fast paths first, then the command line."""

import sys


def main() -> None:
    try:
        if sys.argv[1:] in (["--version"], ["-V"]):
            from segue import __version__

            print(f"segue {__version__}", flush=True)
            return
        if sys.argv[1:2] == ["statusline"]:
            import os  # lazy: for start-up time

            from segue.faces.fast_statusline import main as status_line  # lazy: for start-up time

            given = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()
            sys.exit(status_line(sys.argv[2:], given, os.environ))
        if sys.argv[-1] == "--json" and len(sys.argv) <= 4:
            import gc  # lazy: for start-up time

            gc.disable()  # collecting garbage does not pay in so short a run
            from segue.faces.fast_usage import answer  # lazy: for start-up time

            code = answer(sys.argv[1:])
            if code is not None:
                # Everything is written and closed: skip the interpreter's shutdown.
                import os  # lazy: for start-up time

                os._exit(code)
            gc.enable()
        import gc  # lazy: for start-up time

        gc.set_threshold(50_000)  # loaded modules stay; scanning them again and again costs time
        from segue.faces.cli import main as command_line  # lazy: for start-up time

        sys.exit(command_line())
    except KeyboardInterrupt:
        sys.exit(130)
    except RuntimeError as error:
        # Python 3.11 wraps an interrupt during the creation of a class.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        sys.exit(130)
    except OSError as error:
        # Only the version is printed outside of the command line. Otherwise flushing the buffer at exit fails again.
        import os  # lazy: for start-up time

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(f"error: cannot write the output: {error.strerror}")


if __name__ == "__main__":
    main()
