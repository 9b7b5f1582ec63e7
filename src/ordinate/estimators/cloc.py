"""CLOC behind scikit-learn's interface."""

import warnings
from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ordinate.data.samplers import RankBatches
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.errors import OrdinateError
from ordinate.estimators.linear_ranks import LinearRanks
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.functional.inputs import check_choice, check_positive
from ordinate.methods.imbalance import Imbalance
from ordinate.options import PairReduction

if TYPE_CHECKING:
    from ordinate.methods.cloc import CLOC

MANY = 100  # epochs


@estimator_dataclass
class CLOCClassifier(LinearRanks):
    """Classify ranks by CLOC: a margin for every boundary between adjacent ranks, learned or yours.

    Args:
        critical_margins: ``{(1, 2): 0.8}`` fixes the margin of the boundary between the labels 1 and 2, which must be
            adjacent, and learns the others (CLOC, Section 4.4); labels that are text as ``{("mild", "severe"): 0.8}``.
            Inside ensembles of scikit-learn, which recode labels, give class_order too.
        margin_floor: value that learned margins stay above.
        shared_margins: learn one margin for all boundaries.
        phase_epochs: most epochs of the two phases; by default 100 and 200, or as many as 1000 and 2000 batches make
            if that is fewer.
        target_accuracy: accuracy on the training data that ends phase one.
        mmnp_weight: of the MMNP loss beside the cross-entropy.
        reduction: of the MMNP loss over the pairs of an anchor: ``"sum"`` is the paper's eq. 2, whose size grows with
            the square of the batch; ``"pair_mean"`` stays beside the cross-entropy.
        imbalance: what to do about rare ranks: :class:`~ordinate.methods.imbalance.Imbalance` with LDS, FDS or RankSim;
            None does nothing. Of few ranks, kernel_size=1 weighs each by its own number of samples.

    Attributes:
        margins_: (C-1,), learned and fixed margins, from the lowest boundary to the highest.

    Example:
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = CLOCClassifier(phase_epochs=(30, 30), random_state=0).fit(X, y)
        >>> model.predict([[0.1], [0.9]]).tolist(), model.margins_.shape
        ([0, 2], (2,))
    """

    critical_margins: Mapping[tuple[Any, Any], float] | None = None
    margin_floor: float = 0.0
    shared_margins: bool = False
    phase_epochs: tuple[int, int] | None = None
    target_accuracy: float = 0.95
    mmnp_weight: float = 1.0
    reduction: PairReduction = "pair_mean"
    epochs: None = field(default=None, init=False)  # it has phase_epochs
    imbalance: Imbalance | None = None
    method_: "CLOC" = field(init=False)

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        return self.method_.classifier(embeddings).softmax(dim=1)

    @property
    def margins_(self) -> NDArray[np.float64]:
        """(C-1,), the margin of every boundary.

        A learned one starts at random between 0.5 and 1 and only shrinks, and Adam shrinks all at nearly the same rate:
        read how hard a boundary is from its errors and cosines.
        """
        check_is_fitted(self)
        return self.method_.mmnp.margins.detach().numpy()

    def _build_method(self, encoder: nn.Module) -> "CLOC":
        from ordinate.methods.cloc import CLOC

        return CLOC(
            encoder,
            self.embedding_dim_,
            len(self.ordered_classes_),
            margins=self._margins_by_rank(),
            floor=self.margin_floor,
            shared=self.shared_margins,
            phase_epochs=self._phases(),
            target_accuracy=self.target_accuracy,
            mmnp_weight=self.mmnp_weight,
            reduction=self.reduction,
            balance=self._balance(),
            **self._training_options(),
        )

    def _may_use_columns(self, training: ArrayBatches | ViewBatches) -> bool:
        return self.critical_margins is None and super()._may_use_columns(training)

    def _phases(self) -> tuple[int, int]:
        if self.phase_epochs is not None:
            return self._two_epochs(self.phase_epochs, "phase_epochs", least=1)
        return self._usual_epochs(100, 1000), self._usual_epochs(200, 2000)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.margin_floor, "margin_floor", or_zero=True)
        check_positive(self.mmnp_weight, "mmnp_weight", or_zero=True)
        check_choice(self.reduction, ("pair_mean", "sum"), "reduction")

    def _margins_by_rank(self) -> dict[tuple[int, int], float] | None:
        """Return the critical margins by the ranks of their labels."""
        if self.critical_margins is None:
            return None
        if not isinstance(self.critical_margins, Mapping):
            raise OrdinateError("critical_margins", repr(self.critical_margins), "labels and margins, as {(1, 2): 0.8}")
        labels = self._labels_by_rank
        boundaries = {pair: rank for rank, pair in enumerate(pairwise(labels))}
        margins = {}
        for boundary, margin in self.critical_margins.items():
            rank = boundaries.get(boundary) if isinstance(boundary, tuple) else None
            if rank is None:
                raise OrdinateError(
                    "critical_margins",
                    f"boundary {boundary!r}",
                    f"two adjacent labels, lower first, of {' < '.join(map(repr, labels))}",
                )
            if check_positive(margin, f"critical_margins[{boundary!r}]") < self.margin_floor:
                raise OrdinateError(
                    f"critical_margins[{boundary!r}]", margin, f"at least margin_floor, {self.margin_floor}"
                )
            margins[rank, rank + 1] = margin
        return margins

    def _targets(self, y: Any, *, reset: bool) -> NDArray[np.int32]:
        ranks = super()._targets(y, reset=reset)
        if reset:
            self._margins_by_rank()  # an error in them comes before any work
        return ranks

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        if self.method_.collapsed_boundaries:
            names = self.ordered_classes_
            boundaries = ", ".join(f"{names[low]} | {names[high]}" for low, high in self.method_.collapsed_boundaries)
            warnings.warn(
                f"the margins at the boundaries {boundaries} have collapsed to almost 0 (CLOC, Appendix B); "
                "end phase one earlier, or set margin_floor or critical_margins",
                UserWarning,
                stacklevel=3,
            )

    def _batches(self, targets: NDArray[np.int64], seed: int) -> RankBatches:
        return RankBatches(targets, self._samples_per_batch, distinct=2, seed=seed)


def two_phases(epochs: int) -> tuple[int, int]:
    """Share epochs out over CLOC's two phases.

    Each phase has the whole course of the learning rate. Phase one, which needs it for the margins alone, gets a tenth
    of few epochs; of ``MANY`` it has the third that it has by default.

    Example:
        >>> two_phases(20), two_phases(300)
        ((2, 18), (100, 200))
    """
    first = max(1, epochs // (10 if epochs < MANY else 3))
    return first, max(1, epochs - first)
