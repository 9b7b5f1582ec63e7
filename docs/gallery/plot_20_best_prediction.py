"""
The best prediction from a table
================================

Small networks, a linear model or trees: which predicts a noisy grade best depends on the table. A blend finds out. It
trains sixteen networks as one, each without an eighth of the samples, and averages them with a linear model and a
random forest by what each predicts of samples that it has not seen.
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
# No sample is lost to validation: ``epochs`` is the most that training lasts, and it ends where what the networks
# predict of their own unseen samples gets no better.

model = BlendClassifier(epochs=60, random_state=0).fit(X_train, y_train)
{name: round(share, 2) for name, share in model.shares_.items()}

# %%
# How well each part predicts
# ---------------------------
#
# ``unseen_losses_`` is minus the mean logarithm of the true grade's probability, on training samples that a part has
# not seen: so it also has the loss of each simple model alone.

figure, axes = plt.subplots(figsize=(5, 2.4), layout="constrained")
axes.barh(list(model.unseen_losses_), list(model.unseen_losses_.values()), color="#2a788e")
axes.invert_yaxis()
axes.set(xlabel="logarithmic loss on samples unseen", xlim=(0.6, None))
axes.spines[["top", "right"]].set_visible(False)

# %%
# Compare
# -------
#
# Compare the blend with simple models on held-out samples. A test set of 250 noisy samples separates models by a few
# hundredths at best; :doc:`/measured` has means over thirty splits.

models = {
    "logistic regression": LogisticRegression(max_iter=1000).fit(X_train, y_train),
    "random forest": RandomForestClassifier(random_state=0).fit(X_train, y_train),
    "blend": model,
}
for name, fitted in models.items():
    report = rank_report(y_test, fitted.predict(X_test), num_classes=4)
    print(f"{name:20}  accuracy {report['accuracy']:.3f}  MAE {report['mae']:.3f}")

# %%
# ``decision="median"`` predicts the grade with the least expected distance instead of the most probable one. Both
# rules were compared on out-of-fold predictions.

model.decision_scores_
