"""What ``ordinate fit`` keeps of the samples in the folder of a model. Imports nothing heavy."""

import json
import tomllib
from pathlib import Path
from typing import Any

from ordinate.data.paths import reading

SPLIT = "split.json"  # The file of the rows that the model was trained and measured on.


def read_split(model: str) -> dict[str, Any]:
    """Return what fit has kept of the samples of a model; what it has not kept is None or empty.

    ``csv`` is the separator of the data, and the decimal mark if there were fractions.
    """
    path = Path(model) / SPLIT
    kept: dict[str, Any] = {
        "target": None, "identity": [], "missing": [], "keep_missing": False, "csv": None, "group": None,
    }  # fmt: skip
    if not path.is_file():
        return kept
    with reading("model", f"{path} is damaged"):
        kept |= json.loads(path.read_text())
        absent = {"data", "train", "test"} - kept.keys()
        if absent:
            raise ValueError(f"it lacks {', '.join(sorted(absent))}")
        if kept["csv"] is not None:
            separator, decimal = kept["csv"]
            if len(separator) != 1 or decimal not in (".", ",", None):
                raise ValueError(f"csv is {kept['csv']}")
            kept["csv"] = separator, decimal
    return kept


def trained_on(model: str) -> str | None:
    """Return the path of the data that a model was trained on, as it was typed; None if its folder does not say."""
    path = Path(model) / "run.toml"
    if not path.is_file():
        return None
    with reading("model", f"{path} is damaged"):
        data: str | None = tomllib.loads(path.read_text()).get("data")
        return data
