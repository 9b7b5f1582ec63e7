"""Tables in JSON: rows as objects, one per line or in a list, and the forms in which pandas writes a table."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from ordinate.errors import OrdinateError

FORMS = "one object per line, a list of objects, or an object of columns, as pandas writes them"


def read_json(path: Path) -> pd.DataFrame:
    """Return the table of a file.

    It is one JSON object per line, a list of these, an object one of whose members is a list of
    objects, an object of columns, or of columns or rows whose rows have numbers, or one of pandas' forms.

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
    data = content.get("data")
    if isinstance(data, list) and isinstance(content.get("columns"), list):
        rows = [row for row in data if isinstance(row, list)]
        if len(rows) < len(data) or any(len(row) != len(content["columns"]) for row in rows):
            raise OrdinateError(path, problem="its rows have not as many cells as there are columns", expected=FORMS)
        return pd.DataFrame(rows, columns=pd.Index(content["columns"]))
    lists = [member for member in content.values() if isinstance(member, list)]
    if len(lists) == 1 and lists[0] and all(isinstance(row, dict) for row in lists[0]):
        return _of_rows(lists[0], path)
    if content and all(isinstance(member, dict) for member in content.values()):
        return _of_objects(content, path)
    if content and len(lists) == len(content) and len({len(column) for column in lists}) == 1:
        return pd.DataFrame(content)
    if content and not any(isinstance(cell, dict | list) for cell in content.values()):
        return pd.DataFrame([content])  # One row.
    named = ", ".join(map(repr, list(content)[:5]))
    raise OrdinateError(path, problem=f"is an object of {named}", expected=FORMS)


def _of_objects(content: dict[str, dict[str, Any]], path: Path) -> pd.DataFrame:
    """Return the columns, or the rows, that an object has by name: names that are numbers belong to rows."""
    inner = [name for member in content.values() for name in member]
    if all(map(str.isdecimal, inner)):
        columns = {name: pd.Series(member, dtype=object) for name, member in content.items()}
        return pd.DataFrame(columns).infer_objects().reset_index(drop=True)
    if all(map(str.isdecimal, content)):
        return pd.DataFrame(list(content.values()))
    raise OrdinateError(path, problem="holds objects by name, which may be rows or columns", expected=FORMS)
