"""CLOC as in the authors' code, a loss and the training step of its README: dpitawela/CLOC, commit bb59e65."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, softplus

from ordinate.checks import check_num_classes
from ordinate.functional.mmnp import mmnp
from ordinate.randomness import own_random_numbers
from ordinate_papers.published.epochs import Epoch, constant, trained_epochs


class TrainedClassifier(NamedTuple):
    """A classifier, the margins of its training, and the history."""

    network: nn.Module
    margins: Float[Tensor, " boundaries"]
    history: list[Epoch]


def cloc_loop(
    network: nn.Module,
    x: Tensor,
    y: Int[Tensor, " n"],
    num_classes: int,
    *,
    epochs: int,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    margins: Float[Tensor, " boundaries"] | None = None,
    seed: int = 0,
) -> TrainedClassifier:
    """Train a classifier by cross-entropy plus the margin loss of its logits, by Adam with a constant learning rate.

    The loss contrasts the logits, not the embeddings of the paper's Section 3. Learned margins are the softplus of
    parameters of the same optimizer and start between 0.5 and 1. A second run with the margins of the first is the
    paper's second phase. The code has no epochs, batches and criteria to end a phase.

    Args:
        network: Network from a batch to logits (b, C). It is trained in place.
        x: Training samples (n, ...).
        y: Their ranks (n,), from 0.
        num_classes: Number C of ranks.
        epochs: Number of epochs.
        batch_size: Samples per batch.
        learning_rate: Learning rate, PyTorch's default in the authors' code.
        margins: Margins (C-1,) that stay fixed; None learns them.
        seed: Seed of all random numbers.

    Example:
        >>> x, y = torch.linspace(-1, 1, 30)[:, None], torch.arange(30) // 10
        >>> first = cloc_loop(nn.Linear(1, 3), x, y, 3, epochs=2)
        >>> second = cloc_loop(first.network, x, y, 3, epochs=2, margins=first.margins)
        >>> torch.equal(first.margins, second.margins)
        True
    """
    with own_random_numbers(seed):
        learned: list[Tensor] = list(network.parameters())
        if margins is None:
            stage, raw = "margins learned", starting_margins(num_classes)
            learned.append(raw)
        else:
            stage, raw = "margins fixed", inverse_softplus(margins)

        def both_losses(rows: Tensor) -> Tensor:
            logits = network(x[rows])
            return cross_entropy(logits, y[rows]) + margin_loss(logits, y[rows], softplus(raw))

        network.train()
        optimizer = torch.optim.Adam(learned, learning_rate)
        losses = trained_epochs(
            both_losses, optimizer, len(x), epochs=epochs, batch_size=batch_size, rate=constant(learning_rate)
        )
        history = [Epoch(stage, loss) for loss in losses]
    network.eval()
    if margins is None:
        margins = softplus(raw.detach())
    return TrainedClassifier(network, margins, history)


def margin_loss(
    predictions: Float[Tensor, "n c"], ranks: Int[Tensor, " n"], margins: Float[Tensor, " boundaries"]
) -> Float[Tensor, ""]:
    r"""Multi-margin n-pair loss as in the authors' code (loss.py, ``OrdinalContrastiveLoss_mm``).

    .. math::
        L = \frac1n \sum_{i: P_i, N_i \ne \emptyset} \frac{1}{|P_i|\,|N_i|^2}
            \sum_{j \in P_i} \sum_{k \in N_i} \max(0,\; m_{y_i y_k} + \psi_{ik} - \psi_{ij})

    The mean over an anchor's pairs is divided once more by its number of negatives. Samples without a positive or a
    negative count as 0 in the mean over all n; :func:`ordinate.functional.mmnp` with ``reduction="published"`` leaves
    them out of it.

    Args:
        predictions: Logits (n, c), whose cosines are compared.
        ranks: Ranks (n,).
        margins: Margins (C-1,).

    Example:
        >>> logits = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> round(margin_loss(logits, torch.tensor([0, 0, 1]), torch.tensor([1.25])).item(), 4)
        0.1667
    """
    sizes = torch.bincount(ranks)[ranks]
    has_pairs = (sizes > 1) & (sizes < len(ranks))
    if not bool(has_pairs.any()):
        return 0 * predictions.sum()
    return mmnp(predictions, ranks, margins, reduction="published") * (has_pairs.sum() / len(ranks))


def starting_margins(num_classes: int) -> Float[Tensor, " boundaries"]:
    """Return parameters whose softplus is uniform between 0.5 and 1, one for each boundary."""
    margins = 0.5 + 0.5 * torch.rand(check_num_classes(num_classes) - 1)
    return inverse_softplus(margins).requires_grad_()


def inverse_softplus(values: Tensor) -> Tensor:
    """Return the numbers whose softplus is given.

    Example:
        >>> values = torch.tensor([0.5, 1.0])
        >>> torch.allclose(softplus(inverse_softplus(values)), values)
        True
    """
    return values.expm1().log()
