"""The parts that a protocol is made of, kept so that one that was stopped goes on where it was."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Figures = dict[str, Any]
Keep = Callable[[str, Callable[[], Figures]], Figures]


def compute(_: str, part: Callable[[], Figures]) -> Figures:
    """Return a part's figures and keep nothing."""
    return part()


class KeptParts:
    """The figures of parts as JSON files in a folder, one per part, each there whole or not at all.

    Example:
        >>> import tempfile
        >>> keep = KeptParts(tempfile.mkdtemp())
        >>> keep("size 100", lambda: {"mae": 0.5}), keep("size 100", lambda: {"mae": 0.7})
        ({'mae': 0.5}, {'mae': 0.5})
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def __call__(self, name: str, part: Callable[[], Figures]) -> Figures:
        """Return the figures that were kept under the name, or else compute and keep them."""
        path = self.folder / f"{name}.json"
        if not path.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            pending = path.with_suffix(".partial")
            pending.write_text(json.dumps(part()))
            pending.replace(path)
        figures: Figures = json.loads(path.read_text())
        return figures
