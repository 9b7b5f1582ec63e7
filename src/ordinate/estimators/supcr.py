"""SupCR with scikit-learn's interface."""

from typing import TYPE_CHECKING

from torch import nn

from ordinate.errors import OrdinateError
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted
from ordinate.estimators.target_regressor import ContrastiveMethod, ContrastiveParameters, TargetRegressor
from ordinate.model.labels import TargetLabels
from ordinate.options import LabelDistance, Similarity, SupCROptions

if TYPE_CHECKING:
    from ordinate.data.rows import Labels
    from ordinate.methods.supcr import SupCR


@estimator_dataclass
class SupCRRegressor(ContrastiveParameters, TargetRegressor):
    """Predict continuous targets by SupCR (Rank-N-Contrast): embeddings ordered by their targets, and a head on them.

    Args:
        temperature: Temperature of the softmax, > 0.
        similarity: Similarity between embeddings: ``"neg_l2"``, ``"neg_l1"`` or ``"cosine"``.
        label_distance: Distance between labels: ``"l1"``, ``"l2"``, ``"angular"`` for y of (pitch, yaw) in radians, or
            a function that maps labels (n, p) and (m, p) to distances (n, m).
        num_positives: Number of samples with the closest labels that are contrasted as positives (SupCR, Table 13);
            None for all.
        tie_tolerance: Largest difference, in units of y, of label distances that count as equal, >= 0. Labels such as
            0.1 k lose exact ties to rounding.

    Example:
        >>> import numpy as np
        >>> from ordinate import SupCRRegressor
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = SupCRRegressor(epochs=(20, 20), random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape
        ((1,), (1, 64))
    """

    temperature: float = SupCROptions.temperature
    similarity: Similarity = SupCROptions.similarity
    label_distance: LabelDistance = SupCROptions.label_distance
    num_positives: int | None = SupCROptions.num_positives
    tie_tolerance: float = SupCROptions.tie_tolerance

    def new_method(self) -> "SupCRMethod":
        return SupCRMethod(self)

    def learn_labels(self, y: "Labels") -> TargetLabels:
        """Return the labels of training samples."""
        labels = super().learn_labels(y)
        if self.label_distance == "angular" and labels.outputs != 2:
            expected = "(pitch, yaw) in radians for label_distance 'angular'"
            hint = "give 'l1' for other targets"
            raise OrdinateError("y", f"{labels.outputs} target(s) per sample", expected, hint)
        return labels


class SupCRMethod(ContrastiveMethod):
    """How SupCR trains: two views of every sample in a batch, each a positive of all others."""

    name = "SupCR"
    views = 2
    settings: SupCRRegressor

    def similarity(self, fitted: Fitted) -> Similarity:
        return self.settings.similarity

    def check(self) -> None:
        super().check()
        settings = self.settings
        SupCROptions(
            temperature=settings.temperature, similarity=settings.similarity, label_distance=settings.label_distance,
            num_positives=settings.num_positives, tie_tolerance=settings.tie_tolerance,
        )  # fmt: skip

    def module(self, encoder: nn.Module, facts: Facts) -> "SupCR":
        from ordinate.methods.supcr import SupCR

        settings = self.settings
        positives = settings.num_positives
        module = SupCR(
            encoder,
            facts.embedding_dim,
            facts.outputs,
            balance=self.balance(facts),
            temperature=settings.temperature,
            similarity=settings.similarity,
            label_distance=settings.label_distance,
            num_positives=None if positives is None else int(positives),
            tie_tolerance=float(settings.tie_tolerance),
            **self.scheme_options(facts),
        )
        module.head.standardise(facts.targets)
        return module
