"""SupReMix's loss as a module."""

from jaxtyping import Float, Int, Shaped
from torch import Generator, Tensor, nn

from ordinate.functional import supremix
from ordinate.functional.global_batch import joined_processes
from ordinate.functional.supremix import check_supremix_options
from ordinate.losses.settings import shown


class SupReMixLoss(nn.Module):
    """Contrastive regression with mixtures; options as in :func:`ordinate.functional.supremix`.

    In several processes it is the loss of their joined batches, unless ``gather_distributed`` is False.

    Example:
        >>> import torch
        >>> loss = SupReMixLoss(temperature=0.5, window=3.0)
        >>> loss(torch.randn(8, 4), torch.arange(8.0)).shape
        torch.Size([])
    """

    def __init__(
        self,
        *,
        temperature: float,
        window: float,
        beta: tuple[float, float] = (2.0, 8.0),
        mix_negatives: bool = True,
        mix_positives: bool = True,
        distance_magnifying: bool = True,
        label_range: float | None = None,
        renormalize: bool = True,
        detach_mixtures: bool = False,
        reduction: str = "sum",
        block_size: int | None = None,
        gather_distributed: bool = True,
    ) -> None:
        super().__init__()
        check_supremix_options(
            temperature=temperature,
            window=window,
            beta=beta,
            label_range=label_range,
            reduction=reduction,
            block_size=block_size,
        )
        self.temperature = temperature
        self.window = window
        self.beta = beta
        self.mix_negatives = mix_negatives
        self.mix_positives = mix_positives
        self.distance_magnifying = distance_magnifying
        self.label_range = label_range
        self.renormalize = renormalize
        self.detach_mixtures = detach_mixtures
        self.reduction = reduction
        self.block_size = block_size
        self.gather_distributed = gather_distributed

    def extra_repr(self) -> str:
        return shown(
            self, "temperature", "window", "beta", "mix_negatives", "mix_positives", "distance_magnifying",
            "label_range", "renormalize", "detach_mixtures", "reduction", "block_size", "gather_distributed",
        )  # fmt: skip

    def forward(
        self,
        embeddings: Float[Tensor, "n d"],
        labels: Shaped[Tensor, " n"],
        ref_emb: Float[Tensor, "m d"] | None = None,
        ref_labels: Shaped[Tensor, " m"] | None = None,
        weights: Float[Tensor, " n"] | None = None,
        own: Int[Tensor, " n"] | None = None,
        generator: Generator | None = None,
    ) -> Float[Tensor, "*n"]:
        return supremix(
            embeddings,
            labels,
            temperature=self.temperature,
            window=self.window,
            beta=self.beta,
            generator=generator,
            mix_negatives=self.mix_negatives,
            mix_positives=self.mix_positives,
            distance_magnifying=self.distance_magnifying,
            label_range=self.label_range,
            renormalize=self.renormalize,
            detach_mixtures=self.detach_mixtures,
            ref_emb=ref_emb,
            ref_labels=ref_labels,
            weights=weights,
            reduction=self.reduction,
            own=own,
            group=joined_processes(self.gather_distributed, ref_emb, own),
            block_size=self.block_size,
        )
