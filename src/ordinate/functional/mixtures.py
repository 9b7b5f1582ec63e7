"""SupReMix's mixtures: the shares of Mix-neg, the pairs of Mix-pos, and the gradient that passes through them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ordinate import kernels
from ordinate.functional.beta_quantiles import beta_quantiles
from ordinate.functional.global_batch import Group, place_among
from ordinate.functional.similarity import SimilarityBlocks, fill_self
from ordinate.kernels.mixture_rows import MIN_SQUARED_NORM, MixtureGradient, MixtureRows

MAX_MIXTURES_AT_ONCE = 1 << 20
ROWS_PER_SEED = 32  # The shares of so many anchors do not depend on the size of a block.
QUANTILES = 4096


class MixtureBlocks(SimilarityBlocks):
    """Cosines of anchors with references, some of which are mixed."""

    def block(self, rows: slice, self_index: Int[Tensor, " b"] | None = None) -> Float[Tensor, "b m"]:
        return fill_self(self.a[rows] @ self.b.T, self_index, -1)

    def add_gradient(self, rows: slice, gradient: MixtureGradient) -> None:
        self.grad_a[rows] = gradient.anchors @ self.b
        self.grad_b.addmm_(gradient.references.T, self.a[rows])
        if gradient.between is not None:
            self.grad_b[gradient.mixed] += gradient.between @ self.b[gradient.mixed]


@dataclass(frozen=True)
class GivenShares:
    """The anchors' shares in their Mix-neg, as given by the caller."""

    neg_mix: Float[Tensor, "n m"]
    order: Int[Tensor, " n"]
    ref_order: Int[Tensor, " m"]

    def of(self, rows: slice, dtype: torch.dtype) -> Float[Tensor, "b m"]:
        return self.neg_mix[self.order[rows]][:, self.ref_order].to(dtype)


