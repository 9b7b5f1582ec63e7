"""SupReMix's rows: the twin of ``_TorchRows`` at temperatures for which all similarities are taken below 1.

All work for a row of columns, or for the samples above an anchor, is a loop without branches, so that the processor
takes several columns at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from numpy.typing import NDArray
from torch import Tensor

from ordinate.kernels.mixture_rows import MIN_SQUARED_NORM, MixtureGradient, MixtureRows
from ordinate.kernels.numba import ANY_ORDER, in_threads, own_columns

# The series of exp by powers, the highest first, is enough for float64 up to ln(2) / 2.
TAYLOR = tuple(1 / factorial(n) for n in range(12, -1, -1))

# Of a Mix-pos: the share of the sample below, 1 / norm, the similarity to the anchor, and its exponential.
PART, INVERSE, SIMILARITY, TERM = range(4)


@dataclass(frozen=True)
class NumbaRows(MixtureRows):
    """Rows of a block of anchors."""

    def rows(self, coefficients: Float[Tensor, " b"] | None) -> tuple[Float[Tensor, " b"], MixtureGradient | None]:
        """Return the values of the anchors, and the gradient of their weighted sum."""
        cosine, y, ref_y = self.cosine.numpy(), self.y.numpy(), self.ref_y.numpy()
        bounds = [edge.numpy() for edge in self.bounds or self._no_windows()]
        among = slice(0, 0) if self.bounds is None else slice(int(bounds[0].min()), int(bounds[3].max()))
        gram = (self.references[among] @ self.references[among].T).numpy()
        options, kind = self.options, cosine.dtype.type
        mixing = options.renormalize, kind(1 / self.temperature), kind(MIN_SQUARED_NORM)
        window = gram, ref_y, among.start, *mixing

        gradient = torch.empty_like(self.cosine)
        references = torch.empty_like(gradient) if options.detach_mixtures else gradient
        share = self.cosine[:, :0] if self.share is None else self.share.contiguous()
        count = self.positives.clamp(min=1)
        pull = torch.zeros_like(self.y) if coefficients is None else coefficients / self.temperature
        # Forces on the logarithm of the denominator, and on each similarity.
        forces = torch.stack([pull, pull / count])
        sums = torch.empty_like(forces)
        in_threads(
            _mixture_rows, len(cosine), cosine, share.numpy(), y, *bounds, own_columns(self.self_index, len(cosine)),
            window, options.distance_magnifying, options.detach_mixtures, forces.numpy(), sums.numpy(),
            gradient.numpy(), references.numpy(),
        )  # fmt: skip
        denominator, attraction = sums
        values = denominator.log() + (1 - attraction / count) / self.temperature
        values.masked_fill_(self.positives == 0, 0)
        if coefficients is None:
            return values, None
        between = None
        if options.renormalize and not options.detach_mixtures and len(gram):
            half = np.zeros_like(gram)
            forces[0] /= denominator
            in_threads(_through_norms, len(gram), half, cosine, y, *bounds, window, forces.numpy())
            between = torch.from_numpy(half + half.T)
        return values, MixtureGradient(gradient, references, among, between)

    def _no_windows(self) -> tuple[Int[Tensor, " b"], ...]:
        """Return bounds that hold the labels of the anchors alone."""
        start, end = (torch.searchsorted(self.ref_y, self.y, right=right) for right in (False, True))
        return start, start, end, end


def draw_parts(seeds: Sequence[int], rows: int, m: int, quantiles: Float[Tensor, " q"]) -> Float[Tensor, "n m"]:
    """Draw so many rows from each seed, uniform numbers read between a distribution's quantiles at even steps."""
    drawn = torch.empty(len(seeds), rows, m)

    def draw(start: int, stop: int, numbers: NDArray[np.float32], steps: NDArray[np.float32]) -> None:
        for part in range(start, stop):
            drawn[part].uniform_(generator=torch.Generator().manual_seed(seeds[part]))
            _read_quantiles(numbers[part], steps)

    in_threads(draw, len(seeds), drawn.numpy(), quantiles.numpy())
    return drawn.flatten(0, 1)


@njit(**ANY_ORDER)
def _read_quantiles(uniform, quantiles):
    steps = np.float32(len(quantiles) - 1)
    for i in range(len(uniform)):
        for j in range(uniform.shape[1]):
            place = uniform[i, j] * steps
            below = min(np.int32(place), np.int32(len(quantiles) - 2))  # Rounding may lead to the very end.
            step = place - np.float32(below)
            uniform[i, j] = quantiles[below] + step * (quantiles[below + 1] - quantiles[below])


