"""
Explain predictions by nearest neighbours
=========================================

Why does a model predict this rank for a gauge? A good explanation is the list of training samples that the model
considers most similar. An index over the embeddings finds them.
"""

import numpy as np
import torch
from torch import nn

from ordinate import ImageOptions, OTDClassifier
from ordinate.metrics import knn_accuracy_curve
from ordinate.model.neighbour_index import NeighbourIndex
from ordinate_papers.figures.plots import image_search, knn_curve

# %%
# The images show gauges of 16 x 16 pixels. The angle of the needle is the rank, from 0 to 5. Length and brightness of
# the needle, position of the gauge and a spot on the glass are irrelevant.

rng = np.random.default_rng(0)
down, across = np.mgrid[:16, :16]


def draw(rank):
    angle = np.deg2rad(180 - 36 * rank + rng.uniform(-15, 15))
    pivot = np.array([13.5, 7.5]) + rng.uniform(-2.5, 2.5, 2)
    length = rng.uniform(6, 10)
    along = (across - pivot[1]) * np.cos(angle) - (down - pivot[0]) * np.sin(angle)
    beside = (across - pivot[1]) * np.sin(angle) + (down - pivot[0]) * np.cos(angle)
    needle = np.clip(1.3 - np.abs(beside), 0, 1) * (along > -1) * (along < length)
    spot = np.exp(-((down - rng.uniform(2, 14)) ** 2 + (across - rng.uniform(2, 14)) ** 2) / 3)
    return np.clip(rng.uniform(0.5, 1) * needle + 0.8 * spot + rng.normal(scale=0.15, size=(16, 16)), 0, 1)


y = rng.integers(0, 6, 900)
X = (255 * np.stack([draw(rank) for rank in y])).astype(np.uint8)[:, None]
X_train, y_train, X_test, y_test = X[:600], y[:600], X[600:], y[600:]

# %%
# A small convolutional network is enough for such images.

torch.manual_seed(0)
network = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
    nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 64),
)  # fmt: skip
images = ImageOptions(augmentation="none", workers=0)
model = OTDClassifier(encoder=network, data=images, epochs=25, random_state=0).fit(X_train, y_train)
index = NeighbourIndex.build(model.fitted, X_train, y_train)

# %%
# Neighbours with another label are crossed out. The model predicts the last two queries wrongly.

predicted = model.predict(X_test)
queries = np.concatenate([np.flatnonzero(predicted == y_test)[:2], np.flatnonzero(predicted != y_test)[:2]])
found = index.search(X_test[queries], k=6)
image_search(
    X_test[queries],
    [X_train[rows] for rows in found.rows],
    wrong=found.labels != y_test[queries, None],
    names=[
        [str(label) for label in (true, *labels)] for true, labels in zip(y_test[queries], found.labels, strict=True)
    ],
)

# %%
# A neighbour is a useful explanation only if neighbours usually have the correct label. The K-NN accuracy measures
# this: the share of test samples for which the majority of the K nearest training samples has the correct label, in the
# embedding and in the raw pixels.

ks = [1, 3, 5, 9, 15, 25]
knn_curve(
    ks,
    {
        "embedding": knn_accuracy_curve(
            model.transform(X_test), y_test, ks, ref_emb=model.transform(X_train), ref_labels=y_train
        ),
        "pixels": knn_accuracy_curve(
            X_test.reshape(300, -1), y_test, ks, ref_emb=X_train.reshape(600, -1), ref_labels=y_train
        ),
    },
)
