"""Text cut to a length, or made safe to print."""


def printable(text: object) -> str:
    """Text that cannot move a terminal's cursor, change its colours or hide itself."""
    return "".join(char if char.isprintable() else "�" for char in str(text))


def ended(text: str, limit: int) -> str:
    """End of a long text, starting at a word."""
    if len(text) <= limit or text[-limit - 1].isspace():
        return text[-limit:]
    end = text[-limit:].split(None, 1)
    return end[1] if len(end) > 1 else ""


def begun(text: str, limit: int) -> str:
    """Beginning of a long text. No word is cut in two: half a secret would not be recognised as one."""
    if len(text) <= limit:
        return text
    words = text[:limit].split()
    whole = text[limit : limit + 1].isspace()
    end = limit if whole or not words else text.rfind(words[-1], 0, limit)
    return text[:end].rstrip() + " …"