@njit(**ANY_ORDER)
def _mixture_rows(  # noqa: PLR0912, PLR0915  # One pass, which a call would break.
    start, stop, cosine, share, y, low, below_end, above_start, high, self_index, window, magnify, detached,
    forces, sums, gradient, references,
):  # fmt: skip
    _, ref_y, _, renormalize, per_temperature, vanished = window
    m, kind = len(ref_y), cosine.dtype.type
    zero, one, two = kind(0), kind(1), kind(2)
    mixes = share.shape[1] > 0
    terms, mixed, slope = np.empty(m, cosine.dtype), np.zeros(m, cosine.dtype), np.zeros(m, cosine.dtype)
    distance, rest = np.empty(m, cosine.dtype), np.zeros(m, cosine.dtype)
    mix_pos = np.empty((4, m), cosine.dtype)
    for i in range(start, stop):
        for j in range(m):
            distance[j] = kind(abs(y[i] - ref_y[j])) if magnify else zero
            terms[j] = (one - cosine[i, j]) * per_temperature
        _exponentials(terms)
        if mixes:
            for j in range(m):
                rest[j] = one - share[i, j]
                slope[j] = one + two * share[i, j] * rest[j] * (cosine[i, j] - one)
            for j in range(m):
                inverse = (one / np.sqrt(slope[j]) if slope[j] > vanished else zero) if renormalize else one
                similarity = (rest[j] * cosine[i, j] + share[i, j]) * inverse
                slope[j] = rest[j] * inverse
                if renormalize and not detached:
                    slope[j] *= one - inverse * share[i, j] * similarity
                mixed[j] = (one - similarity) * per_temperature
            _exponentials(mixed)

        # Sum the denominator, and the similarities of the positives.
        itself, denominator, attraction = self_index[i], 0.0, 0.0
        for j in range(below_end[i], above_start[i]):
            mixed[j] = zero  # A Mix-neg has another label than the anchor.
            if j == itself:
                terms[j] = zero
            else:
                attraction += cosine[i, j]
        for j in range(m):
            terms[j] *= one + distance[j]
            mixed[j] *= one + rest[j] * distance[j]
            denominator += terms[j]
            denominator += mixed[j]
        width = max(1, high[i] - above_start[i])
        together = max(1, m // width)  # The mixtures of this many samples below are computed at once.
        for j in range(low[i], below_end[i], together):
            last = min(j + together, below_end[i])
            count = _mix_pos(mix_pos, j, last, y[i], cosine[i], above_start[i], high[i], window)
            for k in range(count):
                denominator += mix_pos[TERM, k]
                attraction += mix_pos[SIMILARITY, k]
        sums[0, i], sums[1, i] = denominator, attraction

        push, pull = kind(forces[0, i] / denominator), kind(forces[1, i])
        for j in range(m):
            terms[j] *= push
        for j in range(below_end[i], above_start[i]):
            if j != itself:
                terms[j] -= pull
        references[i] = terms
        for j in range(m):
            gradient[i, j] = terms[j] + push * mixed[j] * slope[j]
        for j in range(low[i], below_end[i], together):
            last = min(j + together, below_end[i])
            if below_end[i] - low[i] > together:  # The later ones overwrote them.
                _mix_pos(mix_pos, j, last, y[i], cosine[i], above_start[i], high[i], window)
            for below in range(j, last):
                at, total = (below - j) * width, zero
                for k in range(high[i] - above_start[i]):
                    force = (push * mix_pos[TERM, at + k] - pull) * mix_pos[INVERSE, at + k]
                    total += force * mix_pos[PART, at + k]
                    gradient[i, above_start[i] + k] += force * (one - mix_pos[PART, at + k])
                gradient[i, below] += total


@njit(**ANY_ORDER)
def _through_norms(start, stop, half, cosine, y, low, below_end, above_start, high, window, forces):
    """Add, for the samples below, the gradient that passes through the norms of their mixtures with samples above."""
    m, kind, first = cosine.shape[1], cosine.dtype.type, window[2]
    mix_pos = np.empty((4, m), cosine.dtype)
    for i in range(len(y)):
        push, pull, width = kind(forces[0, i]), kind(forces[1, i]), max(1, high[i] - above_start[i])
        together, end = max(1, m // width), min(below_end[i], first + stop)
        for j in range(max(low[i], first + start), end, together):
            last = min(j + together, end)
            _mix_pos(mix_pos, j, last, y[i], cosine[i], above_start[i], high[i], window)
            for below in range(j, last):
                at, above = (below - j) * width, above_start[i] - first
                for k in range(high[i] - above_start[i]):
                    part, inverse = mix_pos[PART, at + k], mix_pos[INVERSE, at + k]
                    force = (pull - push * mix_pos[TERM, at + k]) * inverse * inverse
                    half[below - first, above + k] += force * mix_pos[SIMILARITY, at + k] * part * (kind(1) - part)


@njit(**ANY_ORDER)
def _mix_pos(found, below, last, label, cosine, above, end, window):
    """Describe the mixtures of some samples below an anchor with all above in ``found``, and return their number."""
    gram, ref_y, first, renormalize, per_temperature, vanished = window
    kind = cosine.dtype.type
    zero, one, two = kind(0), kind(1), kind(2)
    at = 0
    for j in range(below, last):
        down = label - ref_y[j]
        for k in range(end - above):
            up = ref_y[above + k] - label
            part = kind(up / (up + down))
            squared = one + two * part * (one - part) * (gram[j - first, above - first + k] - one)
            inverse = (one / np.sqrt(squared) if squared > vanished else zero) if renormalize else one
            similarity = (part * cosine[j] + (one - part) * cosine[above + k]) * inverse
            found[PART, at + k], found[INVERSE, at + k], found[SIMILARITY, at + k] = part, inverse, similarity
            found[TERM, at + k] = (one - similarity) * per_temperature
        at += end - above
    _exponentials(found[TERM, :at])
    return at


@njit(**ANY_ORDER)
def _exponentials(x):
    """Turn each x into exp(-x), a power of 1/2 times a Taylor series; x is at least 0 except for rounding."""
    kind = x.dtype.type
    half, log, per_log = kind(0.5), kind(np.log(2)), kind(1 / np.log(2))
    for j in range(len(x)):
        halved = np.int32(x[j] * per_log + half)
        t = kind(halved) * log - x[j]
        series = kind(TAYLOR[0])
        for power in range(1, len(TAYLOR)):
            series = series * t + kind(TAYLOR[power])
        x[j] = series * kind(np.int64((1023 - np.int64(halved)) << 52).view(np.float64))
