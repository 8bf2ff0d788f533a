"""Text from outside, made harmless before anyone sees it."""


def printable(text: object) -> str:
    """Text that cannot move a terminal's cursor, change its colours or hide itself."""
    return "".join(char if char.isprintable() else "�" for char in str(text))
