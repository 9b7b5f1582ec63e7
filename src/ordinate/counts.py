"""Counts in messages: "1 column", and not "1 columns"."""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Args:
        number: Number of things.
        noun: Noun for one of them.
        plural: Noun for several; None for one that ends in -s.

    Example:
        >>> counted(1, "column"), counted(1200, "held-out sample"), counted(0, "query", "queries")
        ('1 column', '1,200 held-out samples', '0 queries')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {plural or noun + 's'}"
