"""MWR, moving window regression: where a sample lies between two references, in a window that moves to it."""

from contextlib import suppress

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from ordinate.checks import check_whole
from ordinate.errors import OrdinateError
from ordinate.functional.anchor_blocks import rows_of
from ordinate.functional.inputs import check_ranks
from ordinate.functional.numerics import accumulation_dtype, to_accumulation_dtype, weighted_mean
from ordinate.functional.similarity import pairwise_similarity
from ordinate.heads.linear import HeadConfig
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Stage, StagedMethod
from ordinate_papers.methods.rank_probabilities import probabilities_around


class MWR(StagedMethod):
    """Encoder and a regressor of relative ranks (Shin, Lee, Kim, CVPR 2022).

    The relative rank of a sample in the window between two references is -1 at or below the lower one, 1 at or above
    the higher one, and linear between them. The regressor predicts it from the three embeddings; the loss is the mean
    squared error.

    The paper's: relative ranks, a regressor of two hidden layers and tanh on the concatenated embeddings, the squared
    error, Adam with 1e-4, and the search of :class:`MovingWindow`. Chosen: windows are arithmetic, from one rank below
    to one above (the paper's geometric ones are for ages, and rank 0 has no logarithm); a sample's windows are drawn
    evenly; each sample is drawn into several triplets of its batch, which costs no pass of the encoder. Left out: the
    local regressors, each for a range of ages (with a few ranks a window spans most of them), and dropout in the
    regressor.

    In several processes each draws triplets of its own samples, which must be of two ranks.

    Args:
        triplets: Number of triplets that are drawn for each sample of a batch.
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        *,
        triplets: int = 8,
        epochs: int = 300,
        patience: int | None = None,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adam", 1e-4, 0.0, schedule="constant", warmup=0.0),
    ) -> None:
        super().__init__((Stage("triplets", epochs, optimization, patience),), chunk_size)
        self.encoder = encoder
        self.regressor = RelativeRankRegressor(embedding_dim)
        self.triplets = check_whole(triplets, "triplets")

    def as_labels(self, y: Tensor) -> Int[Tensor, " n"]:
        return check_ranks(y, len(y), int(y.max()) + 1)

    def batch_loss(
        self, x: Tensor, y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        return self.loss(self.embed(x), y, draw_triplets(y, self.triplets), weights)

    def loss(
        self,
        embeddings: Float[Tensor, "n d"],
        y: Int[Tensor, " n"],
        triplets: Int[Tensor, "t 3"],
        weights: Float[Tensor, " n"] | None = None,
    ) -> Float[Tensor, ""]:
        """Return the mean squared error over triplets (lower reference, higher reference, sample), by their samples."""
        low, high, sample = triplets.unbind(1)
        wanted = relative_rank(y[sample], y[low], y[high])
        estimates = self.regressor(embeddings[low], embeddings[high], embeddings[sample])
        errors = mse_loss(estimates, wanted.to(embeddings), reduction="none")
        return weighted_mean(errors, rows_of(weights, sample))

    def validate_embeddings(
        self, x: Float[Tensor, "n d"], y: Int[Tensor, " n"], weights: Float[Tensor, " n"] | None = None
    ) -> dict[str, Tensor]:
        generator = torch.Generator(y.device).manual_seed(0)  # The triplets are the same after every epoch.
        with suppress(OrdinateError):  # A validation set with one rank has no window.
            return {"val_loss": self.loss(x, y, draw_triplets(y, self.triplets, generator), weights)}
        return {}


class RelativeRankRegressor(nn.Module):
    """From the embeddings of two references and a sample to its relative rank between them.

    Example:
        >>> RelativeRankRegressor(4)(torch.zeros(2, 4), torch.zeros(2, 4), torch.zeros(2, 4)).shape
        torch.Size([2])
    """

    def __init__(self, embedding_dim: int) -> None:
        super().__init__()
        width = 2 * embedding_dim
        self.layers = nn.Sequential(
            nn.Linear(3 * embedding_dim, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1),
            nn.Tanh(),
        )  # fmt: skip

    def forward(
        self, lower: Float[Tensor, "n d"], higher: Float[Tensor, "n d"], x: Float[Tensor, "n d"]
    ) -> Float[Tensor, " n"]:
        return self.layers(torch.cat([lower, higher, x], dim=1))[:, 0]


def relative_rank(ranks: Int[Tensor, " n"], lower: Int[Tensor, " n"], higher: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return where ranks lie in windows: -1 at the lower rank or below, 1 at the higher or above, linear between.

    Raises:
        OrdinateError: a window without width.

    Example:
        >>> relative_rank(torch.tensor([0, 2, 3, 9]), torch.full((4,), 1), torch.full((4,), 4)).tolist()
        [-1.0, -0.3333333333333333, 0.3333333333333333, 1.0]
    """
    if not bool((lower < higher).all()):
        raise OrdinateError("lower", "a rank that is not below its higher one", "windows with a width")
    return (to_accumulation_dtype(2 * ranks - lower - higher) / (higher - lower)).clamp(-1, 1)


