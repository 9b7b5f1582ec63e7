"""SupReMix's rows: the twin of ``_TorchRows`` at temperatures for which all similarities are taken below 1.

Real samples and Mix-neg are columns of a block. Mix-pos are pairs of columns, in tiles of a row's window. What they
pass on through their norms is gathered for each tile of pairs from all anchors whose windows hold some of it.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from ordinate.kernels import triton as triton_rows
from ordinate.kernels.mixture_rows import MIN_SQUARED_NORM, MixtureGradient, MixtureRows
from ordinate.kernels.triton import chunk_of, chunks_of

NO_DIRECTION = tl.constexpr(MIN_SQUARED_NORM)
UNSPECIALIZED = ["width", "first", "among"]  # One kernel serves all their values.


@dataclass(frozen=True)
class TritonRows(MixtureRows):
    """Rows of a block of anchors."""

    @torch.compiler.disable
    def rows(self, coefficients: Float[Tensor, " b"] | None) -> tuple[Float[Tensor, " b"], MixtureGradient | None]:
        """Return the values of the anchors, and the gradient of their weighted sum."""
        b, m = self.cosine.shape
        mixed = None if self.bounds is None else _MixPos(self)
        self_index = torch.full_like(self.positives, -1) if self.self_index is None else self.self_index
        share = self.cosine if self.share is None else self.share
        block = share, self.y, self.ref_y, self_index, self.tau, m
        options = self.options
        switches = {
            "MIX": self.share is not None, "MAGNIFY": options.distance_magnifying, "RENORMALIZE": options.renormalize,
            "DETACHED": options.detach_mixtures,
        }  # fmt: skip
        with torch.cuda.device_of(self.cosine):
            sums = self.cosine.new_empty(2, b, chunks_of(m), dtype=torch.float64)
            _sums[b, chunks_of(m)](self.cosine, *sums, *block, **switches, **chunk_of(m))
            denominator, attraction = sums.sum(2) if mixed is None else sums.sum(2) + mixed.sums()
            count = self.positives.clamp(min=1)
            values = denominator.log() + (1 - attraction / count) / self.temperature
            values.masked_fill_(self.positives == 0, 0)
            if coefficients is None:
                return values, None

            push, pull = coefficients / self.temperature / denominator, coefficients / self.temperature / count
            low, forces = (self_index, self.cosine[:, :0]) if mixed is None else (mixed.low, mixed.forces(push, pull))
            between = None
            if mixed is not None and options.renormalize and not options.detach_mixtures:
                between = mixed.through_norms(push, pull)
            references = torch.empty_like(self.cosine) if options.detach_mixtures else self.cosine
            _pulls[b, chunks_of(m)](
                self.cosine, references, push, pull, forces, low, forces.shape[1], *block, **switches, **chunk_of(m)
            )
        return values, MixtureGradient(self.cosine, references, slice(0, 0) if mixed is None else mixed.among, between)

    @cached_property
    def tau(self) -> Float[Tensor, " 1"]:
        """The temperature, for kernels: they would take a number as float32."""
        return self.cosine.new_full((1,), self.temperature)


class _MixPos:
    """The Mix-pos of a block of anchors."""

    def __init__(self, block: TritonRows) -> None:
        assert block.bounds is not None  # noqa: S101
        self.bounds = block.bounds
        self.low, _, _, high = self.bounds
        first, last, self.width = torch.stack([self.low.min(), high.max(), (high - self.low).max()]).tolist()
        self.among = slice(first, last)
        among = block.references[self.among]
        self.cosine, self.samples = block.cosine, len(among)
        self.window = block.cosine, among @ among.T, block.ref_y, block.tau, block.cosine.shape[1], first, len(among)
        self.rows = block.y, *self.bounds
        self.options = {"RENORMALIZE": block.options.renormalize, "TILE": triton_rows.TILE}

    def sums(self) -> Float[Tensor, "2 b"]:
        """Return their terms of the denominators, and their similarities."""
        sums = self.low.new_empty(2, len(self.low), dtype=torch.float64)
        _mix_pos_sums[len(self.low),](*sums, *self.rows, *self.window, **self.options)
        return sums

    def forces(self, push: Float[Tensor, " b"], pull: Float[Tensor, " b"]) -> Float[Tensor, "b w"]:
        """The gradient for the cosines of each anchor's window."""
        forces = self.cosine.new_zeros(len(self.low), self.width)
        _mix_pos_forces[len(self.low),](forces, self.width, push, pull, *self.rows, *self.window, **self.options)
        return forces

    def through_norms(self, push: Float[Tensor, " b"], pull: Float[Tensor, " b"]) -> Float[Tensor, "w w"]:
        """The gradient for the Gram matrix of all that are mixed."""
        between = self.cosine.new_empty(self.samples, self.samples)
        start = torch.arange(self.among.start, self.among.stop, triton_rows.TILE, device=self.low.device)
        end = start + triton_rows.TILE - 1
        low, below_end, above_start, high = self.bounds  # All bounds ascend.
        anchors = [
            torch.searchsorted(bound, edge, right=True)
            for bound, edge in ((below_end, start), (low, end), (high, start), (above_start, end))
        ]
        _mix_pos_norms[len(start), len(start)](between, *anchors, push, pull, *self.rows, *self.window, **self.options)
        return between + between.T


