"""
Losses in a LightningModule
===========================

A loss is a module. Put it into your ``LightningModule``; Lightning moves it to the device, saves it, and synchronises
it across processes. MMNP has parameters of its own, the margins.
"""

import logging

import lightning
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ordinate.losses import MMNPLoss
from ordinate.metrics import rank_cosine_matrix

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

X, y = load_digits(return_X_y=True)
ranks = y // 2  # Five ranks: 0 and 1, 2 and 3, ...
data = TensorDataset(torch.tensor(X / 16, dtype=torch.float32), torch.tensor(ranks))


class Ranked(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
        self.loss = MMNPLoss(num_classes=5, margins={(2, 3): 0.8})  # One margin is fixed, three are learned.
        self.curve = []

    def training_step(self, batch):
        x, labels = batch
        value = self.loss(self.encoder(x), labels)
        self.curve.append([value.item(), *self.loss.margins.tolist()])
        return value

    def configure_optimizers(self):
        matrices = [p for p in self.encoder.parameters() if p.ndim > 1]
        rest = [p for p in self.parameters() if p.ndim < 2]  # Biases and margins have no weight decay.
        groups = [{"params": matrices, "weight_decay": 1e-2}, {"params": rest, "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=2e-3)


lightning.seed_everything(0, verbose=False)
model = Ranked()
trainer = lightning.Trainer(
    max_epochs=15, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
    enable_model_summary=False,
)  # fmt: skip
trainer.fit(model, DataLoader(data, batch_size=128, shuffle=True, drop_last=True))

# %%
# A smaller margin gives a smaller loss, so learning can only shrink it. CLOC therefore learns the margins together with
# the encoder in a first phase, and fixes them in a second one with ``loss.freeze()``.

curve = np.array(model.curve)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(curve[:, 0])
left.set(title="Loss", xlabel="step", ylim=(0, None))
for boundary, values in enumerate(curve[:, 1:].T):
    fixed = boundary == 2
    right.plot(values, "--" if fixed else "-", label=f"{boundary} | {boundary + 1}" + (", fixed" if fixed else ""))
right.set(title="Margins", xlabel="step", ylabel="margin (difference of cosines)", ylim=(0, 1.1))
right.legend(ncols=2)

# %%
# With weight decay the margins would shrink regardless of the data, so they are in a parameter group without it. After
# training, these are the mean cosine similarities between the ranks:

with torch.no_grad():
    embeddings = model.encoder(data.tensors[0]).numpy()
rank_cosine_matrix(embeddings, ranks, num_classes=5).round(2)

# %%
# :class:`ordinate.adapters.LightningMethod` is a ``LightningModule`` around the training procedure of a paper, such as
# :class:`ordinate.methods.CLOC`.
