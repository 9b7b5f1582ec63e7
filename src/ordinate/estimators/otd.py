"""OTD behind scikit-learn's interface."""

from dataclasses import field
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.data.rows import random_part_of_ranks
from ordinate.data.samplers import RankBatches
from ordinate.data.training_batches import ArrayBatches, ViewBatches
from ordinate.estimators.embedding_estimator import MOST_EMBEDDED
from ordinate.estimators.linear_ranks import LinearRanks
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.voting import NEIGHBOURS, VotingClassifier
from ordinate.functional.inputs import check_choice
from ordinate.functional.similarity import unit
from ordinate.methods.imbalance import Imbalance
from ordinate.options import Monitored

if TYPE_CHECKING:
    from ordinate.methods.otd import OTD

DECAY = 10.0  # of tables with categories, series and text


@estimator_dataclass
class OTDClassifier(LinearRanks, VotingClassifier):
    """Classify ranks by OTD: they are spread evenly over a half circle, and the nearest neighbours vote.

    Args:
        n_neighbors: training embeddings, nearest by cosine, that vote, 3 in the paper's Table 2; by default 9 for
            tables, otherwise as many, 3 to 61, as predict training samples best, each without itself, by the ranked
            probability score.
        by_rank: let every rank of a batch count the same; False for eq. 5, the plain mean over all triplets, of which
            large ranks have their size's cube.
        monitored: what the best epoch of ``patience`` is chosen by, ``"loss"`` or, as in the paper, ``"accuracy"``,
            that of the 3 nearest training embeddings, on the validation samples.
        ends_in_relu: end the embedding in ReLU, as the paper's Table 3 has it. Cosines are then 0 or more, so that no
            two ranks can be farther apart than half of what the extreme ones are to be.
        imbalance: what to do about rare ranks: :class:`~ordinate.methods.imbalance.Imbalance` with LDS, whose weights
            replace equal ones for all ranks, or RankSim, not FDS; None does nothing. Of few ranks, kernel_size=1 weighs
            each by its own number of samples.
        weight_decay: by default 3 for a table of numbers alone, 0.05 for images and volumes and 10 otherwise.

    Attributes:
        neighbours_: the training embeddings that vote, of at most 50,000 samples.

    Example:
        >>> import numpy as np
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> OTDClassifier(epochs=20, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    by_rank: bool = True
    monitored: Monitored = "loss"
    ends_in_relu: bool = False
    imbalance: Imbalance | None = None
    method_: "OTD" = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.monitored, get_args(Monitored), "monitored")

    def _new_encoder(self, *, for_saved_weights: bool = False) -> nn.Module:
        encoder = super()._new_encoder(for_saved_weights=for_saved_weights)
        if self.ends_in_relu:
            encoder.register_forward_hook(rectified)  # whatever the encoder is, its weights keep their names
        return encoder

    def _build_method(self, encoder: nn.Module) -> "OTD":
        from ordinate.methods.otd import OTD

        return OTD(
            encoder,
            len(self.ordered_classes_),
            epochs=self._epochs(),
            by_rank=self.by_rank,
            monitored=self.monitored,
            balance=self._balance(),
            **self._training_options(),
        )

    def _weight_decay(self) -> float:
        usual = self.reader_.weight_decay is not None or self.reader_.numbers_only
        return super()._weight_decay() if usual or self.weight_decay is not None else DECAY

    def _batches(self, targets: NDArray[np.int64], seed: int) -> RankBatches:
        return RankBatches(
            targets, self._samples_per_batch, required={0: 1, len(self.ordered_classes_) - 1: 2}, seed=seed
        )

    def _finish(self, training: ArrayBatches | ViewBatches, validation: ArrayBatches | None) -> None:
        self.method_.seen.clear()
        rows = random_part_of_ranks(
            training.y.numpy(), MOST_EMBEDDED, self.n_neighbors or self.reader_.n_neighbors or max(NEIGHBOURS)
        )
        weights = None if training.weights is None else training.weights[rows]
        self._set_neighbours(unit(self._embed_rows(training.x, rows)), training.y[rows], weights)


def rectified(_: nn.Module, __: tuple[Any, ...], embeddings: Tensor) -> Tensor:
    """Return the output of an encoder, a forward hook of which this is, behind ReLU."""
    return embeddings.relu()
