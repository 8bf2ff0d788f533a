"""Text from outside, made harmless before anyone sees it."""


def printable(text: object) -> str:
    """Text that cannot move a terminal's cursor, change its colours or hide itself."""
    return "".join(char if char.isprintable() else "�" for char in str(text))


def begun(text: str, limit: int) -> str:
    """The beginning of a long text. No word is cut in two: half of a secret would not be recognised as one."""
    if len(text) <= limit:
        return text
    words = text[:limit].split()
    whole = text[limit : limit + 1].isspace()
    end = limit if whole or not words else text.rfind(words[-1], 0, limit)
    return text[:end].rstrip() + " …"
