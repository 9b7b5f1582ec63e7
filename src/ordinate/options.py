"""The values of string options, and the options of the losses: each is declared, checked and explained here alone.

Nothing here imports torch, so that the command line can use it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from ordinate.checks import check_choice, check_num_classes, check_positive, check_whole
from ordinate.errors import OrdinateError
from ordinate.extensions import added_heads

if TYPE_CHECKING:
    from torch import Tensor

Similarity = Literal["neg_l2", "neg_l1", "cosine"]
LabelDistanceName = Literal["l1", "l2", "angular"]
LabelDistance = LabelDistanceName | Callable[["Tensor", "Tensor"], "Tensor"]
Reduction = Literal["mean", "sum", "none"]
PairReduction = Literal["pair_mean", "published", "sum", "none"]
Scheme = Literal["linear_probe", "fine_tune", "regularise"]
LinearLoss = Literal["l1", "mse", "huber"]
BinSize = float | Sequence[float] | None
Monitored = Literal["loss", "accuracy"]
OptimizerName = Literal["adam", "adamw", "sgd"]
Schedule = Literal["cosine", "constant"]
Precision = Literal["32-true", "16-mixed", "bf16-mixed"]
OptimizationName = Literal["usual", "paper"]
Activation = Literal["relu", "silu", "gelu", "tanh"]


def head_losses() -> tuple[str, ...]:
    """Return the names of the losses that train a head of continuous targets: the core's and those of extensions."""
    return (*get_args(LinearLoss), *added_heads())


def check_optimizer(optimizer: object) -> None:
    """Raise an error for what is neither a name nor makes optimizers."""
    if isinstance(optimizer, str):
        check_choice(optimizer, get_args(OptimizerName), "optimizer")
    elif not callable(optimizer):
        names = ", ".join(map(repr, get_args(OptimizerName)))
        expected = f"{names}, or what makes an optimizer of parameters, such as torch.optim.RAdam"
        raise OrdinateError("optimizer", type(optimizer).__name__, expected)


@dataclass(frozen=True, kw_only=True)
class SupCROptions:
    """Options of the SupCR loss (Rank-N-Contrast).

    Args:
        temperature: Temperature tau of the softmax, > 0; 2.0 in the paper.
        similarity: Similarity of embeddings: ``"neg_l2"`` (the paper's), ``"neg_l1"`` or ``"cosine"``.
        label_distance: Distance of labels: ``"l1"`` (the paper's), ``"l2"``, ``"angular"`` for (pitch, yaw) in radians,
            or a callable of (n, p) and (m, p) labels that returns (n, m) distances.
        num_positives: Number K of the closest samples that are positives (Table 13), samples that tie with the K-th
            included; None takes all samples.
        tie_tolerance: Largest difference of two label distances that count as equal. Labels such as 0.1 k lose their
            ties to rounding; 0 compares floats as they are.
        reduction: ``"mean"`` for the weighted mean over anchors, ``"sum"``, or ``"none"`` for one value per anchor.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.

    Example:
        >>> SupCROptions(similarity="cosine").temperature
        2.0
    """

    temperature: float = 2.0
    similarity: Similarity = "neg_l2"
    label_distance: LabelDistance = "l1"
    num_positives: int | None = None
    tie_tolerance: float = 0.0
    reduction: Reduction = "mean"
    block_size: int | None = None

    def __post_init__(self) -> None:
        check_temperature(self.temperature)
        check_choice(self.similarity, get_args(Similarity), "similarity")
        if not callable(self.label_distance):
            check_choice(self.label_distance, get_args(LabelDistanceName), "label_distance")
        if self.num_positives is not None:
            check_whole(self.num_positives, "num_positives")
        check_positive(self.tie_tolerance, "tie_tolerance", or_zero=True)
        check_choice(self.reduction, get_args(Reduction), "reduction")
        check_block_size(self.block_size)


