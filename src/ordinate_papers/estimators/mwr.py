"""MWR with scikit-learn's interface."""

import torch
from torch import nn

from ordinate.checks import check_whole
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts, Fitted
from ordinate.estimators.rank_classifier import RankClassifier
from ordinate_papers.estimators.rank_method import TwoRankMethod
from ordinate_papers.methods.mwr import MWR, MovingWindow, choose_references


@estimator_dataclass
class MWRClassifier(RankClassifier):
    """Classify ranks by MWR: a sample's place between two references, in a window that moves until it holds it.

    :class:`~ordinate_papers.methods.mwr.MWR` and :class:`~ordinate_papers.methods.mwr.MovingWindow` say what the paper
    determines, and what the probabilities are. The search for a sample's rank, with the training embeddings and
    references, is ``predictor_``.

    Args:
        n_references: Number of pairs of training samples for each window, whose estimates are averaged; the paper's
            global regressor has 1.
        epochs: Epochs of training; None for 300, or as many as 3000 batches make if that is fewer.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> y = np.digitize(X[:, 0], [0.3, 0.7])
        >>> MWRClassifier(epochs=60, random_state=0).fit(X, y).predict([[0.1], [0.9]]).tolist()
        [0, 2]
    """

    n_references: int = 5
    epochs: int | None = None

    def new_method(self) -> "MWRMethod":
        return MWRMethod(self)


class MWRMethod(TwoRankMethod):
    """How MWR trains."""

    name = "MWR"
    settings: MWRClassifier

    def check(self) -> None:
        super().check()
        check_whole(self.settings.n_references, "n_references")

    def module(self, encoder: nn.Module, facts: Facts) -> MWR:
        return MWR(encoder, facts.embedding_dim, epochs=self.epochs(facts), **self.stage_options(facts))

    def predictor(self, fitted: Fitted) -> nn.Module:
        regressor, ranks = fitted.module.regressor, fitted.training.y
        embeddings = fitted.embed(fitted.training.x).float().double()  # Saved models use float32.
        references = choose_references(regressor, embeddings, ranks, self.settings.n_references)
        search = MovingWindow(regressor, embeddings, ranks, self.labels.outputs, references)
        search.error = torch.tensor(search.training_error(), dtype=torch.float32).item()
        return search
