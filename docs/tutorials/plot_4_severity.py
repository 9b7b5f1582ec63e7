"""
Progression of a disease, with intervals
========================================

**Question.** A diabetes clinic wants to see patients more often if their disease is likely to progress. The progression
within a year is measured by a score between 25 and 346. Can the clinic predict it from a first examination, and how
uncertain is each prediction?

After this tutorial you can train a regression model on a small data set, add intervals with a coverage of 80%, and use
them to decide which patients to see again soon.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split

from ordinate import SupCRRegressor, Training
from ordinate.decisions import interval_coverage
from ordinate.metrics import mae
from ordinate_papers.figures import plots

# %%
# The data
# --------
#
# scikit-learn's diabetes data set contains the age, sex, body mass index, blood pressure and six blood values of 442
# patients. Half of the samples are for training, a quarter for the calibration of the intervals, and a quarter for the
# test.

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_rest, y_train, y_rest = train_test_split(
    X, y, test_size=0.5, random_state=0
)
X_calibration, X_test, y_calibration, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)

# %%
# Train and compare
# -----------------
#
# SupCR (Rank-N-Contrast) trains an embedding that is ordered by the target. Training stops when the error on validation
# samples no longer falls. Ridge regression is the baseline.

ridge = RidgeCV(np.logspace(-3, 3, 13)).fit(X_train, y_train)
model = SupCRRegressor(
    epochs=(40, 20), training=Training(patience=10), random_state=0
).fit(X_train, y_train)
for name, fitted in {"ridge regression": ridge, "SupCR": model}.items():
    print(
        f"{name:18} mean absolute error {mae(y_test, fitted.predict(X_test)):.1f}"
    )

# %%
# With 221 training samples, neither is clearly better. We continue with SupCR, since its embedding also serves to find
# similar patients (see
# :ref:`sphx_glr_generated_tutorials_plot_5_similar_cases.py`). If only the prediction
# matters, compare with ``BlendRegressor``.
#
# Both have large errors. This is why the clinic needs intervals.

plots.predicted_targets(y_test.to_numpy(), model.predict(X_test))

# %%
# Intervals
# ---------
#
# ``calibrate`` records the errors on the calibration samples. ``predict_interval`` turns them into intervals that
# contain the true value of a new patient in 80% of cases on average (split conformal prediction).

model.calibrate(X_calibration, y_calibration)
low, high = model.predict_interval(X_test, coverage=0.8)
measured = interval_coverage(y_test, np.column_stack([low, high]))
print({name: round(float(value), 2) for name, value in measured.items()})

# %%
# Which patients should come back soon?
# -------------------------------------
#
# Patients whose score will exceed 150 should come every month. The interval gives three groups. If the interval lies
# above 150, progression is likely; below, it is unlikely. If it contains 150, the examination is not conclusive.

limit = 150
groups = {
    "every month": low > limit,
    "examine again": (low <= limit) & (high >= limit),
    "once a year": high < limit,
}
order = np.argsort(model.predict(X_test))
figure, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
colours = {
    "every month": "tab:red",
    "examine again": "0.6",
    "once a year": "tab:blue",
}
for name, chosen in groups.items():
    place = np.flatnonzero(chosen[order])
    rows = order[place]
    axes.vlines(
        place, low[rows], high[rows], color=colours[name], alpha=0.5, label=name
    )
    axes.plot(
        place, y_test.to_numpy()[rows], "o", color=colours[name], markersize=3
    )
axes.axhline(limit, color="black", linewidth=0.8)
axes.set(
    xlabel="test patients, by prediction",
    ylabel="progression (dots) and interval",
    xticks=[],
)
axes.legend()
for name, chosen in groups.items():
    exceeded = (y_test.to_numpy()[chosen] > limit).mean()
    print(
        f"{name:14} {chosen.sum():3} patients, {exceeded:.0%} of them above {limit}"
    )

# %%
# **Decision.** The clinic follows the intervals for the two clear groups and examines
# the others again after three months. A higher coverage makes the clear groups smaller and more reliable; the choice
# depends on how many visits the clinic can offer.
#
# From the command line:
#
# .. code-block:: none
#
#     ordinate fit patients.csv --target progression --method supcr
#     ordinate predict patients-model new.csv --coverage 0.8 --out visits.csv