@triton.jit
def _sums(
    cosine, denominator, attraction, share, y, ref_y, self_index, tau, m, MIX: tl.constexpr, MAGNIFY: tl.constexpr,
    RENORMALIZE: tl.constexpr, DETACHED: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    at = part * CHUNK + tl.arange(0, CHUNK)
    x, same, real, mixed, _ = _terms(
        cosine, share, y, ref_y, self_index, tau, m, row, at, MIX, MAGNIFY, RENORMALIZE, DETACHED
    )
    place = row * tl.num_programs(1) + part
    tl.store(denominator + place, tl.sum(real.to(tl.float64) + mixed.to(tl.float64)))
    tl.store(attraction + place, tl.sum(tl.where(same, x, 0).to(tl.float64)))


@triton.jit(do_not_specialize=UNSPECIALIZED)
def _pulls(
    cosine, references, push, pull, forces, low, width, share, y, ref_y, self_index, tau, m, MIX: tl.constexpr,
    MAGNIFY: tl.constexpr, RENORMALIZE: tl.constexpr, DETACHED: tl.constexpr, CHUNK: tl.constexpr,
):  # fmt: skip
    """The gradient for the cosines, in their place, and the part of it that references take from their real terms."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    x, same, real, mixed, slope = _terms(
        cosine, share, y, ref_y, self_index, tau, m, row, at, MIX, MAGNIFY, RENORMALIZE, DETACHED
    )
    pushed, pulled = tl.load(push + row).to(x.dtype), tl.load(pull + row).to(x.dtype)
    gradient = real * pushed - tl.where(same, pulled, 0)
    if DETACHED:
        tl.store(references + row * m + at, gradient, mask=at < m)
    gradient += mixed * slope * pushed
    place = at - tl.load(low + row)
    gradient += tl.load(forces + row * width + place, mask=(place >= 0) & (place < width), other=0)
    tl.store(cosine + row * m + at, gradient, mask=at < m)


@triton.jit
def _terms(
    cosine, share, y, ref_y, self_index, tau, m, row, at, MIX: tl.constexpr, MAGNIFY: tl.constexpr,
    RENORMALIZE: tl.constexpr, DETACHED: tl.constexpr,
):  # fmt: skip
    """Cosines, which are positives, terms of real samples and of Mix-neg, and the slope of the latters' similarity."""
    inside = at < m
    x = tl.load(cosine + row * m + at, mask=inside, other=0)
    difference = tl.load(ref_y + at, mask=inside, other=0) - tl.load(y + row)
    others = inside & (at != tl.load(self_index + row))
    distance = tl.abs(difference).to(x.dtype)
    temperature = tl.load(tau)
    real = tl.exp((x - 1) / temperature)
    mixed, slope = tl.zeros_like(x), tl.zeros_like(x)
    if MAGNIFY:
        real += real * distance
    if MIX:
        s = tl.load(share + row * m + at, mask=inside, other=0)
        rest = 1 - s
        similarity = rest * x + s
        slope = rest
        if RENORMALIZE:
            inverse = _inverse_norm(s, x)
            similarity *= inverse
            slope *= inverse
            if not DETACHED:
                slope -= slope * inverse * s * similarity
        mixed = tl.exp((similarity - 1) / temperature)
        if MAGNIFY:
            mixed += mixed * rest * distance
        mixed = tl.where(inside & (difference != 0), mixed, 0)
    return x, others & (difference == 0), tl.where(others, real, 0), mixed, slope


@triton.jit
def _inverse_norm(share, cosine):
    """Of mixtures of two unit vectors; 0 for one without a direction."""
    squared = 1 + 2 * share * (1 - share) * (cosine - 1)
    lives = squared > NO_DIRECTION
    return tl.where(lives, 1 / tl.sqrt(tl.where(lives, squared, 1)), 0)


@triton.jit(do_not_specialize=UNSPECIALIZED)
def _mix_pos_sums(
    denominator, attraction, y, low, below_end, above_start, high, cosine, gram, ref_y, tau, m, first, among,
    RENORMALIZE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    label, temperature, cosines = tl.load(y + row), tl.load(tau), cosine + row * m
    below_last, above_last = tl.load(below_end + row) - 1, tl.load(high + row) - 1
    terms, similarities = tl.zeros((TILE, TILE), tl.float64), tl.zeros((TILE, TILE), tl.float64)
    for j in range(tl.load(low + row), below_last + 1, TILE):
        for k in range(tl.load(above_start + row), above_last + 1, TILE):
            below, above = j + tl.arange(0, TILE), k + tl.arange(0, TILE)
            exists = (below <= below_last)[:, None] & (above <= above_last)[None, :]
            below, above = tl.minimum(below, below_last), tl.minimum(above, above_last)
            _, similarity, _ = _mixtures(below, above, exists, label, cosines, gram, ref_y, first, among, RENORMALIZE)
            terms += tl.where(exists, tl.exp((similarity - 1) / temperature), 0).to(tl.float64)
            similarities += tl.where(exists, similarity, 0).to(tl.float64)
    tl.store(denominator + row, tl.sum(terms))
    tl.store(attraction + row, tl.sum(similarities))


@triton.jit(do_not_specialize=UNSPECIALIZED)
def _mix_pos_forces(
    forces, width, push, pull, y, low, below_end, above_start, high, cosine, gram, ref_y, tau, m, first, among,
    RENORMALIZE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Compute the gradient of each sample of a window from its mixtures: samples below first, then those above."""
    row = tl.program_id(0).to(tl.int64)
    label, cosines, window = tl.load(y + row), cosine + row * m, forces + row * width
    start, middle, after, end = (
        tl.load(low + row),
        tl.load(below_end + row),
        tl.load(above_start + row),
        tl.load(high + row),
    )
    for j in range(start, middle, TILE):
        below = j + tl.arange(0, TILE)
        total = tl.zeros((TILE,), cosine.dtype.element_ty)
        for k in range(after, end, TILE):
            above = k + tl.arange(0, TILE)
            exists = (below < middle)[:, None] & (above < end)[None, :]
            share, similarity, inverse = _mixtures(
                tl.minimum(below, middle - 1), tl.minimum(above, end - 1), exists,
                label, cosines, gram, ref_y, first, among, RENORMALIZE,
            )  # fmt: skip
            force = _force(similarity, inverse, exists, row, push, pull, tau)
            total += tl.sum(force * share, 1)
        tl.store(window + (below - start), total, mask=below < middle)
    for k in range(after, end, TILE):
        above = k + tl.arange(0, TILE)
        total = tl.zeros((TILE,), cosine.dtype.element_ty)
        for j in range(start, middle, TILE):
            below = j + tl.arange(0, TILE)
            exists = (below < middle)[:, None] & (above < end)[None, :]
            share, similarity, inverse = _mixtures(
                tl.minimum(below, middle - 1), tl.minimum(above, end - 1), exists,
                label, cosines, gram, ref_y, first, among, RENORMALIZE,
            )  # fmt: skip
            force = _force(similarity, inverse, exists, row, push, pull, tau)
            total += tl.sum(force * (1 - share), 0)
        tl.store(window + (above - start), total, mask=above < end)


@triton.jit(do_not_specialize=UNSPECIALIZED)
def _mix_pos_norms(
    between, below_from, below_to, above_from, above_to, push, pull, y, low, below_end, above_start, high, cosine,
    gram, ref_y, tau, m, first, among, RENORMALIZE: tl.constexpr, TILE: tl.constexpr,
):  # fmt: skip
    """Compute, for a tile of pairs, the gradient of the anchors between them through the norms of mixtures."""
    j, k = tl.program_id(0), tl.program_id(1)
    start = tl.maximum(tl.load(below_from + j), tl.load(above_from + k))
    end = tl.minimum(tl.load(below_to + j), tl.load(above_to + k))
    below, above = first + j * TILE + tl.arange(0, TILE), first + k * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), cosine.dtype.element_ty)
    for row in range(start, end):
        is_below = (below >= tl.load(low + row)) & (below < tl.load(below_end + row))
        is_above = (above >= tl.load(above_start + row)) & (above < tl.load(high + row))
        exists = is_below[:, None] & is_above[None, :]
        share, similarity, inverse = _mixtures(
            tl.minimum(below, first + among - 1), tl.minimum(above, first + among - 1), exists,
            tl.load(y + row), cosine + row * m, gram, ref_y, first, among, RENORMALIZE,
        )  # fmt: skip
        force = _force(similarity, inverse, exists, row, push, pull, tau)
        total -= force * similarity * share * (1 - share) * inverse
    below, above = (below - first).to(tl.int64)[:, None], (above - first)[None, :]
    tl.store(between + below * among + above, total, mask=(below < among) & (above < among))


@triton.jit
def _mixtures(below, above, exists, label, cosines, gram, ref_y, first, among, RENORMALIZE: tl.constexpr):
    """Shares of the samples below in each mixture, its similarity to the anchor, and one over its norm."""
    x, z = tl.load(cosines + below)[:, None], tl.load(cosines + above)[None, :]
    down = (label - tl.load(ref_y + below)).to(x.dtype)[:, None]
    up = (tl.load(ref_y + above) - label).to(x.dtype)[None, :]
    share = up / tl.where(exists, up + down, 1)
    similarity = share * x + (1 - share) * z
    inverse = tl.where(exists, tl.full(share.shape, 1, x.dtype), 0)
    if RENORMALIZE:
        place = (below - first).to(tl.int64)[:, None] * among + (above - first)[None, :]
        inverse = _inverse_norm(share, tl.load(gram + place, mask=exists, other=1))
        similarity *= inverse
    return share, similarity, inverse


@triton.jit
def _force(similarity, inverse, exists, row, push, pull, tau):
    """Return the gradient for the similarities before they are divided by the norms."""
    pushed, pulled = tl.load(push + row).to(similarity.dtype), tl.load(pull + row).to(similarity.dtype)
    return tl.where(exists, (tl.exp((similarity - 1) / tl.load(tau)) * pushed - pulled) * inverse, 0)