@dataclass(frozen=True, kw_only=True)
class MMNPOptions:
    """Options of the multi-margin n-pair loss (CLOC).

    Args:
        floor: Value rho of eq. 1 that learned margins stay above; fixed margins must not lie below it.
        shared: Whether all boundaries learn a single margin (Table 4, ablation 2).
        reduction: ``"pair_mean"`` averages over an anchor's (positive, negative) pairs, then over the anchors
            that have one, weighted; ``"published"``, the reduction of the authors' code, divides an anchor's pair mean
            by its number of negatives as well; ``"sum"`` is eq. 2, summed over pairs, times the weight, averaged over
            all n anchors; ``"none"`` is eq. 2 times the weight for each anchor, 0 for one that has no pair.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.

    Example:
        >>> MMNPOptions(reduction="sum").floor
        0.0
    """

    floor: float = 0.0
    shared: bool = False
    reduction: PairReduction = "pair_mean"
    block_size: int | None = None

    def __post_init__(self) -> None:
        check_positive(self.floor, "floor", or_zero=True)
        check_choice(self.reduction, get_args(PairReduction), "reduction")
        check_block_size(self.block_size)


@dataclass(frozen=True, kw_only=True)
class SupReMixOptions:
    r"""Options of the SupReMix loss.

    Args:
        window: Largest difference gamma > 0, inclusive, between an anchor's label and the labels that its Mix-pos are
            made of; differences that pass it by rounding, 1e-6 of it, lie inside.
        temperature: Temperature tau of the softmax, > 0; 0.3 to 1.0 in the paper (Table 13).
        beta: Parameters (alpha, beta) of the Beta distribution of :math:`\lambda_1`; (2, 8) is the paper's best
            (Table 11).
        mix_negatives: Whether anchors are contrasted with Mix-neg; with the next two, the paper's three parts
            (Tables 9, 10).
        mix_positives: Whether anchors have Mix-pos as positives.
        distance_magnifying: Whether eq. 5 weighs the contrasts.
        label_range: Range y_max - y_min of eq. 5; None takes the range of the batch and its references (1 where all
            labels are equal). A constant factor of all weights: it moves the value, not the gradient.
        renormalize: Whether mixtures get unit norm, as in the paper's text but not in its later code.
        detach_mixtures: Whether no gradient passes into mixtures, as in the paper's later code.
        reduction: ``"sum"`` is eq. 6; ``"mean"`` averages over an anchor's positives, then over the anchors that have
            one, so that its size does not depend on the batch; ``"none"`` is that average for each anchor, 0 for one
            that has no positive.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.

    Example:
        >>> SupReMixOptions(window=3.0).temperature
        0.2
    """

    window: float
    temperature: float = 0.2
    beta: Sequence[float] = (2.0, 8.0)
    mix_negatives: bool = True
    mix_positives: bool = True
    distance_magnifying: bool = True
    label_range: float | None = None
    renormalize: bool = True
    detach_mixtures: bool = False
    reduction: Reduction = "mean"
    block_size: int | None = None

    def __post_init__(self) -> None:
        check_temperature(self.temperature)
        check_positive(self.window, "window")
        if not isinstance(self.beta, tuple | list) or len(self.beta) != 2:
            raise OrdinateError("beta", repr(self.beta), "the two parameters of a Beta distribution")
        for value in self.beta:
            check_positive(value, "beta")
        if self.label_range is not None:
            check_positive(self.label_range, "label_range")
        check_choice(self.reduction, get_args(Reduction), "reduction")
        check_block_size(self.block_size)


@dataclass(frozen=True, kw_only=True)
class AngularTriangleOptions:
    """Options of the loss of the ordinal triplet network (OTD).

    Args:
        num_classes: Number C of ranks, at least 2.
        reduction: ``"mean"`` over triplets (eq. 5), ``"sum"`` over triplets, or ``"none"``: for each anchor the mean
            over its triplets, 0 for one that has none.
        block_size: Number of anchors per block, which bounds the memory; None chooses it.

    Example:
        >>> AngularTriangleOptions(num_classes=5).reduction
        'mean'
    """

    num_classes: int
    reduction: Reduction = "mean"
    block_size: int | None = None

    def __post_init__(self) -> None:
        check_num_classes(self.num_classes)
        check_choice(self.reduction, get_args(Reduction), "reduction")
        check_block_size(self.block_size)


def check_temperature(temperature: float, most: float = 1e18) -> None:
    """Raise where a temperature is not positive, or so large that sums of similarities leave the range of float32."""
    check_positive(temperature, "temperature", most=most)


def check_block_size(block_size: int | None) -> None:
    """Raise where a number of anchors per block cannot be used."""
    if block_size is not None:
        check_whole(block_size, "block_size")
