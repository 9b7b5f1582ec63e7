"""Defaults by kind of data: everything that a user may leave open and that depends on what X is."""

from dataclasses import dataclass

from ordinate.data.modality import Modality, Reader
from ordinate.data.registry import modality_of_reader

LEARNING_RATE = 1e-3  # Of networks with weights, and where nothing else was measured.


@dataclass(frozen=True)
class Defaults:
    """Defaults of training and prediction on one kind of data.

    Args:
        batch_size: Samples per batch.
        learning_rate: Highest learning rate of a network that starts from random weights, see benchmarks/grid.py and
            benchmarks/table_rates.py.
        weight_decay: Weight decay of classifiers; None leaves it to the method.
        patience: Epochs without a gain after which a regressor's encoder stops; None trains all epochs.
        decision: Rule from probabilities to a rank; None for the one of the method's paper.
        calibrates: Whether a second run calibrates probabilities of ranks; not where runs take long.
        has_columns: Whether samples are rows of named or numbered columns.
        folds_are_cheap: Whether a model of few samples is measured by cross-validation rather than on one part.
    """

    batch_size: int = 256
    learning_rate: float = LEARNING_RATE
    weight_decay: float | None = None
    patience: int | None = None
    decision: str | None = None
    calibrates: bool = False
    has_columns: bool = False
    folds_are_cheap: bool = False


BY_KIND = {
    "tables": Defaults(
        learning_rate=3e-3, patience=50, decision="median", calibrates=True, has_columns=True, folds_are_cheap=True
    ),
    "series": Defaults(learning_rate=3e-3),
    "text": Defaults(learning_rate=3e-3),
    "images": Defaults(batch_size=64, learning_rate=1e-2, weight_decay=0.05),
    "volumes": Defaults(batch_size=64, weight_decay=0.05),
}


def defaults_of(kind: Modality | Reader) -> Defaults:
    """Return the defaults for a kind of data, given as such or by its reader."""
    if isinstance(kind, Reader):
        kind = modality_of_reader(kind)
    return BY_KIND.get(kind.name, Defaults())
