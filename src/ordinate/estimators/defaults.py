"""Defaults by kind of data: everything that a user may leave open and that depends on what X is."""

from dataclasses import dataclass

from ordinate.data.modality import Modality, Reader
from ordinate.data.registry import modality_of_reader


@dataclass(frozen=True)
class Defaults:
    """Defaults of training and prediction on one kind of data.

    Args:
        batch_size: Samples per batch.
        weight_decay: Weight decay of classifiers; None leaves it to the method.
        patience: Epochs without a gain after which a regressor's encoder stops; None trains all epochs.
        n_neighbors: Training embeddings that vote for ranks; None chooses by leaving samples out.
        decision: Rule from probabilities to a rank; None for the one of the method's paper.
        calibration_folds: Folds by which probabilities of ranks are calibrated; 0 for none, where a fit takes long.
        has_columns: Whether samples are rows of named or numbered columns.
        folds_are_cheap: Whether a model of few samples is measured by cross-validation rather than on one part.
    """

    batch_size: int = 256
    weight_decay: float | None = None
    patience: int | None = None
    n_neighbors: int | None = None
    decision: str | None = None
    calibration_folds: int = 0
    has_columns: bool = False
    folds_are_cheap: bool = False


OTHERS = Defaults()
BY_KIND = {
    "tables": Defaults(
        patience=50, n_neighbors=9, decision="median", calibration_folds=3, has_columns=True, folds_are_cheap=True
    ),
    "images": Defaults(batch_size=64, weight_decay=0.05),
    "volumes": Defaults(batch_size=64, weight_decay=0.05),
}


def defaults_of(kind: Modality | Reader) -> Defaults:
    """Return the defaults for a kind of data, given as such or by its reader."""
    modality = modality_of_reader(kind) if isinstance(kind, Reader) else kind
    return BY_KIND.get(modality.name, OTHERS)
