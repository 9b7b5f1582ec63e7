"""The losses in the ``Trainer`` of Hugging Face's transformers."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from torch import Tensor, nn

from ordinate.errors import OrdinateError

LOSS_IN_MODEL = "loss_bias"  # Margins need no decay, and Trainer decays no parameter with "bias" in its name.

Embeddings = str | Callable[[Any], Tensor]


class ComputeLoss(Protocol):
    """The callable that ``Trainer(compute_loss_func=...)`` requires."""

    def __call__(
        self, outputs: object, labels: Tensor | None, num_items_in_batch: int | Tensor | None = None
    ) -> Tensor:
        """Return the share of this batch in the loss of a training step."""
        ...


def trainer_loss(
    loss: nn.Module, *, model: nn.Module | None = None, embeddings: Embeddings | None = None
) -> ComputeLoss:
    """Return a loss for ``Trainer(compute_loss_func=...)``.

    With ``gradient_accumulation_steps`` the loss of a step is the mean of the losses of its batches, weighted by their
    numbers of labels: samples are contrasted within a batch, never across accumulated ones. Of ``TrainingArguments``,
    ``label_names=["labels"]`` tells Trainer of labels that the model itself does not take, and
    ``dataloader_drop_last=True`` leaves out a last batch that is too small for a loss, which is an error.

    Args:
        loss: Loss of :mod:`ordinate.losses`.
        model: Model that is trained; required for a loss with parameters or buffers, such as
            :class:`~ordinate.losses.MMNPLoss`. The loss becomes a part of the model, because Trainer trains, moves and
            saves only a model. Margins that are learned in several processes require
            ``ddp_find_unused_parameters=False``.
        embeddings: (n, d) of the model's outputs, by name or by a function of the outputs, such as
            ``lambda outputs: outputs.last_hidden_state[:, 0]``; None takes outputs that are a tensor, or their
            ``embeddings`` or ``pooler_output``.

    Raises:
        OrdinateError: a loss with parameters or buffers without a model; while training, outputs without embeddings, or
            no labels.

    Example:
        >>> import torch
        >>> from ordinate.losses import SupCRLoss
        >>> compute_loss = trainer_loss(SupCRLoss())  # Trainer(model, args, compute_loss_func=compute_loss, ...)
        >>> compute_loss({"pooler_output": torch.randn(8, 4)}, torch.arange(8.0), num_items_in_batch=16).shape
        torch.Size([])
    """
    if [*loss.parameters(), *loss.buffers()]:
        if model is None:
            raise OrdinateError("model", problem=f"required, as {type(loss).__name__} has parameters or buffers")
        model.add_module(LOSS_IN_MODEL, loss)

    def compute_loss(outputs: object, labels: Tensor | None, num_items_in_batch: int | Tensor | None = None) -> Tensor:
        if labels is None:
            raise OrdinateError(
                "labels", None, "a tensor", 'have them in a column "label" or "labels", and label_names=["labels"]'
            )
        embedded = _embeddings_of(outputs, embeddings)
        # Trainer sets the mode of the model only, and a memory must not store evaluation samples.
        loss.train(embedded.requires_grad)
        value: Tensor = loss(embedded, labels)
        if num_items_in_batch is None:
            return value
        return value * labels.ne(-100).sum() / num_items_in_batch

    return compute_loss


def _embeddings_of(outputs: object, embeddings: Embeddings | None) -> Tensor:
    if callable(embeddings):
        return embeddings(outputs)
    if isinstance(outputs, Tensor) and embeddings is None:
        return outputs
    names = ["embeddings", "pooler_output"]
    if embeddings is not None:
        names = [embeddings]
    found = type(outputs).__name__
    if isinstance(outputs, Mapping):
        for name in names:
            if name in outputs:
                return outputs[name]
        found = ", ".join(outputs)
    raise OrdinateError("embeddings", f"outputs {found}", " or ".join(names), "give a function of the outputs")
