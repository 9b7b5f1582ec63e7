"""What the options of all kinds of data have in common."""

from typing import Self

from ordinate.option_group import OptionGroup


class DataOptions(OptionGroup):
    """How an estimator reads one kind of data: the parameter ``data`` of estimators.

    Attributes:
        frozen: Whether such weights stay as they are.
        workers: Number of processes that read.
    """

    frozen: bool = False
    workers: int = 2

    @property
    def brings_weights(self) -> bool:
        """Whether the encoders of this kind of data start from weights that were learned elsewhere."""
        return False

    @property
    def starts_anew(self) -> bool:
        """Whether all that is trained of a network of the library starts from random weights."""
        return not self.brings_weights

    def with_part(self, train_encoder: int | str | None) -> Self:
        """Return the options for an encoder that is trained in such a part."""
        return self

    def check_part(self, train_encoder: int | str | None) -> None:
        """Raise an error if an encoder of this data cannot be trained in such a part."""
