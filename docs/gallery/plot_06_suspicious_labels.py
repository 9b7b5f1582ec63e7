"""
Suspicious labels
=================

People grade by hand, and people slip. Samples whose label looks wrong to models that were trained *without* them are
worth a second look. Here we move some labels on purpose and see how many are found.
"""

import matplotlib.pyplot as plt
import numpy as np
from skordinal.datasets import load_balance_scale

from ordinate import OTDClassifier
from ordinate.estimators.label_errors import find_label_errors

X, y = load_balance_scale(return_X_y=True)
ranks = np.searchsorted(np.unique(y), y)

# %%
# A balance tips to the left, is even, or tips to the right. Five percent of the labels are moved by one or two.

rng = np.random.default_rng(0)
moved = rng.choice(len(ranks), len(ranks) // 20, replace=False)
given = ranks.copy()
given[moved] = (ranks[moved] + rng.integers(1, 3, len(moved))) % 3

# %%
# Five models are trained by cross-validation, and each checks the fifth of the labels that it was not trained on. The
# table lists the most suspicious labels first, with the rank that would fit.

table = find_label_errors(OTDClassifier(epochs=40, random_state=0), X, given)
table.assign(moved=table.row.isin(moved)).head(8)

# %%
# How far down the list does one have to read?

found = np.cumsum(table.row.isin(moved)) / len(moved)
read = np.arange(1, len(table) + 1) / len(table)

figure, axes = plt.subplots()
axes.plot(read, found, label="most suspicious first")
axes.plot([0, 1], [0, 1], color="0.7", linestyle="--", label="in random order")
axes.axvline(len(moved) / len(ranks), color="0.7", linewidth=1)
axes.annotate(
    "as many as were moved", (len(moved) / len(ranks), 0.04), xytext=(4, 0), textcoords="offset points", color="0.4"
)
axes.set(title="Moved labels found", xlabel="share of the samples looked at", ylabel="share of the moved labels found",
         xlim=(0, 0.4), ylim=(0, 1.02))  # fmt: skip
axes.legend(loc="lower right")

# %%
# On data where a model is right about half the time, far fewer are found: see :doc:`/measured`. On the command line:
# ``ordinate suspects knees.csv --target grade --out suspects.csv``.
