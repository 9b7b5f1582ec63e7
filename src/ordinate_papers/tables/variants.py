"""Variants of a method that a paper's table measures, and for which no estimator has a setting."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import relu

from ordinate.errors import OrdinateError
from ordinate.estimators.method import Facts
from ordinate.losses import MMNPLoss
from ordinate.methods.cloc import CLOC
from ordinate.methods.supcr import SupCR
from ordinate.methods.supremix import SupReMix
from ordinate.training.staged_method import StagedMethod
from ordinate_papers.tables.run import Settings


class BareMargins(MMNPLoss):
    """Margins without the precautions of CLOC's Section 3.3: a ReLU makes them positive, and they start close to 0."""

    def __init__(self, num_classes: int, **options: Any) -> None:
        super().__init__(num_classes, **options)
        self.raw.data.uniform_(0.0, 0.5)

    @property
    def margins(self) -> Tensor:
        return relu(self.raw) + 1e-6  # The loss needs margins above 0.


def _set_loss(_: Facts, method: SupReMix, options: Settings) -> None:
    """Set options of SupReMix's loss, such as its parts (Table 9)."""
    loss = method.supremix
    for name in options:
        if not hasattr(loss.options, name):
            raise OrdinateError("loss", f"the option {name!r}, which the loss of {type(method).__name__} lacks")
    loss.options = replace(loss.options, **options)


class ProjectedSupCR(SupCR):
    """SupCR with the loss on a projection of the embeddings (SupCR, Table 7)."""

    projection: nn.Module

    def contrast(self, embeddings: Tensor, y: Tensor, weights: Tensor | None = None) -> Tensor:
        return super().contrast(self.projection(embeddings), y, weights)

    def loss_parameters(self) -> list[nn.Parameter]:
        return list(self.projection.parameters())


def _add_projection(facts: Facts, method: SupCR, dimensions: int) -> None:
    """Add a projection head between SupCR's embeddings and its loss."""
    width = facts.embedding_dim
    method.projection = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, dimensions))
    method.__class__ = ProjectedSupCR


def _set_margins(facts: Facts, method: CLOC, margin: float) -> None:
    """Fix all margins at one value (CLOC, Table 4)."""
    ranks = range(facts.outputs)
    options = vars(method.mmnp.options)
    method.mmnp = MMNPLoss(len(ranks), {(low, low + 1): margin for low in ranks[:-1]}, **options)


def _set_stages(_: Facts, method: StagedMethod, count: int) -> None:
    """Train the first stages only (CLOC, Table 4: the end of phase one)."""
    method.stages = method.stages[:count]


def _leave_out_precautions(facts: Facts, method: CLOC, kept: int) -> None:
    """Keep the first precautions of Section 3.3: two are softplus and start, the third is the early stop (Fig. 4)."""
    if kept < 3:
        method.target_accuracy = 2.0  # It is never reached.
    if kept < 2:
        method.mmnp = BareMargins(facts.outputs, **vars(method.mmnp.options))


VARIANTS: Mapping[str, Callable[..., None]] = {
    "loss": _set_loss,
    "projection": _add_projection,
    "margins": _set_margins,
    "stages": _set_stages,
    "precautions": _leave_out_precautions,
}


def varied(kind: type[Any], variants: Settings) -> type[Any]:
    """Return a subclass of an estimator with variants of its method: values by names of :data:`VARIANTS`."""
    method = _varied_method(type(kind().new_method()), variants)

    class Varied(kind):
        def new_method(self) -> Any:
            return method(self)

    Varied.__name__ = kind.__name__
    return Varied


def _varied_method(kind: type[Any], variants: Settings) -> type[Any]:
    """Return a subclass of a method that changes the modules that it builds."""

    class VariedMethod(kind):
        def module(self, encoder: nn.Module, facts: Facts) -> StagedMethod:
            module: StagedMethod = super().module(encoder, facts)
            for name, value in variants.items():
                VARIANTS[name](facts, module, value)
            return module

    return VariedMethod
