"""The options of a regressor's head. Imports no PyTorch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ordinate.checks import check_choice, check_positive, check_whole
from ordinate.option_group import OptionGroup
from ordinate.options import BinSize, head_losses

HeadKind = Literal["auto", "linear", "ridge", "neighbours"]


@dataclass(frozen=True, repr=False)
class Head(OptionGroup):
    """What predicts continuous targets from embeddings.

    Args:
        kind: ``"linear"`` (trained by ``loss``), ``"ridge"``, ``"neighbours"``, or ``"auto"``: ridge regression, unless
            neighbours predict the validation samples better by more than a standard error. With a loss on bins, and
            where the encoder is trained with the head, a linear head is a third candidate. Ridge regression and
            neighbours see at most 50,000 training samples; neighbours are near by the similarity of the loss.
        loss: ``"l1"``, ``"mse"`` or ``"huber"``, or on bins of the targets ``"dex"``, ``"dldl_v2"``, ``"or"`` or
            ``"corn"`` of the papers' package, or a loss of another extension.
        n_neighbors: Number of training embeddings whose targets the head ``"neighbours"`` averages, by the inverse of
            their distance.
        bin_size: Size of the bins of heads on bins in units of y, one number or one per dimension; None for the
            smallest difference between two targets, or the size that makes 128 bins if that is larger.

    Raises:
        OrdinateError: An option is not one of these.

    Example:
        >>> Head("linear", loss="huber")
        Head(kind='linear', loss='huber')
    """

    kind: HeadKind = "auto"
    loss: str = "l1"
    n_neighbors: int = 5
    bin_size: BinSize = None

    def __post_init__(self) -> None:
        check_choice(self.kind, get_args(HeadKind), "kind")
        check_choice(self.loss, head_losses(), "loss")
        object.__setattr__(self, "n_neighbors", check_whole(self.n_neighbors, "n_neighbors"))
        if self.bin_size is None:
            return
        if isinstance(self.bin_size, list):  # JSON and TOML have no tuples.
            object.__setattr__(self, "bin_size", tuple(self.bin_size))
        sizes = self.bin_size
        if not isinstance(sizes, Sequence):
            sizes = [sizes]
        for size in sizes:
            check_positive(size, "bin_size")
