"""SupCR (Rank-N-Contrast) and its L1 baseline as in the authors' code: kaiwenzha/Rank-N-Contrast, commit eca433b."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn.functional import l1_loss

from ordinate.functional.supcr import supcr
from ordinate.randomness import own_random_numbers
from ordinate_papers.published.epochs import (
    Epoch,
    TrainedProbe,
    cosine_by_epoch,
    keep_best,
    trained_epochs,
    with_errors,
)

Augment = Callable[[Tensor], Tensor]


def supcr_loop(
    encoder: nn.Module,
    x: Tensor,
    y: Float[Tensor, "n *p"],
    x_val: Tensor,
    y_val: Float[Tensor, "m *p"],
    *,
    epochs: tuple[int, int] = (400, 100),
    batch_size: int = 256,
    learning_rate: float = 0.5,
    probe_batch_size: int = 64,
    probe_learning_rate: float = 0.05,
    temperature: float = 2.0,
    augment: Augment | None = None,
    seed: int = 0,
) -> TrainedProbe:
    """Train an encoder by SupCR on two views of each batch, then a linear probe on it (main_rnc.py, main_linear.py).

    Both stages have SGD with momentum 0.9 and a learning rate that falls with every epoch by a cosine, to a thousandth
    for the encoder and to 0.8% for the probe. The encoder's weight decay of 1e-4 is on all its parameters, and its
    incomplete batches are dropped. The probe sees raw features of one view and predicts raw targets under the absolute
    error; it keeps the weights of its best validation epoch. The loss is that of :func:`ordinate.functional.supcr`.

    Args:
        encoder: Network from a batch to features (b, d). It is trained in place.
        x: Training samples (n, ...).
        y: Their targets, (n,) or (n, p).
        x_val: Validation samples (m, ...), which choose the epoch of the probe.
        y_val: Their targets.
        epochs: Epochs of the encoder and of the probe.
        batch_size: Samples per batch of the encoder, each of them in two views.
        learning_rate: Learning rate of the encoder at its start.
        probe_batch_size: Samples per batch of the probe.
        probe_learning_rate: Learning rate of the probe at its start.
        temperature: Temperature of the loss.
        augment: Function that draws a view of a batch. None takes the batch itself, twice.
        seed: Seed of all random numbers, those of ``augment`` included where it draws from torch.

    Example:
        >>> x = torch.linspace(0, 1, 40)[:, None]
        >>> trained = supcr_loop(nn.Linear(1, 4), x, 10 * x, x, 10 * x, epochs=(2, 3), batch_size=20)
        >>> [epoch.stage for epoch in trained.history], trained.probe(trained.encoder(x)).shape
        (['encoder', 'encoder', 'probe', 'probe', 'probe'], torch.Size([40, 1]))
    """
    y, y_val = as_columns(y), as_columns(y_val)
    draw = augment or _itself
    with own_random_numbers(seed):

        def contrast(rows: Tensor) -> Tensor:
            views = torch.cat([draw(x[rows]), draw(x[rows])])
            return supcr(encoder(views), torch.cat([y[rows], y[rows]]), temperature=temperature)

        encoder.train()
        optimizer = torch.optim.SGD(encoder.parameters(), learning_rate, momentum=0.9, weight_decay=1e-4)
        rate = cosine_by_epoch(learning_rate, epochs[0], learning_rate / 1000)
        losses = trained_epochs(
            contrast, optimizer, len(x), epochs=epochs[0], batch_size=batch_size, rate=rate, drop_last=True
        )
        history = [Epoch("encoder", loss) for loss in losses]

        encoder.eval()
        features_val = features_of(encoder, x_val)
        probe = nn.Linear(features_val.shape[1], y.shape[1])
        optimizer = torch.optim.SGD(probe.parameters(), probe_learning_rate, momentum=0.9)
        losses = trained_epochs(
            lambda rows: l1_loss(probe(features_of(encoder, draw(x[rows]))), y[rows]),
            optimizer,
            len(x),
            epochs=epochs[1],
            batch_size=probe_batch_size,
            rate=cosine_by_epoch(probe_learning_rate, epochs[1], 0.008 * probe_learning_rate),
        )
        history += keep_best(probe, with_errors("probe", losses, lambda: absolute_error(probe, features_val, y_val)))
    return TrainedProbe(encoder, probe, history)


def l1_loop(
    network: nn.Module,
    x: Tensor,
    y: Float[Tensor, "n *p"],
    x_val: Tensor,
    y_val: Float[Tensor, "m *p"],
    *,
    epochs: int = 400,
    batch_size: int = 256,
    learning_rate: float = 0.2,
    augment: Augment | None = None,
    seed: int = 0,
) -> list[Epoch]:
    """Train a network of targets by the absolute error, the baseline of the authors' code (main_l1.py).

    SGD has momentum 0.9 and weight decay 1e-4 on all parameters; the learning rate falls with every epoch by a cosine,
    to a thousandth. Targets are raw. The network keeps the weights of its best validation epoch.

    Args:
        network: Network from a batch to predictions (b, p). It is trained in place.
        x: Training samples (n, ...).
        y: Their targets, (n,) or (n, p).
        x_val: Validation samples (m, ...), which choose the epoch.
        y_val: Their targets.
        epochs: Number of epochs.
        batch_size: Samples per batch.
        learning_rate: Learning rate at the start.
        augment: Function that draws a view of a batch. None takes the batch itself.
        seed: Seed of all random numbers.

    Returns:
        The history.

    Example:
        >>> x = torch.linspace(0, 1, 40)[:, None]
        >>> history = l1_loop(nn.Linear(1, 1), x, 10 * x, x, 10 * x, epochs=30, batch_size=20)
        >>> history[-1].loss < history[0].loss
        True
    """
    y, y_val = as_columns(y), as_columns(y_val)
    draw = augment or _itself
    with own_random_numbers(seed):

        def error_of(rows: Tensor) -> Tensor:
            network.train()
            return l1_loss(network(draw(x[rows])), y[rows])

        def validation_error() -> float:
            network.eval()
            return absolute_error(network, x_val, y_val)

        optimizer = torch.optim.SGD(network.parameters(), learning_rate, momentum=0.9, weight_decay=1e-4)
        rate = cosine_by_epoch(learning_rate, epochs, learning_rate / 1000)
        losses = trained_epochs(error_of, optimizer, len(x), epochs=epochs, batch_size=batch_size, rate=rate)
        history = keep_best(network, with_errors("L1", losses, validation_error))
    network.eval()
    return history


def as_columns(y: Shaped[Tensor, "n *p"]) -> Float[Tensor, "n p"]:
    """Return targets as floating-point columns, those of one dimension as one column."""
    return y.reshape(len(y), -1).to(torch.get_default_dtype())


def features_of(encoder: nn.Module, x: Tensor) -> Float[Tensor, "n d"]:
    """Return features that no gradient passes through."""
    with torch.no_grad():
        return encoder(x)


def absolute_error(network: nn.Module, x: Tensor, y: Float[Tensor, "n p"]) -> float:
    """Return the mean absolute error of a network's predictions."""
    with torch.no_grad():
        return float(l1_loss(network(x), y))


def _itself(batch: Tensor) -> Tensor:
    return batch