def windows_of(count: int, device: torch.device | None = None) -> Int[Tensor, "count 2"]:
    """Return the places of the ranks below and above each of ``count`` ranks, at least 2; itself at either end.

    Example:
        >>> windows_of(4).tolist()
        [[0, 1], [0, 2], [1, 3], [2, 3]]
    """
    if count < 2:
        raise OrdinateError("labels", f"{count} rank", "at least two, so that there is a window between them")
    places = torch.arange(count, device=device)
    return torch.stack([(places - 1).clamp(min=0), (places + 1).clamp(max=count - 1)], dim=1)


def draw_triplets(
    ranks: Int[Tensor, " n"], count: int, generator: torch.Generator | None = None
) -> Int[Tensor, "n*count 3"]:
    """Draw ``count`` windows for every sample, and for each window a sample of its lower and of its higher rank.

    Windows are those of :func:`windows_of` over the ranks that occur, at least two. A triplet holds the places of the
    lower reference, the higher reference and the sample.

    Example:
        >>> triplets = draw_triplets(torch.tensor([0, 0, 1, 2]), 2)
        >>> triplets.shape, triplets[:, 2].tolist()
        (torch.Size([8, 3]), [0, 0, 1, 1, 2, 2, 3, 3])
    """
    distinct, kinds = ranks.unique(return_inverse=True)
    windows = windows_of(len(distinct), ranks.device)
    samples = torch.arange(len(ranks), device=ranks.device).repeat_interleave(count)
    drawn = torch.randint(len(windows), samples.shape, generator=generator, device=ranks.device)
    members, sizes = kinds.argsort(stable=True), kinds.bincount()
    starts = sizes.cumsum(0) - sizes
    references = []
    for side in windows[drawn].unbind(1):
        share = torch.rand(
            samples.shape, generator=generator, device=ranks.device, dtype=accumulation_dtype(ranks.device)
        )
        references.append(members[starts[side] + (share * sizes[side]).long()])
    return torch.stack([*references, samples], dim=1)


