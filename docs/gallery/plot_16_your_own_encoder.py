"""
Use your own encoder
====================

``encoder`` accepts a name or any ``torch.nn.Module``. The module is copied, so ``GridSearchCV`` can compare some. It
can be fine-tuned completely or in its last blocks, and is saved without its code.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import ordinate
from ordinate import SupCRRegressor
from ordinate.metrics import mae

# %%
# The target is the phase of a wave, an angle that repeats after a full turn. A circular convolution is a natural choice
# of encoder.


class Circular(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        layer = {"kernel_size": 5, "padding": 2, "padding_mode": "circular"}
        self.layers = nn.Sequential(
            nn.Conv1d(1, width, **layer), nn.ReLU(),
            nn.Conv1d(width, width, stride=2, **layer), nn.ReLU(),
            nn.Flatten(), nn.Linear(12 * width, width),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


rng = np.random.default_rng(0)
phase = rng.uniform(0, 2 * np.pi, 360)
X = np.cos(np.linspace(0, 2 * np.pi, 24, endpoint=False) - phase[:, None])[:, None] + rng.normal(
    scale=0.5, size=(360, 1, 24)
)
y = np.column_stack([np.cos(phase), np.sin(phase)])  # The target has two dimensions.
train, test = slice(0, 240), slice(240, None)

# %%
# ``embedding_dim=None`` uses the output of the network as the embedding, without another layer.

torch.manual_seed(0)
model = SupCRRegressor(encoder=Circular(), embedding_dim=None, epochs=(30, 30), random_state=0).fit(X[train], y[train])
built_in = SupCRRegressor(epochs=(4, 30), random_state=0).fit(X[train], y[train])
for name, fitted in {"your own": model, "built-in ResNet, fewer epochs": built_in}.items():
    print(f"{name}: MAE {mae(y[test], fitted.predict(X[test])):.3f}")

# %%
# The embedding of the test waves is a closed ring, like the phases:

embeddings = model.transform(X[test])
centred = embeddings - embeddings.mean(0)
points = centred @ np.linalg.svd(centred)[2][:2].T
figure, axes = plt.subplots(figsize=(5.4, 4.4))
marks = axes.scatter(*points.T, c=phase[test], cmap="twilight", s=18)
axes.set(title="Embedding, coloured by phase", xlabel="first principal component", ylabel="second")
axes.set_aspect("equal", adjustable="datalim")
figure.colorbar(marks, label="phase")

# %%
# A saved model contains weights and no code. Pass the network again when you load it:

folder = Path(tempfile.mkdtemp()) / "model"
model.save(folder)
again = ordinate.load(folder, encoder=Circular())
np.abs(again.predict(X[test]) - model.predict(X[test])).max()
