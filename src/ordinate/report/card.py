"""What a model is for and where its limits are: on its page, and as MODEL_CARD.md in its folder."""

import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import date

import sklearn
import torch

from ordinate.counts import counted
from ordinate.encoders.blend_head import BlendHead
from ordinate.model.labels import RankLabels, TargetLabels
from ordinate.model.model import Model
from ordinate.report.page.verdict import Compared
from ordinate.version import __version__


def intended_use(targets: Sequence[str]) -> str:
    """Return what a model is for, as far as its training says."""
    return (
        f"To predict {' and '.join(targets)} of samples drawn as those of training were. Add who relies on the "
        "predictions, for which decisions, and what a wrong one costs."
    )


def limits(measured: int | None, seen: str = " that it has not seen", *, of_table: bool = True) -> list[str]:
    """Return the limits that every model has.

    Args:
        measured: Number of samples that it was measured on; None if it was not measured.
        seen: Whether training had these, in words that follow "samples".
        of_table: Whether samples are rows of a table.
    """
    warns, part = "", "part"
    if of_table:
        warns, part = "; ordinate predict warns of values that training has not seen", "column"
    first = "It was not measured when it was saved: evaluate it on samples that it was not trained on."
    if measured is not None:
        first = f"It was measured on {counted(measured, 'sample')}{seen}."
    return [
        f"{first} Samples from elsewhere may be predicted worse{warns}.",
        f"It has learned associations: changing a {part} of a sample need not change its label.",
    ]


def model_card(
    targets: Sequence[str],
    compared: Compared | None,
    measured: int | None,
    data: Mapping[str, str],
    notes: Sequence[str],
    facts: Mapping[str, str],
    *,
    of_table: bool = True,
    writer: str = "`ordinate fit`",
) -> str:
    """Return the card of a model in Markdown.

    Args:
        targets: Names of the labels.
        compared: What it was compared with, and what to be careful about; None if that was not measured.
        measured: Number of held-out samples; None if none were measured.
        data: Facts on the data.
        notes: Notes on the data.
        facts: Facts for reproduction, such as versions.
        of_table: Whether samples are rows of a table.
        writer: What has written the card.
    """
    lines = [f"# Model card: {' and '.join(targets)}", "", f"Written by {writer} on {date.today().isoformat()}."]
    if compared is not None and measured is not None:
        lines += ["", "## How good it is", "", f"On {counted(measured, 'held-out sample')}:", ""]
        lines += [f"- {target}: {verdict}" for target, verdict in compared.verdicts.items()]
    lines += ["", "## Intended use", "", intended_use(targets), "", "## Limits", ""]
    lines += [f"- {limit}" for limit in limits(measured, of_table=of_table)]
    if compared is not None:
        lines += [f"- {caution.title}. {caution.reason}" for caution in compared.cautions]
    lines += ["", "## Data", "", *_listed(data), *[f"- {note}" for note in notes]]
    lines += ["", "## Versions", "", *_listed(facts)]
    return "\n".join(lines) + "\n"


def card_of(model: Model) -> str:
    """Return the card of a model that was fitted in Python: what the model itself knows."""
    target = model.target or "the label"
    labels = model.labels
    data = {}
    if isinstance(labels, RankLabels) and labels.counts is not None:
        ranks = [f"{name} ({count:,})" for name, count in zip(labels.names, labels.counts, strict=False)]
        data = {"Samples": f"{counted(sum(labels.counts), 'sample')} of training", "Ranks": ", ".join(ranks)}
    elif isinstance(labels, TargetLabels) and labels.mean is not None:
        data = {"Mean of the label in training": ", ".join(f"{mean:.4g}" for mean in labels.mean)}
    facts = {"Method": model.name, **parts_of(model), **versions(), "Seed": str(model.origin.params["random_state"])}
    targets = [target] if isinstance(target, str) else target
    of_table = model.reader.kind == "table"
    return model_card(targets, None, None, data, model.notes, facts, of_table=of_table, writer="`save`")


def parts_of(model: Model) -> dict[str, str]:
    """Return the weights of the parts of a blend; nothing of any other model."""
    if not isinstance(model.predictor, BlendHead):
        return {}
    names = {"members": "networks", "linear": "linear model", "trees": "random trees", "boosting": "boosted trees"}
    shares = sorted(model.predictor.shares.items(), key=lambda share: -share[1])
    parts = [f"{names.get(name, name.replace('_', '-') + ' networks')} {share:.0%}" for name, share in shares]
    return {"Parts of the blend": ", ".join(parts)}


def versions() -> dict[str, str]:
    """Return what a model or a page was made with."""
    return {
        "Versions": f"ordinate {__version__}, torch {torch.__version__}, scikit-learn {sklearn.__version__}",
        "Python": f"{platform.python_version()} on {sys.platform}, {platform.machine()}",
    }


def _listed(facts: Mapping[str, str]) -> list[str]:
    return [f"- {name}: {value}" for name, value in facts.items()]
