"""A step of scikit-learn's pipelines that trains a network of your own by one of the losses, on skorch."""

from typing import Any

import pandas as pd
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from torch import Tensor

from ordinate.losses.formula_loss import FormulaLoss
from ordinate.optional import optional

_NeuralNet: Any = optional("skorch", "adapters", "EmbeddingNet").NeuralNet


class EmbeddingNet(TransformerMixin, _NeuralNet):
    """A ``skorch.NeuralNet`` whose ``transform`` gives embeddings to the next step of a pipeline.

    Any of the losses is its ``criterion``, as it is of every net of skorch, with ``criterion__`` before the loss's
    options. ``MMNPLoss`` and ``AngularTriangleLoss`` require ``criterion__num_classes``, and labels that are ranks from
    0; the margins of ``MMNPLoss`` are trained by the net's optimizer, without its weight decay.

    A batch that is too small for a loss is an error: ``iterator_train__drop_last=True`` drops the last batch of
    each epoch. skorch also computes the loss of validation samples in such batches, unless ``train_split=None``.

    Samples are converted to the type of number of the network, such as the float64 that scikit-learn makes to float32;
    a DataFrame becomes an array (n, features).

    Example:
        >>> import numpy as np
        >>> from sklearn.linear_model import Ridge
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from torch import nn
        >>> from ordinate.losses import SupCRLoss
        >>> X = np.random.default_rng(0).normal(size=(40, 3))
        >>> net = EmbeddingNet(
        ...     nn.Linear, module__in_features=3, module__out_features=2, criterion=SupCRLoss,
        ...     criterion__temperature=1.0, train_split=None, iterator_train__drop_last=True, max_epochs=2, verbose=0,
        ... )
        >>> make_pipeline(StandardScaler(), net, Ridge()).fit(X, X.sum(axis=1)).predict(X).shape
        (40,)
    """

    def get_params_for_optimizer(self, prefix: str, named_parameters: Any) -> Any:
        """Return the arguments of the optimizer, with the parameters of the loss, such as margins, as a group."""
        of_loss = list(self.criterion_.parameters()) if isinstance(self.criterion_, FormulaLoss) else []
        others = [(name, value) for name, value in named_parameters if not any(value is each for each in of_loss)]
        (groups, *more), options = super().get_params_for_optimizer(prefix, others)
        if of_loss:
            groups = [*groups, {"params": of_loss, "weight_decay": 0.0}]
        return (groups, *more), options

    def get_dataset(self, X: Any, y: Any = None) -> Any:
        """Return a Dataset of samples and labels."""
        return super().get_dataset(X.to_numpy(copy=True) if isinstance(X, pd.DataFrame) else X, y)

    def infer(self, x: Any, **fit_params: Any) -> Any:
        """Return what the network makes of a batch."""
        if isinstance(x, Tensor) and x.is_floating_point():
            x = x.to(next(self.module_.parameters()).dtype)
        return super().infer(x, **fit_params)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the embeddings (n, d)."""
        return self.predict(X)
