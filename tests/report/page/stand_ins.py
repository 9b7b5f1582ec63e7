"""Contents made of given predictions, for tests that need no training."""

from dataclasses import replace

import numpy as np
import torch

from ordinate.report.page.contents import Contents
from tests.estimators.examples import otd, supcr

X = np.random.default_rng(0).normal(size=(40, 2))
OF_RANKS = otd(epochs=1).fit(X, np.arange(40) % 4).fitted
OF_TARGETS = supcr(epochs=(1, 1)).fit(X, X[:, 0]).fitted


def contents(
    true, predicted, names="abcd", inputs=None, probabilities=None, embeddings=None, trained_on=None, reader=None
):
    """Contents of ranks named ``names``, or of targets where they are None; inputs differ unless they are given."""
    model = OF_TARGETS if names is None else OF_RANKS
    if reader is not None:
        model = replace(model, reader=reader)
    n = len(true)
    inputs = torch.arange(2.0 * n).reshape(n, 2) if inputs is None else torch.as_tensor(inputs)
    seen, labels = (None, None) if trained_on is None else map(np.asarray, trained_on)
    return Contents(
        model=model,
        names=None if names is None else list(names),
        inputs=inputs,
        true=np.asarray(true),
        predicted=np.asarray(predicted),
        probabilities=probabilities,
        embeddings=np.eye(n) if embeddings is None else np.asarray(embeddings, dtype=float),
        training_inputs=None if seen is None else torch.as_tensor(seen).to(inputs.dtype),
        training_labels=labels,
    )
