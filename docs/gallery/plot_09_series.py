"""
Time series
===========

The data are noisy series with two channels, and the target is their frequency. Phase and amplitude are irrelevant.
SupCR (Rank-N-Contrast) orders the embedding by frequency, and a head predicts the frequency.
"""

import matplotlib.pyplot as plt
import numpy as np

from ordinate import SupCRRegressor
from ordinate.metrics import continuous_report, distance_rank_correlation
from ordinate_papers.figures import plots

rng = np.random.default_rng(0)
frequency = rng.uniform(2, 10, 240)
time = np.linspace(0, 1, 64)
phase = rng.uniform(0, 2 * np.pi, (240, 2, 1))
X = rng.uniform(0.5, 2, (240, 2, 1)) * np.sin(2 * np.pi * frequency[:, None, None] * time + phase)
X += rng.normal(scale=0.4, size=X.shape)

figure, grid = plt.subplots(1, 3, figsize=(8.4, 2.2), sharey=True, layout="constrained")
for axes, i in zip(grid, np.argsort(frequency)[[10, 120, 230]], strict=True):
    axes.plot(time, X[i].T, linewidth=1)
    axes.set(title=f"frequency {frequency[i]:.1f}", xlabel="time")

# %%
# X has the shape (n, channels, length). Series of different lengths are passed as a list of arrays. The default encoder
# is a one-dimensional residual network.

train, test = slice(0, 180), slice(180, None)
model = SupCRRegressor(epochs=(15, 20), random_state=0).fit(X[train], frequency[train])
predicted = model.predict(X[test])
print({name: round(value, 3) for name, value in continuous_report(frequency[test], predicted).items()})
plots.predicted_targets(frequency[test], predicted)

# %%
# The embedding of the test series, coloured by frequency. The printed number is the rank correlation between distances
# in the embedding and differences of the targets, over all pairs.

embeddings = model.transform(X[test])
print(f"correlation of distances: {distance_rank_correlation(embeddings, frequency[test]):.2f}")
plots.embedding(embeddings, frequency[test])
