"""What a model is for and where its limits are: on its page, and as MODEL_CARD.md in its folder."""

import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import date

import sklearn
import torch

from ordinate.counts import counted
from ordinate.report.page.verdict import Compared
from ordinate.version import __version__

CARD = "MODEL_CARD.md"


def intended_use(targets: Sequence[str]) -> str:
    """Return what a model is for, as far as its training says."""
    return (
        f"To predict {' and '.join(targets)} of samples drawn as those of training were. Add who relies on the "
        "predictions, for which decisions, and what a wrong one costs."
    )


def limits(measured: int, *, is_unseen: bool = True) -> list[str]:
    """Return the limits that every model has, which was measured on so many samples."""
    seen = "that it was not trained on" if is_unseen else "some of which it may have been trained on"
    return [
        f"It was measured on {counted(measured, 'sample')} {seen}. Samples from elsewhere may be predicted worse; "
        "ordinate predict warns of values that training has not seen.",
        "It has learned associations: changing a column of a sample need not change its label.",
    ]


def model_card(
    targets: Sequence[str],
    compared: Compared | None,
    measured: int,
    data: Mapping[str, str],
    notes: Sequence[str],
    facts: Mapping[str, str],
) -> str:
    """Return the card of a model in Markdown.

    Args:
        targets: Names of the labels.
        compared: What it was compared with, and what to be careful about; None if that was not measured.
        measured: Number of held-out samples.
        data: Facts on the data.
        notes: Notes on the data.
        facts: Facts for reproduction, such as versions.
    """
    lines = [f"# Model card: {' and '.join(targets)}", "", f"Written by `ordinate fit` on {date.today().isoformat()}."]
    if compared is not None:
        lines += ["", "## How good it is", "", f"On {counted(measured, 'held-out sample')}:", ""]
        lines += [f"- {target}: {verdict}" for target, verdict in compared.verdicts.items()]
    lines += ["", "## Intended use", "", intended_use(targets), "", "## Limits", ""]
    lines += [f"- {limit}" for limit in limits(measured)]
    if compared is not None:
        lines += [f"- {caution.title}. {caution.reason}" for caution in compared.cautions]
    lines += ["", "## Data", "", *_listed(data), *[f"- {note}" for note in notes]]
    lines += ["", "## Versions", "", *_listed(facts)]
    return "\n".join(lines) + "\n"


def versions() -> dict[str, str]:
    """Return what a model or a page was made with."""
    return {
        "Versions": f"ordinate {__version__}, torch {torch.__version__}, scikit-learn {sklearn.__version__}",
        "Python": f"{platform.python_version()} on {sys.platform}, {platform.machine()}",
    }


def _listed(facts: Mapping[str, str]) -> list[str]:
    return [f"- {name}: {value}" for name, value in facts.items()]
