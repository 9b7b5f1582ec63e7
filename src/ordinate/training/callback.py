"""What a training calls on its way: hooks for logs, limits, and code of users. Imports no PyTorch."""

from typing import TYPE_CHECKING

from ordinate.option_group import Settings

if TYPE_CHECKING:
    from ordinate.training.loop import Loop


class Callback:
    """Hooks of a training, which all do nothing; a subclass overrides those that it needs.

    Each gets the loop: ``loop.method`` is the method with its ``stage_index`` and ``current_epoch``, ``loop.logs`` what
    the latest epoch logged, ``loop.optimizer`` the optimizer of the stage, ``loop.is_first`` whether this process is
    the one that prints and writes. In several processes, all of them call the hooks. ``loop.stop()`` ends the training
    with this epoch.

    Attributes of a callback that a resumed training needs are the values of :meth:`state_dict`: numbers, text, tensors,
    and lists and dictionaries of these.

    Example:
        >>> class StopAtAccuracy(Callback):
        ...     def on_epoch_end(self, loop):
        ...         if loop.logs["train_accuracy"] > 0.9:
        ...             loop.stop()
        >>> import numpy as np
        >>> from ordinate import CLOCClassifier, Training
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> training = Training(callbacks=[StopAtAccuracy()], calibration=False)
        >>> CLOCClassifier(training=training, random_state=0).fit(X, X[:, 0] > 0.5).history_[-1]["train_accuracy"] > 0.9
        True
    """

    def on_start(self, loop: "Loop") -> None:
        """Act on the start of the training, or where it continues from a checkpoint."""

    def on_stage_start(self, loop: "Loop") -> None:
        """Act on the start of a stage."""

    def on_batch_end(self, loop: "Loop") -> None:
        """Act on the end of a training batch; ``loop.method.step`` batches of the epoch are done."""

    def on_epoch_end(self, loop: "Loop") -> None:
        """Act on the end of an epoch, after its validation; ``loop.method.current_epoch`` is the next one."""

    def on_stage_end(self, loop: "Loop") -> None:
        """Act on the end of a stage."""

    def on_end(self, loop: "Loop") -> None:
        """Act on the end of the training, also by an error; ``loop.finished`` tells."""

    def state_dict(self) -> Settings:
        """Return what a resumed training needs."""
        return {}

    def load_state_dict(self, state: Settings) -> None:
        """Take up what :meth:`state_dict` returned."""
