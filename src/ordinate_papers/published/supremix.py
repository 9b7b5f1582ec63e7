"""SupReMix as in the authors' code: Dingyijiang1/Mixup-Your-Own-Pairs, commit d6152e0, folder agedb-dir."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn
from torch.nn.functional import mse_loss, normalize

from ordinate.errors import OrdinateError
from ordinate.randomness import own_random_numbers
from ordinate_papers.published.epochs import Epoch, TrainedProbe, tenth_after, trained_epochs, with_errors
from ordinate_papers.published.supcr import as_columns, features_of


def supremix_loop(
    encoder: nn.Module,
    x: Tensor,
    y: Float[Tensor, "n *p"],
    x_val: Tensor,
    y_val: Float[Tensor, "m *p"],
    *,
    window: float,
    epochs: tuple[int, int] = (100, 100),
    batch_size: int = 128,
    learning_rate: float = 1e-3,
    probe_batch_size: int = 16,
    probe_learning_rate: float = 0.1,
    temperature: float = 0.5,
    projection_dim: int = 128,
    augment: Callable[[Tensor], Tensor] | None = None,
    seed: int = 0,
) -> TrainedProbe:
    """Train an encoder by SupReMix on two views of each batch, then a linear probe on it.

    This is what ``train_supremix.py`` and ``train_linear.py`` do, except that they train in half precision.
    Both stages have Adam without weight decay. The learning rate of the encoder is divided by ten after 80% of its
    epochs, that of the probe after 60% and 80%. The projection head has batch normalisation after both of its layers.
    The probe sees raw features of samples as they are, and predicts raw targets under the squared error. Its weights
    are those of the last epoch: the authors' code keeps the best validation epoch of the frozen encoder, not of the
    probe.

    Args:
        encoder: Network from a batch to features (b, d). It is trained in place.
        x: Training samples (n, ...).
        y: Their targets, (n,) or (n, 1), at least 0.
        x_val: Validation samples (m, ...), whose error is in the history.
        y_val: Their targets.
        window: Window of the loss, which a label difference must lie below.
        epochs: Epochs of the encoder and of the probe.
        batch_size: Samples per batch of the encoder, each of them in two views. Incomplete batches are dropped.
        learning_rate: Learning rate of the encoder at its start.
        probe_batch_size: Samples per batch of the probe.
        probe_learning_rate: Learning rate of the probe at its start.
        temperature: Temperature of the loss.
        projection_dim: Output dimension of the projection head.
        augment: Function that draws a view of a batch. None takes the batch itself, twice.
        seed: Seed of all random numbers, those of ``augment`` included where it draws from torch.

    Example:
        >>> x = torch.linspace(0, 1, 40)[:, None]
        >>> trained = supremix_loop(nn.Linear(1, 4), x, 10 * x, x, 10 * x, window=2, epochs=(2, 3), batch_size=20)
        >>> [epoch.stage for epoch in trained.history], trained.probe(trained.encoder(x)).shape
        (['encoder', 'encoder', 'probe', 'probe', 'probe'], torch.Size([40, 1]))
    """
    y, y_val = as_columns(y), as_columns(y_val)
    with own_random_numbers(seed):
        width = features_of(encoder.eval(), x[:2]).shape[1]
        projection = projection_head(width, projection_dim)

        def contrast(rows: Tensor) -> Tensor:
            views = [x[rows], x[rows]]
            if augment is not None:
                views = [augment(view) for view in views]
            embeddings = projection(encoder(torch.cat(views)))
            return supremix_loss(embeddings, torch.cat([y[rows], y[rows]])[:, 0], window, temperature=temperature)

        encoder.train()
        optimizer = torch.optim.Adam([*encoder.parameters(), *projection.parameters()], learning_rate)
        rate = tenth_after(learning_rate, 0.8 * epochs[0])
        losses = trained_epochs(
            contrast, optimizer, len(x), epochs=epochs[0], batch_size=batch_size, rate=rate, drop_last=True
        )
        history = [Epoch("encoder", loss) for loss in losses]

        encoder.eval()
        features, features_val = features_of(encoder, x), features_of(encoder, x_val)
        probe = nn.Linear(width, 1)
        optimizer = torch.optim.Adam(probe.parameters(), probe_learning_rate)
        losses = trained_epochs(
            lambda rows: mse_loss(probe(features[rows]), y[rows]),
            optimizer,
            len(x),
            epochs=epochs[1],
            batch_size=probe_batch_size,
            rate=tenth_after(probe_learning_rate, 0.6 * epochs[1], 0.8 * epochs[1]),
        )
        history += with_errors("probe", losses, lambda: float(mse_loss(features_of(probe, features_val), y_val)))
    return TrainedProbe(encoder, probe, history)


def projection_head(width: int, projection_dim: int) -> nn.Sequential:
    """Return the projection head for images (resnet.py)."""
    return nn.Sequential(
        nn.Linear(width, width),
        nn.BatchNorm1d(width),
        nn.ReLU(),
        nn.Linear(width, projection_dim),
        nn.BatchNorm1d(projection_dim),
    )


def supremix_loss(
    embeddings: Float[Tensor, "n d"],
    labels: Shaped[Tensor, " n"],
    window: float,
    *,
    temperature: float = 0.5,
    neg_mix: Float[Tensor, "n n"] | None = None,
    scrambled_labels: bool = True,
    separate_shifts: bool = True,
) -> Float[Tensor, ""]:
    r"""Return the SupReMix loss as in the authors' code (supremix_loss.py, utils.py), in which two errors are left.

    .. math::
        L = \frac1n \sum_i \frac{-1}{|P_i|} \sum_{p \in P_i}
            \Big(l_{ip} - \log \sum_{c \ne i} (1 + |y_i - y_c|) \exp l_{ic}\Big)

    with logits l and the positives and contrasts of :func:`ordinate.functional.supremix`. Mixtures are not normalised
    again, no gradient passes into them, and label differences must lie below the window. The errors:

    - Mixtures are ordered by their kind, and their labels by value, so that a weight belongs to another mixture. Which
      one depends on a sort that keeps no order among equals, and so on the version of PyTorch; here it keeps one.
    - Logits are shifted to a maximum of 0 for samples and for mixtures separately, but enter one sum. For an anchor
      with fewer mixtures than another, the maximum includes a vector of minus ones that fills its row.

    Args:
        embeddings: Embeddings (n, d), normalised here.
        labels: Labels (n,), not negative: the code fills its rows of labels with zeros and minus ones.
        window: Window gamma in label units.
        temperature: Temperature of the softmax.
        neg_mix: Shares (n, n) of anchor i in its mixture with sample j; None draws them from Beta(2, 8).
        scrambled_labels: Whether labels of mixtures are ordered by value, the first error.
        separate_shifts: Whether samples and mixtures have separate shifts, the second error.

    Returns:
        A scalar, NaN where an anchor has no positive, which two views exclude.

    Raises:
        OrdinateError: A label is negative.

    Example:
        >>> angle = torch.tensor([0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
        >>> embeddings = torch.stack([angle.cos(), angle.sin()], 1)
        >>> labels, neg_mix = torch.tensor([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]), torch.full((6, 6), 0.2)
        >>> losses = [supremix_loss(embeddings, labels, 1.5, neg_mix=neg_mix, scrambled_labels=error)
        ...           for error in (True, False)]
        >>> [round(loss.item(), 4) for loss in losses]
        [2.698, 2.6994]
    """
    y = labels.to(embeddings.dtype)
    if bool((y < 0).any()):
        raise OrdinateError("labels", float(y.min()), "labels of at least 0")
    n = len(y)
    if neg_mix is None:
        neg_mix = torch.distributions.Beta(2.0, 8.0).sample((n, n)).to(y)
    z = normalize(embeddings)
    itself = torch.eye(n, dtype=torch.bool, device=y.device)
    mixtures = _Mixtures.of(y, window, neg_mix)
    to_fixed = z @ z.detach().T  # Mixtures are made of embeddings that no gradient passes into.
    logits = z @ z.T / temperature
    mixed = mixtures.logits(to_fixed) / temperature
    if separate_shifts:
        logits = logits - logits.detach().amax(1, keepdim=True)
        filling = -z.sum(1, keepdim=True) / temperature
        mixed = mixed - mixtures.maximum(mixed, filling).detach()

    labels_of_mixtures = mixtures.labels
    if scrambled_labels:
        labels_of_mixtures = mixtures.labels_by_value(y)
    weighted = logits + (y[:, None] - y).abs().log1p()
    weighted_mixed = mixed + (y[:, None] - labels_of_mixtures).abs().log1p()
    contrasts = [weighted.masked_fill(itself, -torch.inf), weighted_mixed.masked_fill(~mixtures.exists, -torch.inf)]
    is_positive = torch.cat([(y[:, None] == y) & ~itself, mixtures.is_positive], 1)
    attraction = (torch.cat([logits, mixed], 1) * is_positive).sum(1) / is_positive.sum(1)
    return (torch.cat(contrasts, 1).logsumexp(1) - attraction).mean()


@dataclass(frozen=True)
class _Mixtures:
    """The mixtures of each anchor: place j n + k of a row is one of samples j and k, and most places are empty."""

    share: Float[Tensor, "n n n"]  # Share of sample j.
    labels: Float[Tensor, "n places"]
    is_negative: Bool[Tensor, "n places"]
    is_positive: Bool[Tensor, "n places"]

    @classmethod
    def of(cls, y: Float[Tensor, " n"], window: float, neg_mix: Float[Tensor, "n n"]) -> "_Mixtures":
        """Mix an anchor with each sample of another label, and samples on both sides of it to its label."""
        difference = y[:, None] - y
        is_anchor = torch.eye(len(y), dtype=torch.bool, device=y.device)[:, :, None]
        is_negative = is_anchor & (difference != 0)[:, None, :]
        below = (difference > 0) & (difference < window)
        above = (difference < 0) & (difference > -window)
        is_positive = below[:, :, None] & above[:, None, :]
        whole = torch.where(is_positive, difference[:, :, None] - difference[:, None, :], 1)
        share = torch.where(is_positive, -difference[:, None, :] / whole, neg_mix[:, None, :])
        labels = torch.where(is_positive, y[:, None, None], share * y[:, None] + (1 - share) * y)
        return cls(share, labels.flatten(1), is_negative.flatten(1), is_positive.flatten(1))

    @property
    def exists(self) -> Bool[Tensor, "n places"]:
        return self.is_negative | self.is_positive

    def logits(self, cosine: Float[Tensor, "n n"]) -> Float[Tensor, "n places"]:
        """Return the products of anchors and mixtures that are not normalised again."""
        return (self.share * cosine[:, :, None] + (1 - self.share) * cosine[:, None, :]).flatten(1)

    def maximum(self, logits: Float[Tensor, "n places"], filling: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        """Return the largest logit of each anchor, the filling included where it has fewer mixtures than another."""
        count = self.exists.sum(1, keepdim=True)
        highest = logits.masked_fill(~self.exists, -torch.inf).amax(1, keepdim=True)
        return torch.where(count < count.max(), highest.maximum(filling), highest)

    def labels_by_value(self, y: Float[Tensor, " n"]) -> Float[Tensor, "n places"]:
        """Return labels in ascending order over mixtures in the order of the code: all Mix-neg, then all Mix-pos."""
        n = len(y)
        negatives, positives = self.is_negative.cumsum(1), self.is_positive.cumsum(1)
        position = torch.where(self.is_negative, negatives, negatives[:, -1:] + positives) - 1
        # Among the labels of Mix-neg, those of Mix-pos lie at the anchor's own.
        rows = torch.arange(n, device=y.device)
        of_negatives = self.labels.view(n, n, n)[rows, rows].masked_fill(y[:, None] == y, torch.inf).sort(1).values
        below = (of_negatives < y[:, None]).sum(1, keepdim=True)
        beyond = position - positives[:, -1:]
        ascending = of_negatives.gather(1, torch.where(position < below, position, beyond).clamp(0, n - 1))
        is_own = (position >= below) & (beyond < below)
        labels = torch.where(is_own, y[:, None], ascending)
        return torch.where(self.exists, labels, self.labels)
