"""The command line's front door: what must be quick is answered before anything else is loaded."""

import sys


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-V"]):
        from segue import __version__

        sys.stdout.write(f"segue {__version__}\n")
        return
    from segue.faces.cli import main as command_line  # lazy: see above

    sys.exit(command_line())


if __name__ == "__main__":
    main()
