"""The interface of SupReMix's rows: the inputs of a block of anchors, and their gradient."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Float, Int
from torch import Tensor

from ordinate.options import SupReMixOptions

MIN_SQUARED_NORM = 1e-12  # A mixture that is shorter has no direction: its similarity counts as 0.


class MixtureGradient(NamedTuple):
    """The gradient of a block of anchors for cosines: of anchors with references, and among references."""

    anchors: Float[Tensor, "b m"]  # Gradient for the anchors.
    references: Float[Tensor, "b m"]  # Gradient for the references, the same unless mixtures are detached.
    mixed: slice  # References that are mixed with each other.
    between: Float[Tensor, "w w"] | None  # Gradient for the cosines among those references.


@dataclass(frozen=True)
class MixtureRows(ABC):
    """A block of anchors. They and the references ascend in label."""

    cosine: Float[Tensor, "b m"]  # The kernel overwrites it.
    references: Float[Tensor, "m d"]
    y: Float[Tensor, " b"]
    ref_y: Float[Tensor, " m"]
    self_index: Int[Tensor, " b"] | None
    share: Float[Tensor, "b m"] | None  # Share of the anchor in its Mix-neg.
    bounds: tuple[Int[Tensor, " b"], ...] | None  # Bounds of the window of its Mix-pos, and of its label in it.
    positives: Int[Tensor, " b"]
    lengths: tuple[Float[Tensor, " b"], Float[Tensor, " m"]] | None  # Norms of anchors and references, if some are 0.
    options: SupReMixOptions

    @property
    def temperature(self) -> float:
        """The temperature of the options, in double precision."""
        return float(self.options.temperature)

    @abstractmethod
    def rows(self, coefficients: Float[Tensor, " b"] | None) -> tuple[Float[Tensor, " b"], MixtureGradient | None]:
        """Return the values of the anchors, and the gradient of their weighted sum."""
