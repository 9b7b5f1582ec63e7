"""The file of a model in which ``fit`` keeps the rows that it was trained and measured on."""

import json
from pathlib import Path
from typing import Any

from ordinate.data.paths import reading

SPLIT = "split.json"
KEPT: dict[str, Any] = {"target": None, "stream": False, "identity": [], "drop_unlabelled": False}


def read_split(model: str) -> dict[str, Any]:
    """Return what fit has kept of the samples of a model; what it has not kept is None or empty."""
    path = Path(model) / SPLIT
    if not path.is_file():
        return KEPT
    with reading("model", f"{path} is damaged"):
        return {**KEPT, **json.loads(path.read_text())}
