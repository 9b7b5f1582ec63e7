"""Tables in JSON: rows as objects, one per line or in a list, or columns as pandas writes them."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from ordinate.errors import OrdinateError

FORMS = "one object per line, a list of objects, or an object of columns, as pandas writes them"


def read_json(path: Path) -> pd.DataFrame:
    """Return the table of a file.

    It is one JSON object per line, a list of these, or an object of columns, which are lists or objects of cells by
    the number of the row. A single object is one row.

    Raises:
        OrdinateError: another form, or no JSON; the error names it and the forms that are read, or the line.
    """
    text = path.read_text(encoding="utf-8-sig").strip()
    try:
        content = json.loads(text) if text else []
    except json.JSONDecodeError as error:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise _no_json(error, text, error.lineno, path) from error
        content = [_of_line(line, number, path) for number, line in lines]
    if isinstance(content, list):
        return _of_rows(content, path)
    if not isinstance(content, dict):
        raise OrdinateError(path, problem=f"holds {json.dumps(content)[:40]}", expected=FORMS)
    return _of_object(content, path)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    return True


def _of_line(text: str, number: int, path: Path) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise _no_json(error, text, number, path) from error


def _no_json(error: json.JSONDecodeError, text: str, line: int, path: Path) -> OrdinateError:
    """Return the error on text that is no JSON, which may be cut off."""
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        hint = "write the file anew, or remove an incomplete last line"
        return OrdinateError(path, problem=f"could not be read: it is cut off in line {line}", hint=hint)
    return OrdinateError(
        path, problem=f"could not be read: line {line} is no JSON ({error.msg} at column {error.colno})"
    )


def _of_rows(rows: list[Any], path: Path) -> pd.DataFrame:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise OrdinateError(path, problem=f"row {number} is {json.dumps(row)[:40]}", expected="a JSON object")
    return pd.DataFrame(rows)


def _of_object(content: dict[str, Any], path: Path) -> pd.DataFrame:
    columns = list(content.values())
    if columns and all(isinstance(column, list) and len(column) == len(columns[0]) for column in columns):
        return pd.DataFrame(content)
    if columns and all(isinstance(column, dict) and all(map(str.isdecimal, column)) for column in columns):
        numbered = {name: pd.Series(column, dtype=object) for name, column in content.items()}
        return pd.DataFrame(numbered).infer_objects().reset_index(drop=True)
    if content and not any(isinstance(cell, dict | list) for cell in columns):
        return pd.DataFrame([content])  # One row.
    named = ", ".join(map(repr, list(content)[:5]))
    raise OrdinateError(path, problem=f"is an object of {named}", expected=FORMS)