class MovingWindow(nn.Module):
    """The search for a sample's rank: estimate it within a window, move the window there, until it stays.

    It starts at the mean rank of the 5 nearest training ``embeddings``. The window of each rank that occurs has k pairs
    of ``references``, see :func:`choose_references`; the estimate is the mean of theirs. The search ends when the
    rounded estimate is the window's own rank, or after 10 moves.

    The paper has estimates and no probabilities. Here they are those of
    :func:`~ordinate_papers.methods.rank_probabilities.probabilities_around`, with the variance of the estimates over
    the pairs of references plus ``error``, the mean squared error on the training samples.

    Example:
        >>> torch.manual_seed(0)
        <torch._C.Generator object at ...>
        >>> embeddings, ranks = torch.randn(6, 4), torch.tensor([0, 0, 1, 1, 2, 2])
        >>> regressor = RelativeRankRegressor(4)
        >>> references = choose_references(regressor, embeddings, ranks, count=2)
        >>> search = MovingWindow(regressor, embeddings, ranks, num_classes=3, references=references)
        >>> search(torch.randn(5, 4)).shape
        torch.Size([5, 3])
    """

    embeddings: Tensor
    ranks: Tensor
    references: Tensor

    def __init__(
        self,
        regressor: nn.Module,
        embeddings: Float[Tensor, "m d"],
        ranks: Int[Tensor, " m"],
        num_classes: int,
        references: Int[Tensor, "w k 2"],
        error: float = 0.0,
    ) -> None:
        super().__init__()
        self.regressor = regressor
        self.register_buffer("embeddings", embeddings)
        self.register_buffer("ranks", ranks)
        self.register_buffer("references", references)
        self.num_classes = num_classes
        self.distinct = ranks.unique()
        self.windows = self.distinct[windows_of(len(self.distinct))]
        self.error = error

    def config(self) -> HeadConfig:
        """Return what :meth:`restore` needs in addition to the tensors."""
        return {"num_classes": self.num_classes, "error": self.error}

    @classmethod
    def restore(cls, config: HeadConfig, tensors: dict[str, Tensor]) -> "MovingWindow":
        """Return the search of a saved model."""
        prefix = "regressor."
        weights = {name.removeprefix(prefix): each for name, each in tensors.items() if name.startswith(prefix)}
        embeddings = tensors["embeddings"]
        regressor = RelativeRankRegressor(embeddings.shape[1]).double()
        regressor.load_state_dict(weights)
        known = (tensors["ranks"], config["num_classes"], tensors["references"], config["error"])
        return cls(regressor, embeddings, *known)

    def forward(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n c"]:
        """Return the probability of every rank."""
        estimates = self.estimates(queries)
        variance = estimates.var(dim=1, correction=0) + self.error
        return probabilities_around(estimates.mean(1), variance, self.num_classes)

    @torch.no_grad()
    def estimates(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return the rank that each pair of references of the last window gives, for 1024 samples at a time."""
        return torch.cat([self._search(part) for part in queries.split(1024)])

    def training_error(self) -> float:
        """Return the mean squared error of the estimates on at most 256 training samples."""
        samples = _tried_samples(len(self.ranks))
        return float((self.estimates(self.embeddings[samples]).mean(1) - self.ranks[samples]).square().mean())

    def _search(self, queries: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        k = min(5, len(self.ranks))
        nearest = pairwise_similarity(queries, self.embeddings, "neg_l2").topk(k).indices
        place = self._nearest_place(to_accumulation_dtype(self.ranks[nearest]).mean(1))
        estimates = self._estimates_in(place, queries)
        for _ in range(10):
            moved = self._nearest_place(estimates.mean(1))
            moving = moved != place
            if not bool(moving.any()):
                break
            place[moving] = moved[moving]
            estimates[moving] = self._estimates_in(place[moving], queries[moving])
        return estimates

    def _nearest_place(self, estimates: Float[Tensor, " n"]) -> Int[Tensor, " n"]:
        """The place, among the ranks that occur, of the one nearest to each estimate; the higher of two as near."""
        return torch.bucketize(estimates, to_accumulation_dtype(self.distinct[1:] + self.distinct[:-1]) / 2, right=True)

    def _estimates_in(self, place: Int[Tensor, " n"], queries: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        low, high = to_accumulation_dtype(self.windows[place]).unbind(1)
        pairs = self.references[place]
        first, second = self.embeddings[pairs].flatten(0, 1).unbind(1)
        relative = self.regressor(first, second, queries.repeat_interleave(pairs.shape[1], dim=0))
        relative = to_accumulation_dtype(relative.view(len(place), -1))
        return ((low + high) / 2)[:, None] + relative * ((high - low) / 2)[:, None]


@torch.no_grad()
def choose_references(
    regressor: nn.Module, embeddings: Float[Tensor, "m d"], ranks: Int[Tensor, " m"], count: int, candidates: int = 32
) -> Int[Tensor, "w k 2"]:
    """Choose the ``count`` pairs of training samples that predict the relative ranks of others best, for each window.

    The paper tries all pairs on all samples around a window; here at most ``candidates`` pairs per window are tried on
    256 samples, always the same. Returned are the places of the lower and the higher samples.
    """
    generator = torch.Generator().manual_seed(0)
    samples = _tried_samples(len(ranks))
    distinct = ranks.unique()
    chosen = []
    for window in distinct[windows_of(len(distinct))]:
        members = [(ranks == rank).nonzero()[:, 0] for rank in window]
        every = len(members[0]) * len(members[1])
        tried = torch.arange(every)
        if every > candidates:
            tried = torch.randint(every, (candidates,), generator=generator)
        pairs = torch.stack([members[0][tried // len(members[1])], members[1][tried % len(members[1])]], dim=1)
        first, second = embeddings[pairs.repeat_interleave(len(samples), dim=0)].unbind(1)
        relative = regressor(first, second, embeddings[samples].repeat(len(pairs), 1)).view(len(pairs), -1)
        wanted = relative_rank(ranks[samples], window[0].expand(len(samples)), window[1].expand(len(samples)))
        errors = (relative - wanted).square().mean(1)
        best = errors.argsort(stable=True)
        chosen.append(pairs[best[torch.arange(count) % len(best)]])  # If there are too few, the best are repeated.
    return torch.stack(chosen)


def _tried_samples(count: int, most: int = 256) -> Int[Tensor, " j"]:
    """Return the places of the training samples that pairs are tried on, always the same."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(0))[:most]
