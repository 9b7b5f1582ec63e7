"""OTD with scikit-learn's interface."""

from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ordinate.checks import check_choice, check_whole
from ordinate.data.modality import Reader
from ordinate.data.rows import random_part_of_ranks
from ordinate.data.samplers import RankBatches
from ordinate.estimators.defaults import defaults_of
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted, fewer_epochs
from ordinate.estimators.rank_classifier import RankClassifier, RankMethod
from ordinate.estimators.target_regressor import MOST_EMBEDDED
from ordinate.functional.similarity import unit
from ordinate.heads.neighbours import NeighbourVote
from ordinate.heads.ranks import Temperature, VoteProbabilities
from ordinate.option_group import Settings
from ordinate.options import Monitored, Similarity

if TYPE_CHECKING:
    from ordinate.data.options import DataOptions
    from ordinate.methods.otd import OTD


@estimator_dataclass
class OTDClassifier(RankClassifier):
    """Classify ranks by OTD: they are spread evenly over a half circle, and the nearest embeddings there vote.

    Args:
        n_neighbors: Number of training embeddings, nearest by cosine, that vote for a rank; 3 in the paper's Table 2.
            Equally near ones count equally: those as near as the last share its vote. One more vote is spread over all
            ranks, so that no probability is 0.
        epochs: Epochs of training; None for 300, or as many as 3000 batches make if that is fewer.
        by_rank: Whether every rank of a batch counts the same; False for eq. 5, the plain mean over all triplets, in
            which the triplets within a rank grow with the cube of its size.
        monitored: Value by which ``patience`` chooses the best epoch: ``"loss"`` or, as in the paper, ``"accuracy"``
            of the 3 nearest training embeddings on the validation samples.
        ends_in_relu: Whether the embedding ends in ReLU, as in the paper's Table 3. Cosines are then >= 0, so that
            no two ranks can be farther apart than half of the distance that the extreme ones should have.

    Example:
        >>> import numpy as np
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> OTDClassifier(epochs=20, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    n_neighbors: int = 9
    epochs: int | None = None
    by_rank: bool = True
    monitored: Monitored = "loss"
    ends_in_relu: bool = False

    def new_method(self) -> "OTDMethod":
        return OTDMethod(self)


class OTDMethod(RankMethod):
    """How OTD trains: all triplets of batches that hold both extreme ranks."""

    name = "OTD"
    settings: OTDClassifier

    def similarity(self, fitted: Fitted) -> Similarity:
        return "cosine"

    def check(self) -> None:
        super().check()
        check_choice(self.settings.monitored, get_args(Monitored), "monitored")
        check_whole(self.settings.n_neighbors, "n_neighbors")
        if self.settings.epochs is not None:
            check_whole(self.settings.epochs, "epochs")

    def weight_decay(self, reader: Reader) -> float:
        if defaults_of(reader).weight_decay is not None or reader.numbers_only:
            return super().weight_decay(reader)
        return 10.0

    def batches(self, targets: NDArray[np.int64], batch_size: int, seed: int) -> RankBatches:
        last = self.labels.outputs - 1
        return RankBatches(targets, batch_size, required={0: 1, last: 2}, seed=seed)

    def encoder(self, reader: Reader, options: "DataOptions | None", saved: Settings | None = None) -> nn.Module:
        encoder = super().encoder(reader, options, saved)
        if self.settings.ends_in_relu:
            encoder.register_forward_hook(rectified)  # Whatever the encoder is, its weights keep their names.
        return encoder

    def module(self, encoder: nn.Module, facts: Facts) -> "OTD":
        from ordinate.methods.otd import OTD

        settings = self.settings
        return OTD(
            encoder,
            facts.outputs,
            epochs=settings.epochs or fewer_epochs(300, 3000, facts.n_batches),
            by_rank=settings.by_rank,
            monitored=settings.monitored,
            **self.stage_options(facts),
        )

    def predictor(self, fitted: Fitted) -> nn.Module:
        fitted.module.seen.clear()

        def scores(trained: Fitted, embeddings: Tensor) -> Tensor:
            return VoteProbabilities(self.vote(trained), Temperature()).scores(embeddings)

        temperature = self.temperature(fitted, scores) or Temperature()
        return VoteProbabilities(self.vote(fitted), temperature)

    def vote(self, fitted: Fitted) -> NeighbourVote:
        """Return the vote of the nearest training embeddings, rounded as a saved model holds them."""
        training, k = fitted.training, int(self.settings.n_neighbors)
        rows = random_part_of_ranks(training.y.numpy(), MOST_EMBEDDED, k)
        embeddings = unit(fitted.embed_rows(training.x, rows)).float().double()
        classes = self.labels.outputs
        return NeighbourVote(embeddings, training.y[rows], classes, k, training.weights_of(rows))


def rectified(_: nn.Module, __: tuple[Tensor, ...], embeddings: Tensor) -> Tensor:
    """Return the output of an encoder behind ReLU; a forward hook of the encoder."""
    return embeddings.relu()
