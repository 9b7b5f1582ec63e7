"""Ranks end to end behind scikit-learn's interface."""

from dataclasses import field
from typing import TYPE_CHECKING

from torch import Tensor, nn

from ordinate.estimators.linear_ranks import LinearRanks
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.options import OrdinalLoss

if TYPE_CHECKING:
    from ordinate.methods.ordinal import Ordinal

NAMES = {"cross_entropy": "Cross-entropy", "or": "ORCNN", "corn": "CORN", "coral": "CORAL"}


@estimator_dataclass
class OrdinalClassifier(LinearRanks):
    """Classify ranks by an encoder and a linear layer trained together.

    ``"cross_entropy"`` learns the probability of every rank and predicts the likeliest one. ``"or"`` (Niu et al.,
    2016; ORCNN in CLOC's Table 1), ``"corn"`` (Shi et al., 2021) and ``"coral"`` (Cao et al., 2020) learn that of
    lying above each threshold between two ranks and predict, as their papers say, one rank up for every threshold that
    is likelier passed than not. That is the median of :meth:`predict_proba`, the first rank at which its running sum
    reaches one half; the likeliest rank can be another where none has a probability above one half.

    Args:
        loss: ``"cross_entropy"``, ``"or"``, ``"corn"`` or ``"coral"``.
        decision: which rank is predicted from the probabilities: ``"mode"``, ``"median"``, or a matrix (C, C) of costs,
            true by predicted rank; see :func:`~ordinate.decisions.predict_ranks`. None is the paper's: the mode for
            cross-entropy, the median for the others.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> OrdinalClassifier(loss="or", epochs=30, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    loss: OrdinalLoss = "cross_entropy"
    method_: "Ordinal" = field(init=False)

    @property
    def method_name(self) -> str:
        return NAMES[self.loss]

    @property
    def usual_decision(self) -> str:
        return "mode" if self.loss == "cross_entropy" else "median"

    def _probabilities(self, embeddings: Tensor) -> Tensor:
        return self.method_.probabilities(embeddings)

    def _build_method(self, encoder: nn.Module) -> "Ordinal":
        from ordinate.methods.ordinal import Ordinal

        return Ordinal(
            encoder,
            self.embedding_dim_,
            len(self.ordered_classes_),
            loss=self.loss,
            epochs=self._epochs(),
            **self._training_options(),
        )
