"""What a run on a GPU has found so far, in one json and one markdown file, which are written after every figure."""

import json
import time
from pathlib import Path
from typing import Any

RESULTS, TABLE = "gpu.json", "gpu.md"


class Record:
    """The figures of one section.

    Args:
        folder: of both files.
        section: its name in them; what it held is replaced.
        seconds: that the section may take from now on.
    """

    def __init__(self, folder: Path, section: str, seconds: float) -> None:
        self.folder = folder
        self.section = section
        self.start = time.monotonic()
        self.seconds = seconds
        self.content: dict[str, Any] = {"rows": [], "notes": []}

    @property
    def seconds_left(self) -> float:
        """Seconds until the section should end."""
        return self.start + self.seconds - time.monotonic()

    def add(self, **figures: Any) -> None:
        """Add a row of figures."""
        self.content["rows"].append(figures)
        self._write()

    def replace(self, **figures: Any) -> None:
        """Let a row of figures take the place of all."""
        self.content["rows"] = [figures]
        self._write()

    def note(self, text: str) -> None:
        """Add a line of text, such as why a figure is missing."""
        self.content["notes"].append(text)
        self._write()

    def _write(self) -> None:
        self.content["seconds"] = round(time.monotonic() - self.start, 1)
        results = read(self.folder)
        results["sections"][self.section] = self.content
        write(self.folder, results)


def read(folder: Path) -> dict[str, Any]:
    """Return all that was found."""
    found: dict[str, Any] = json.loads((folder / RESULTS).read_text())
    return found


def write(folder: Path, results: dict[str, Any]) -> None:
    """Write both files, each whole or not at all."""
    for name, text in ((RESULTS, json.dumps(results, indent=1) + "\n"), (TABLE, as_markdown(results))):
        pending = folder / f"{name}.tmp"
        pending.write_text(text)
        pending.replace(folder / name)


def wrong_kernels(results: dict[str, Any]) -> list[str]:
    """Return the cases in which a kernel is wrong, and the sections of kernels that did not end."""
    wrong = []
    for name, section in results["sections"].items():
        if name.startswith("kernels"):
            wrong += [f"{name}, {row['case']}, {row['dtype']}" for row in section["rows"] if not row["right"]]
            if "error" in section or not any(row["rows in kernels"] for row in section["rows"]):
                wrong.append(f"{name} {'failed' if 'error' in section else 'ran none'}")
    return wrong


def as_markdown(results: dict[str, Any]) -> str:
    """Return a heading, a table and notes per section."""
    lines = [f"# {results['title']}", ""]
    wrong = wrong_kernels(results)
    if any(name.startswith("kernels") for name in results["sections"]):
        lines += [f"Kernels: {'WRONG: ' + '; '.join(wrong) if wrong else 'all right'}.", ""]
    for name, section in results["sections"].items():
        lines += [f"## {name}", ""]
        columns = list(dict.fromkeys(column for row in section["rows"] for column in row))
        if columns:
            lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
            lines += [f"| {' | '.join(_cell(row.get(column)) for column in columns)} |" for row in section["rows"]]
            lines.append("")
        lines += [f"- {note}" for note in section["notes"]]
        if "error" in section:
            lines += ["Failed:", "", "```", section["error"], "```"]
        lines += ["", f"{section.get('seconds', 0):g} s", ""]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
