"""One stage of training: a name, a number of epochs, how its parameters move, and when it ends early."""

from dataclasses import dataclass

from ordinate.training.optimization import Optimization


@dataclass(frozen=True)
class Stage:
    """One stage of training.

    Args:
        name: Name in the progress bar and the log.
        epochs: Largest number of epochs, at least 1.
        optimization: Optimization of the parameters that it trains.
        patience: The stage ends after this many epochs without a lower
            :attr:`~ordinate.training.staged_method.StagedMethod.monitor`, with the weights of the lowest; None
            trains to the end and keeps the last.

    Example:
        >>> Stage("encoder", epochs=100, optimization=Optimization("adam", 1e-3), patience=10).epochs
        100
    """

    name: str
    epochs: int
    optimization: Optimization
    patience: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epochs", int(self.epochs))  # A checkpoint holds no numbers of NumPy.
