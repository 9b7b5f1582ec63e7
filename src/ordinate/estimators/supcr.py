"""SupCR behind scikit-learn's interface."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ordinate.errors import OrdinateError
from ordinate.estimators.contrastive_regressor import ContrastiveRegressor
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.functional.inputs import check_choice, check_positive, check_whole
from ordinate.functional.label_distance import LABEL_DISTANCES, LabelDistance
from ordinate.functional.similarity import SIMILARITIES
from ordinate.options import Similarity

if TYPE_CHECKING:
    from ordinate.methods.supcr import SupCR


@estimator_dataclass
class SupCRRegressor(ContrastiveRegressor):
    """Predict continuous targets by SupCR (Rank-N-Contrast): embeddings ordered by their targets, and a head on them.

    Args:
        temperature: of the loss.
        similarity: between embeddings: ``"neg_l2"``, ``"neg_l1"`` or ``"cosine"``.
        label_distance: ``"l1"``, ``"l2"``, ``"angular"`` for y of (pitch, yaw) in radians, or a callable that maps
            labels (n, p) and (m, p) to distances (n, m).
        num_positives: contrast only so many samples of the closest labels as positives (SupCR, Table 13); None
            contrasts all.
        tie_tolerance: label distances that differ by no more count as equal, in units of y. Labels such as 0.1 k lose
            exact ties to rounding.

    Example:
        >>> import numpy as np
        >>> from ordinate import SupCRRegressor
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = SupCRRegressor(epochs=(20, 20), random_state=0).fit(X, 10 * X[:, 0])
        >>> model.predict([[0.5]]).shape, model.transform([[0.5]]).shape
        ((1,), (1, 64))
    """

    temperature: float = 2.0
    similarity: Similarity = "neg_l2"
    label_distance: LabelDistance = "l1"
    num_positives: int | None = None
    tie_tolerance: float = 0.0

    @property
    def views_of_images(self) -> int:
        return 2

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.temperature, "temperature")
        check_choice(self.similarity, SIMILARITIES, "similarity")
        if not callable(self.label_distance):
            check_choice(self.label_distance, LABEL_DISTANCES, "label_distance")
        if self.num_positives is not None:
            check_whole(self.num_positives, "num_positives")
        check_positive(self.tie_tolerance, "tie_tolerance", or_zero=True)

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.float32]:
        targets = super()._targets(y, reset=reset)
        if self.label_distance == "angular" and targets.shape[1] != 2:
            raise OrdinateError(
                "y",
                f"{targets.shape[1]} target(s) per sample",
                "(pitch, yaw) in radians for label_distance 'angular'",
                "give 'l1' for other targets",
            )
        return targets

    def _build_method(self, encoder: nn.Module) -> "SupCR":
        from ordinate.methods.supcr import SupCR

        return SupCR(
            encoder,
            self.embedding_dim_,
            self.target_dim_,
            balance=self._balance(),
            temperature=self.temperature,
            similarity=self.similarity,
            label_distance=self.label_distance,
            num_positives=None if self.num_positives is None else int(self.num_positives),
            tie_tolerance=float(self.tie_tolerance),
            **self._scheme_options(),
        )