@dataclass(frozen=True)
class DrawnShares:
    """Shares drawn from Beta(alpha, beta), row by row from a seed: the same at every call."""

    alpha: float
    beta: float
    m: int
    seed: int
    device: torch.device

    def of(self, rows: slice, dtype: torch.dtype) -> Float[Tensor, "b m"]:
        first = rows.start // ROWS_PER_SEED
        seeds = [(self.seed + part) % 2**63 for part in range(first, -(-rows.stop // ROWS_PER_SEED))]
        quantiles = _beta_quantiles(self.alpha, self.beta).to(self.device)
        if kernels.uses_numba(quantiles):
            from ordinate.kernels.numba.supremix import draw_parts

            drawn = draw_parts(seeds, ROWS_PER_SEED, self.m, quantiles)
        else:
            drawn = torch.cat([self._draw(seed, quantiles) for seed in seeds])
        start = rows.start - first * ROWS_PER_SEED
        return drawn[start : start + rows.stop - rows.start].to(dtype)

    def _draw(self, seed: int, quantiles: Float[Tensor, " q"]) -> Float[Tensor, "r m"]:
        generator = torch.Generator(self.device).manual_seed(seed)
        place = torch.rand(ROWS_PER_SEED, self.m, generator=generator, device=self.device) * (QUANTILES - 1)
        below = place.long().clamp_(max=QUANTILES - 2)  # Rounding may lead to the very end.
        return torch.lerp(quantiles.take(below), quantiles.take(below + 1), place - below)


@lru_cache(maxsize=8)
def _beta_quantiles(alpha: float, beta: float) -> Float[Tensor, " q"]:
    """Return quantiles of a Beta distribution at even steps, between which a uniform number becomes a draw from it.

    The distribution drawn from agrees with Beta at every quantile kept.
    """
    return torch.from_numpy(beta_quantiles(alpha, beta, QUANTILES).astype(np.float32))


def draw_shares(
    beta: Sequence[float], references: Float[Tensor, "m d"], generator: torch.Generator | None, group: Group
) -> DrawnShares:
    """Return shares that follow from one seed, which the generator draws; every process has its own."""
    device = references.device if generator is None else generator.device
    seed = int(torch.randint(2**62, (), generator=generator, device=device))
    return DrawnShares(
        float(beta[0]), float(beta[1]), len(references), seed + (place_among(group) << 48), references.device
    )


@dataclass(frozen=True)
class _Part:
    """Some of the Mix-pos of b anchors: each of up to u samples below with each of up to v samples above."""

    below: Int[Tensor, "b u"]  # Positions among the references.
    above: Int[Tensor, "b v"]
    exists: Bool[Tensor, "b u v"]
    share: Float[Tensor, "b u v"]  # The share lambda_2 of the sample below.
    norm: Float[Tensor, "b u v"]
    similarity: Float[Tensor, "b u v"]  # Similarity to the anchor, 0 where no mixture exists.


class MixPositives:
    """The Mix-pos of a block of anchors, in parts that keep memory small."""

    def __init__(self, block: MixtureRows, lengths: Float[Tensor, " m"] | None) -> None:
        self.y, self.ref_y, self.cosine, self.renormalize = (
            block.y, block.ref_y, block.cosine, block.options.renormalize
        )  # fmt: skip
        self.lengths = lengths  # Norms of the references, if some are 0.
        self.parts: list[_Part] | None = None
        self.among = slice(0, 0)
        if block.bounds is None:
            self.parts = []
            return
        self.low, self.below_end, self.above_start, self.high = block.bounds
        below, above = int((self.below_end - self.low).max()), int((self.high - self.above_start).max())
        if below == 0 or above == 0:
            self.parts = []
            return
        self.below, self.step = below, max(1, MAX_MIXTURES_AT_ONCE // (above * len(self.cosine)))
        self.among = slice(int(self.low.min()), int(self.high.max()))
        mixed = block.references[self.among]
        self.gram = mixed @ mixed.T
        if self.step >= below:
            self.parts = list(self._parts())

    def __iter__(self) -> Iterator[_Part]:
        return self._parts() if self.parts is None else iter(self.parts)

    def _parts(self) -> Iterator[_Part]:
        above, above_exists = _ranges(self.above_start, self.high)
        up = torch.where(above_exists, self.ref_y[above] - self.y[:, None], 1)[:, None, :]
        similarity_above = self.cosine.gather(1, above)[:, None, :]
        for start in range(0, self.below, self.step):
            begin = self.low + start
            below, below_exists = _ranges(begin, torch.minimum(self.below_end, begin + self.step))
            if below.shape[1] == 0:
                return
            exists = below_exists[:, :, None] & above_exists[:, None, :]
            down = torch.where(below_exists, self.y[:, None] - self.ref_y[below], 1)[:, :, None]
            share = (up / (up + down)).to(self.cosine)
            norm = self._norm(share, below, above)
            mixed = share * self.cosine.gather(1, below)[:, :, None] + (1 - share) * similarity_above
            yield _Part(below, above, exists, share, norm, torch.where(exists, mixed / norm, 0))

    def _norm(self, share: Tensor, below: Tensor, above: Tensor) -> Float[Tensor, "b u v"]:
        """Return the norms of the mixtures; infinity for a mixture without a direction: it passes no gradient."""
        if not self.renormalize:
            return torch.ones_like(share)
        cosine = self.gram.take(self._at(below, above))
        squared = 1 + 2 * share * (1 - share) * (cosine - 1)
        if self.lengths is not None:
            squared = squared_norm(squared, share, self.lengths[below][:, :, None], self.lengths[above][:, None, :])
        return torch.where(squared > MIN_SQUARED_NORM, squared, torch.inf).sqrt()

    def _at(self, below: Tensor, above: Tensor) -> Int[Tensor, "b u v"]:
        """Return the place of each pair in the Gram matrix of the mixed samples; any place if there is no pair."""
        width = len(self.gram)
        below, above = ((position - self.among.start).clamp(0, width - 1) for position in (below, above))
        return below[:, :, None] * width + above[:, None, :]

    def through_norm(self, part: _Part, force: Float[Tensor, "b u v"]) -> Float[Tensor, "w w"]:
        """Return the gradient that the norms of mixtures pass to the Gram matrix, for both samples of each pair."""
        through = -force * part.similarity * part.share * (1 - part.share) / part.norm
        pairs = torch.zeros_like(self.gram)
        pairs.view(-1).index_add_(0, self._at(part.below, part.above).flatten(), through.flatten())
        return pairs + pairs.T


def squared_norm(usual: Tensor, share: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """Return the squared norms of mixtures of rows of these norms, 1 or 0; ``usual`` are those of norm 1."""
    return torch.where((first * second).bool(), usual, share.square() * first + (1 - share).square() * second)


def _ranges(start: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
    """Return the positions ``start..end`` of each row, padded to one width, and which of them belong to their row."""
    width = max(0, int((end - start).max()))
    position = start[:, None] + torch.arange(width, device=start.device)
    exists = position < end[:, None]
    return torch.where(exists, position, 0), exists
