"""
The best prediction from a table
================================

Small networks, a linear model or trees: the best model for a noisy grade depends on the table. The blend averages them.
It trains sixteen networks together, each without an eighth of the samples, and weights networks, a linear model and, if
they help, trees by their predictions for the samples left out.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from skordinal.datasets import load_swd

from ordinate import BlendClassifier
from ordinate.metrics import rank_report

data = load_swd()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.25, stratify=data.target, random_state=0
)

# %%
# Train
# -----
#
# Every sample is used for training and for validation. ``epochs`` is the largest number of epochs. Early stopping ends
# the training when the out-of-fold predictions of the networks no longer improve.

model = BlendClassifier(epochs=60, random_state=0).fit(X_train, y_train)
{name: round(share, 2) for name, share in model.shares_.items()}

# %%
# Compare the parts
# -----------------
#
# ``unseen_losses_`` contains the out-of-fold log loss of each part alone and of the blend, on the training samples.

figure, axes = plt.subplots(figsize=(5, 2.4), layout="constrained")
axes.barh(list(model.unseen_losses_), list(model.unseen_losses_.values()), color="#2a788e")
axes.invert_yaxis()
axes.set(xlabel="out-of-fold log loss", xlim=(0.6, None))
axes.spines[["top", "right"]].set_visible(False)

# %%
# Compare with baselines
# ----------------------
#
# The models are evaluated on test samples. With 250 noisy test samples, differences of a few hundredths may be chance;
# :doc:`/measured/tables` has means over thirty splits.

models = {
    "logistic regression": LogisticRegression(max_iter=1000).fit(X_train, y_train),
    "random forest": RandomForestClassifier(random_state=0).fit(X_train, y_train),
    "blend": model,
}
for name, fitted in models.items():
    report = rank_report(y_test, fitted.predict(X_test), num_classes=4)
    print(f"{name:20}  accuracy {report['accuracy']:.3f}  MAE {report['mae']:.3f}")

# %%
# The prediction is the median of the probabilities, for a small mean absolute error; ``decision="mode"`` predicts the
# most probable grade. Both rules were evaluated on the out-of-fold predictions:

model.decision_scores_
