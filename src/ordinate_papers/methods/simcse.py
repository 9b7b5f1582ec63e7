"""Supervised SimCSE (Gao et al., 2021) on pairs of texts whose scores are cut in two, as SupReMix's C.1 has it."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.functional.anchor_blocks import rows_of
from ordinate.functional.numerics import weighted_mean
from ordinate.functional.similarity import unit


class SentencePairLoss(nn.Module):
    """The loss of single texts: the first of a pair must be closest to its own second text among all of a batch.

    With u and v the vectors of the texts of a pair, and s their cosine, the mean over positive pairs i of

        -log exp(s(u_i, v_i) / tau) / sum_j exp(s(u_i, v_j) / tau).

    The second texts of pairs that are not positive are negatives, that of a positive pair's own others included. The
    embeddings are the features of pairs (u, v, |u - v|, u * v), of which the first half is used.

    Args:
        temperature: Temperature tau of the softmax.

    Example:
        >>> import torch
        >>> u, v = torch.eye(3), torch.eye(3)
        >>> pairs = torch.cat([u, v, (u - v).abs(), u * v], dim=1)
        >>> round(SentencePairLoss(1.0)(pairs, torch.tensor([True, True, False])).item(), 4)
        0.5514
    """

    def __init__(self, temperature: float) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(
        self, embeddings: Float[Tensor, "n d"], positive: Bool[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        if not positive.any() or len(embeddings) < 2:
            raise OrdinateError(
                "labels", f"{int(positive.sum())} positive of {counted(len(positive), 'pair')}", "one and another"
            )
        width = embeddings.shape[1] // 4
        scores = unit(embeddings[:, :width]) @ unit(embeddings[:, width : 2 * width]).T / self.temperature
        values = -scores.log_softmax(dim=1).diagonal()[positive]
        return weighted_mean(values, rows_of(weights, positive))
