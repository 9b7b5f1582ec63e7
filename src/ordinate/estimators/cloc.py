"""CLOC with scikit-learn's interface."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ordinate.checks import check_choice, check_positive
from ordinate.data.rows import Labels
from ordinate.data.samplers import RankBatches
from ordinate.errors import OrdinateError, warn
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted, fewer_epochs
from ordinate.estimators.rank_classifier import RankClassifier, RankMethod
from ordinate.estimators.target_regressor import two_epochs
from ordinate.heads.ranks import RankLogits
from ordinate.model.labels import RankLabels
from ordinate.options import PairReduction, Similarity

if TYPE_CHECKING:
    from ordinate.methods.cloc import CLOC


@estimator_dataclass
class CLOCClassifier(RankClassifier):
    """Classify ranks by CLOC: a margin for every boundary between adjacent ranks, learned or fixed by you.

    Margins shape the embedding in training. A classifier on the embedding predicts. Without validation samples all
    epochs are trained, unless a ``patience`` is given, which then counts epochs without a lower training loss.

    Args:
        critical_margins: ``{(1, 2): 0.8}`` fixes the margin of the boundary between the labels 1 and 2, which must be
            adjacent, and learns the others (CLOC, Section 4.4); labels that are text as ``{("mild", "severe"): 0.8}``.
            Inside ensembles of scikit-learn, which recode labels, give class_order too. A margin is at most 2, the
            largest difference of two cosines. Embeddings without negative components, such as the features of a network
            that ends in ReLU (``embedding_dim=None``), have cosines >= 0, and margins above 1 have the effect of 1.
        margin_floor: Lower bound of learned margins, >= 0.
        shared_margins: Whether all boundaries share one learned margin.
        epochs: Largest numbers of epochs of the two phases; None for 100 and 200, or as many as 1000 and 2000 batches
            make if that is fewer; one number is divided between the phases, as ``ordinate fit --epochs`` does.
        target_accuracy: Accuracy on the training data that ends phase one, above 0 up to 1.
        mmnp_weight: Weight of the MMNP loss relative to the cross-entropy, >= 0.
        reduction: Reduction of the MMNP loss over the pairs of an anchor: ``"sum"`` is the paper's eq. 2, whose size
            grows with the square of the batch; ``"pair_mean"`` has the size of the cross-entropy; ``"published"``, of
            the authors' code, is the pair mean divided by the anchor's negatives, a fiftieth of the cross-entropy in
            batches of 64.

    Attributes:
        margins_: (C-1,), learned and fixed margins, from the lowest boundary to the highest. A learned one starts at
            random between 0.5 and 1 and only shrinks, and Adam shrinks all at nearly the same rate: read how hard a
            boundary is from its errors and cosines.

    Example:
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> model = CLOCClassifier(epochs=(30, 30), random_state=0).fit(X, y)
        >>> model.predict([[0.1], [0.9]]).tolist(), model.margins_.shape
        ([0, 2], (2,))
    """

    critical_margins: Mapping[tuple[Any, Any], float] | None = None
    margin_floor: float = 0.0
    shared_margins: bool = False
    epochs: int | tuple[int, int] | None = None
    target_accuracy: float = 0.95
    mmnp_weight: float = 1.0
    reduction: PairReduction = "pair_mean"

    def new_method(self) -> "CLOCMethod":
        return CLOCMethod(self)

    @property
    def margins_(self) -> NDArray[np.float64]:
        margins: NDArray[np.float64] = self.fact("margins_")
        return margins

    def learn_labels(self, y: Labels) -> RankLabels:
        """Return the labels of training samples."""
        labels = super().learn_labels(y)
        self.margins_by_rank(labels.names)  # An error in them comes before any work.
        return labels

    def margins_by_rank(self, names: Sequence[Any]) -> dict[tuple[int, int], float] | None:
        """Return the critical margins by the ranks of their labels, which are ``names`` from low to high."""
        if self.critical_margins is None:
            return None
        if not isinstance(self.critical_margins, Mapping):
            raise OrdinateError("critical_margins", repr(self.critical_margins), "labels and margins, as {(1, 2): 0.8}")
        boundaries = {pair: rank for rank, pair in enumerate(pairwise(names))}
        margins = {}
        for boundary, margin in self.critical_margins.items():
            argument = f"critical_margins[{boundary!r}]"
            if boundary not in boundaries:
                adjacent = f"two adjacent labels, lower first, of {' < '.join(map(repr, names))}"
                raise OrdinateError("critical_margins", f"boundary {boundary!r}", adjacent)
            if check_positive(margin, argument) < self.margin_floor:
                raise OrdinateError(argument, margin, f"at least margin_floor, {self.margin_floor}")
            if margin > 2:
                raise OrdinateError(argument, margin, "at most 2, the largest difference of two cosines")
            rank = boundaries[boundary]
            margins[rank, rank + 1] = margin
        return margins


class CLOCMethod(RankMethod):
    """How CLOC trains: two phases on batches of two ranks with two samples each at least (Section 3.3)."""

    name = "CLOC"
    settings: CLOCClassifier

    def similarity(self, fitted: Fitted) -> Similarity:
        return "cosine"

    def check(self) -> None:
        super().check()
        settings = self.settings
        check_positive(settings.margin_floor, "margin_floor", or_zero=True)
        check_positive(settings.mmnp_weight, "mmnp_weight", or_zero=True)
        check_choice(settings.reduction, ("pair_mean", "published", "sum"), "reduction")
        if settings.epochs is not None:
            two_epochs(settings.epochs, least=1, divide=two_phases)

    def batches(self, targets: NDArray[np.int64], batch_size: int, seed: int) -> RankBatches:
        return RankBatches(targets, batch_size, distinct=2, seed=seed)

    def module(self, encoder: nn.Module, facts: Facts) -> "CLOC":
        from ordinate.methods.cloc import CLOC

        settings = self.settings
        phases = fewer_epochs(100, 1000, facts.n_batches), fewer_epochs(200, 2000, facts.n_batches)
        if settings.epochs is not None:
            phases = two_epochs(settings.epochs, least=1, divide=two_phases)
        return CLOC(
            encoder,
            facts.embedding_dim,
            facts.outputs,
            margins=settings.margins_by_rank(self.labels.names),
            floor=settings.margin_floor,
            shared=settings.shared_margins,
            phase_epochs=phases,
            target_accuracy=settings.target_accuracy,
            mmnp_weight=settings.mmnp_weight,
            reduction=settings.reduction,
            **self.stage_options(facts),
        )

    def predictor(self, fitted: Fitted) -> nn.Module:
        module, classes = fitted.module, self.labels.classes
        if module.collapsed_boundaries:
            named = ", ".join(f"{classes[low]} | {classes[high]}" for low, high in module.collapsed_boundaries)
            warn(
                f"the margins at the boundaries {named} have collapsed to almost 0 (CLOC, Appendix B); "
                "end phase one earlier, or set margin_floor or critical_margins"
            )
        margins = module.mmnp.margins.detach().numpy()
        fixed = self.settings.margins_by_rank(self.labels.names) or {}
        fitted.facts["margins_"] = margins
        collapsed = [(rank, rank + 1) in module.collapsed_boundaries for rank in range(len(margins))]
        fitted.facts["collapsed_margins_"] = np.array(collapsed)
        fitted.facts["fixed_margins_"] = np.array([(rank, rank + 1) in fixed for rank in range(len(margins))])
        temperature = self.temperature(fitted, scorer=lambda trained, embeddings: trained.module.classifier(embeddings))
        return RankLogits(module.classifier, temperature)


def two_phases(epochs: int, many: int = 100) -> tuple[int, int]:
    """Return the epochs of CLOC's two phases, so many together.

    Each phase has the whole course of the learning rate. Phase one, which needs it for the margins alone, gets a tenth
    of few epochs; of ``many`` it has the third that it has by default.

    Example:
        >>> two_phases(20), two_phases(300)
        ((2, 18), (100, 200))
    """
    first = epochs // 3
    if epochs < many:
        first = max(1, epochs // 10)
    return first, max(1, epochs - first)
