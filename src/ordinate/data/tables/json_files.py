"""Tables in JSON: rows as objects, one per line or in a list, and the forms in which pandas writes a table."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from ordinate.errors import OrdinateError

FORMS = "one object per line, a list of objects, or an object of columns, as pandas writes them"


def read_json(path: Path) -> pd.DataFrame:
    """Return the table of a file.

    It is one JSON object per line, a list of objects, an object of columns whose values are lists or objects by row, or
    pandas' forms ``split`` and ``table``.

    Raises:
        OrdinateError: another form; the error names it and those that are read.
    """
    text = path.read_text(encoding="utf-8-sig").strip()
    if text.startswith("["):
        return _of_rows(json.loads(text), path)
    try:
        content = json.loads(text) if text else []
    except json.JSONDecodeError:
        lines = [line for line in text.split("\n") if line.strip()]
        if len(lines) < 2 or not lines[0].rstrip().endswith("}"):
            raise
        return _of_rows([json.loads(line) for line in lines], path)
    if isinstance(content, list):
        return _of_rows(content, path)
    if not isinstance(content, dict):
        raise OrdinateError(path, problem=f"holds {json.dumps(content)[:40]}", expected=FORMS)
    return _of_object(content, path)


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
    if isinstance(data, list) and isinstance(content.get("schema"), dict):
        return _of_rows(data, path)
    if content and all(isinstance(column, dict) for column in content.values()):
        columns = {name: pd.Series(column, dtype=object) for name, column in content.items()}
        return pd.DataFrame(columns).infer_objects().reset_index(drop=True)
    if content and all(isinstance(column, list) for column in content.values()):
        lengths = {len(column) for column in content.values()}
        if len(lengths) == 1:
            return pd.DataFrame(content)
    if content and not any(isinstance(cell, dict | list) for cell in content.values()):
        return pd.DataFrame([content])  # One row.
    named = ", ".join(map(repr, list(content)[:5]))
    raise OrdinateError(path, problem=f"is an object of {named}", expected=FORMS)
