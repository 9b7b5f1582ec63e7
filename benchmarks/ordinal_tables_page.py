"""The section of docs/measured/public_tables.md, from the lines of ordinal_tables.py."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "measured" / "public_tables.md"
SUMMARY = HERE / "results" / "ordinal_tables_summary.json"
BEGIN = "<!-- ordinal tables: written by benchmarks/ordinal_tables.py --table -->"
END = "<!-- end of ordinal tables -->"
METRICS = ("mae_median", "mae_mode", "rps")


def summarise(means: pd.DataFrame) -> list[dict[str, Any]]:
    """Return how far each model is from the best of each table, from means by table and model."""
    best = means.groupby("table")[list(METRICS)].transform("min")
    over = means[list(METRICS)].div(best)
    catboost = means[means["model"] == "CatBoost"].set_index("table")["seconds"]
    found = []
    for model in means["model"].unique():
        rows = means["model"] == model
        time = means.loc[rows, "seconds"].to_numpy() / catboost[means.loc[rows, "table"]].to_numpy()
        found.append({
            "model": model,
            "tables": int(rows.sum()),
            "mae_over_best": float(over.loc[rows, "mae_median"].mean()),
            "mae_over_best_worst": float(over.loc[rows, "mae_median"].max()),
            "mae_mode_over_best": float(over.loc[rows, "mae_mode"].mean()),
            "rps_over_best": float(over.loc[rows, "rps"].mean()),
            "rps_over_best_worst": float(over.loc[rows, "rps"].max()),
            "first_by_rps": int((over.loc[rows, "rps"] == 1).sum()),
            "time_over_catboost": float(np.median(time)),
            "time_over_catboost_worst": float(time.max()),
        })  # fmt: skip
    return sorted(found, key=lambda line: line["mae_over_best"])


def write(lines: list[dict[str, Any]], tables: dict[str, dict[str, Any]]) -> None:
    """Write the summary and the section of the page, of the tables of the group ``test`` that have all models."""
    frame = pd.DataFrame([line for line in lines if tables[line["table"]]["group"] == "test"])
    counts = frame.groupby("table").size()
    frame = frame[frame["table"].isin(counts[counts == counts.max()].index)]
    means = frame.groupby(["table", "model"], as_index=False)[[*METRICS, "seconds", "rows", "ranks"]].mean()
    summary = summarise(means)
    SUMMARY.write_text(json.dumps(summary, indent=1) + "\n")
    text = PAGE.read_text("utf-8")
    section = "\n".join([BEGIN, *_section(means, summary), END])
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + section + after, "utf-8")


def _section(means: pd.DataFrame, summary: list[dict[str, Any]]) -> list[str]:
    sets = means.drop_duplicates("table").sort_values("rows")
    lines = [
        "",
        f"Means over {len(sets)} tables of the ratio to the best of the {len(summary)} models on the same table",
        "(`benchmarks/results/ordinal_tables_summary.json`):",
        "",
        "| model | MAE of the median | worst | MAE of the mode | RPS | worst | first by RPS | time over CatBoost |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for line in summary:
        name = "**blend**" if line["model"] == "blend" else line["model"]
        numbers = [line[key] for key in ("mae_over_best", "mae_over_best_worst", "mae_mode_over_best")]
        numbers += [line[key] for key in ("rps_over_best", "rps_over_best_worst")]
        cells = [f"{number:.2f}" for number in numbers]
        lines.append(f"| {name} | {' | '.join(cells)} | {line['first_by_rps']} | {line['time_over_catboost']:.2f} |")
    models = [line["model"] for line in summary]
    for title, metric in (("MAE of the median", "mae_median"), ("RPS", "rps")):
        lines += ["", f":::{{dropdown}} {title} of each table (`benchmarks/ordinal_tables.py`)", ""]
        lines += [f"| table | {' | '.join(models)} |", f"|---|{'---|' * len(models)}"]
        values = means.pivot_table(index="table", columns="model", values=metric)
        for table in sets["table"]:
            best = values.loc[table].min()
            cells = []
            for model in models:
                value = f"{values.loc[table, model]:.3f}"
                cells.append(f"**{value}**" if values.loc[table, model] == best else value)
            name = table.replace("_", " ")
            lines.append(f"| {name} | {' | '.join(cells)} |")
        lines += ["", ":::"]
    return [*lines, ""]
