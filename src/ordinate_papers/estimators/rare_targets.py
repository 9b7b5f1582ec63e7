"""Balanced MSE and ConR with scikit-learn's interface."""

from dataclasses import field
from typing import ClassVar

from torch import nn

from ordinate.checks import check_choice, check_positive
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.method import Facts
from ordinate.estimators.plain import EndToEndMethod, EndToEndRegressor
from ordinate.heads.linear import REGRESSION_LOSSES
from ordinate.options import BinSize
from ordinate_papers.methods.rare_targets import BalancedMSE, ConR


@estimator_dataclass
class BalancedMSERegressor(EndToEndRegressor):
    """Predict continuous targets, rare ones as well as frequent ones, by Balanced MSE (BMC; Ren et al., CVPR 2022).

    Args:
        noise: Standard deviation of the noise at the start of training, in standard deviations of the targets, > 0. It
            is learned.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> BalancedMSERegressor(epochs=20, random_state=0).fit(X, 10 * X[:, 0]).predict([[0.5]]).shape
        (1,)
    """

    noise: float = 0.5
    loss: str = field(default="mse", init=False)
    bin_size: BinSize = field(default=None, init=False)

    def new_method(self) -> "BalancedMSEMethod":
        return BalancedMSEMethod(self)


@estimator_dataclass
class ConRRegressor(EndToEndRegressor):
    """Predict continuous targets, rare ones as well as frequent ones, with ConR (Keramati et al., ICLR 2024).

    ConR adds a contrastive loss to that of the head. ``imbalance=Imbalance(lds=...)`` gives the weights of rare anchors
    in it. The defaults are the published ones for AgeDB-DIR, converted from years to standard deviations of its ages.

    Args:
        loss: ``"l1"``, ``"mse"`` or ``"huber"``.
        weight: Weight of ConR relative to the head's loss, >= 0.
        window: Largest distance of targets that count as near, in standard deviations of the targets, >= 0.
        push: Growth of the weights of negatives per standard deviation, >= 0.
        temperature: Temperature of the cosines, > 0.

    Example:
        >>> import numpy as np
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> ConRRegressor(epochs=20, random_state=0).fit(X, 10 * X[:, 0]).predict([[0.5]]).shape
        (1,)
    """

    weight: float = 0.25
    window: float = 0.06
    push: float = 0.16
    temperature: float = 0.2
    bin_size: BinSize = field(default=None, init=False)

    def new_method(self) -> "ConRMethod":
        return ConRMethod(self)


class RareTargetMethod(EndToEndMethod):
    """What the two have in common: a regression end to end with options of its own."""

    published_name: ClassVar[str]
    of_module: ClassVar[type[BalancedMSE | ConR]]
    option_names: ClassVar[tuple[str, ...]]

    def __init__(self, estimator: EndToEndRegressor) -> None:
        super().__init__(estimator)
        self.name = self.published_name

    def check(self) -> None:
        super().check()
        check_choice(self.settings.loss, tuple(REGRESSION_LOSSES), "loss")  # The head is linear.
        for name in self.option_names:
            check_positive(getattr(self.settings, name), name, or_zero=name in ("weight", "window", "push"))

    def module(self, encoder: nn.Module, facts: Facts) -> BalancedMSE | ConR:
        module = self.of_module(
            encoder,
            facts.embedding_dim,
            facts.outputs,
            head_loss=self.settings.loss,
            epochs=self.settings.epochs,
            balance=self.balance(facts),
            **{name: getattr(self.settings, name) for name in self.option_names},
            **self.stage_options(facts),
        )
        module.head.standardise(facts.targets)
        return module


class BalancedMSEMethod(RareTargetMethod):
    """How Balanced MSE trains."""

    published_name = "Balanced MSE"
    of_module = BalancedMSE
    option_names = ("noise",)


class ConRMethod(RareTargetMethod):
    """How ConR trains."""

    published_name = "ConR"
    of_module = ConR
    option_names = ("weight", "window", "push", "temperature")
