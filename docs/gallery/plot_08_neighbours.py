"""
Neighbours as an explanation
============================

Why does the model say 6? Because these are the training samples that it holds to be most alike. An index over the
embeddings finds them.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ordinate import OTDClassifier
from ordinate.estimators.neighbour_index import NeighbourIndex
from ordinate.metrics import knn_accuracy_curve
from ordinate.report.curves import knn_curve
from ordinate.report.image_figures import image_search

# %%
# Scikit-learn's digits as a table of 64 pixels, with noise, so that there is something to explain. Their order is that
# of the numbers.

X, y = load_digits(return_X_y=True)
X = X + np.random.default_rng(0).normal(scale=4, size=X.shape)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
model = OTDClassifier(epochs=40, random_state=0).fit(X_train, y_train)
index = NeighbourIndex.build(model, X_train, y_train)

# %%
# Queries are framed green, neighbours of another label red. The last two queries are ones that the model gets wrong.

predicted = model.predict(X_test)
right, wrong = np.flatnonzero(predicted == y_test)[:2], np.flatnonzero(predicted != y_test)[:2]
queries = np.concatenate([right, wrong])
found = index.search(X_test[queries], k=6)


def pictures(rows):
    return np.clip(rows * 16, 0, 255).astype(np.uint8).reshape(-1, 1, 8, 8)


image_search(
    pictures(X_test[queries]),
    [pictures(X_train[rows]) for rows in found.rows],
    wrong=found.labels != y_test[queries, None],
    names=[[str(label) for label in (true, *labels)] for true, labels in zip(y_test[queries], found.labels, strict=True)],
)

# %%
# A neighbour is worth showing only if neighbours tend to be right. That can be measured: the share of test samples whose
# label the majority of their K nearest training samples has, in the embedding and in the raw pixels.

ks = [1, 3, 5, 9, 15, 25]
knn_curve(
    ks,
    {
        "embedding": knn_accuracy_curve(
            model.transform(X_test), y_test, ks, ref_emb=model.transform(X_train), ref_labels=y_train
        ),
        "pixels": knn_accuracy_curve(X_test, y_test, ks, ref_emb=X_train, ref_labels=y_train),
    },
)
