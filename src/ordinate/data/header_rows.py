"""Rows below the names of the columns that belong to the header, as survey platforms write them."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from ordinate.counts import counted

AMOUNT = re.compile(r"[-+<>=$€£¥₹ ]*[.,]?\d")  # Numbers, dates and times begin like this, names of columns do not.
IMPORT_ID = re.compile(r"""\{\s*['"]+ImportId['"]""")  # Qualtrics writes such cells below the questions.
RESPONSES = ("response", "open-ended response")  # SurveyMonkey writes one of them below most questions.


def rows_in_header(names: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return how many rows below the names of the columns belong to the header, as in exports of survey platforms.

    Qualtrics writes the questions below the names, and ``{"ImportId": ...}`` below these; SurveyMonkey writes
    "Response" below most questions, and nothing below numbers and dates of its own.

    Args:
        names: Names of the columns.
        rows: Cells of the rows below, as text; blank ones are empty.

    Example:
        >>> rows_in_header(["StartDate", "Q1"], [["Start Date", "Age?"], ['{"ImportId":"a"}', '{"ImportId":"b"}']])
        2
        >>> rows_in_header(["Respondent ID", "Pain?"], [["", "Response"], ["118", "mild"]])
        1
        >>> rows_in_header(["patient", "outcome"], [["118", "Response"], ["119", "Progression"]])
        0
    """
    for place, row in enumerate(rows[:2]):
        present = [cell for cell in row if cell]
        if present and all(map(IMPORT_ID.match, present)):
            return place + 1
    if len(rows) < 2 or any(AMOUNT.match(cell) and not _letters(cell) for cell in rows[0]):
        return 0
    columns = list(zip(names, rows[0], zip_longest(*rows[1:], fillvalue=""), strict=False))
    once = [(name, cell) for name, cell, others in columns if cell and cell not in others]
    if sum(_letters(name) == _letters(cell) != "" for name, cell in once) > 1:
        return 1
    responses = sum(cell.strip().casefold() in RESPONSES for _, cell in once)
    has_gap = any(not cell and all(others) for _, cell, others in columns)
    return int(responses > 0 and (has_gap or 2 * responses > len(columns)))


def _letters(text: str) -> str:
    """Return the letters of a text as small ones: StartDate and Start Date have the same."""
    return "".join(filter(str.isalpha, text.casefold()))


def note_on_header(count: int) -> str:
    """Return the note on rows below the names of the columns that belong to the header."""
    return f"left out {counted(count, 'row')} below the header with questions and the like, not answers"
