"""
Prediction sets with guaranteed coverage
========================================

A single predicted grade does not show how certain the model is. A *prediction set* contains all plausible grades. It
contains the true grade as often as you ask, on average, however good or bad the model is (split conformal prediction).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from skordinal.datasets import load_swd

from ordinate import CLOCClassifier
from ordinate.decisions import rank_coverage_report

X, y = load_swd(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, stratify=y, random_state=0)
X_held_out, X_test, y_held_out, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
model = CLOCClassifier(epochs=(30, 60), random_state=0).fit(X_train, y_train)

# %%
# The sets are calibrated on samples that were used neither for training nor for model selection.

lowest, highest = model.calibrate(X_held_out, y_held_out).predict_interval(X_test, coverage=0.9)
for predicted, low, high in list(zip(model.predict(X_test), lowest, highest, strict=True))[:5]:
    print(f"predicted {predicted}, 90% prediction set from {low} to {high}")

# %%
# Is the coverage correct? We calibrate on one half of the remaining 600 samples and measure on the other half, for
# forty random halves and several coverages. A higher coverage needs larger sets.

true = np.searchsorted(model.ordered_classes_, y_rest)
probabilities = model.rank_probabilities(X_rest)
nominal = np.linspace(0.5, 0.98, 13)
reports = [rank_coverage_report(true, probabilities, coverage, repeats=40) for coverage in nominal]
measured, deviation, size = (
    np.array([report[name] for report in reports]) for name in ("coverage", "deviation", "mean_size")
)

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
left.plot([0.5, 1], [0.5, 1], color="0.6", linestyle="--", label="nominal")
left.fill_between(nominal, measured - deviation, measured + deviation, alpha=0.25)
left.plot(nominal, measured, "o-", label="measured, with standard deviation")
left.set(title="Is the true grade in the set?", xlabel="nominal coverage", ylabel="share of samples")
left.legend(loc="lower right")
right.plot(nominal, size, "o-")
right.set(title="Size of the sets", xlabel="nominal coverage", ylabel="mean number of grades in a set", ylim=(1, 4))

# %%
# A set is never empty, so for coverages below the model's accuracy the curve stays above the line. The band shows the
# variation with 300 samples for calibration and 300 for measurement. The coverage holds on average over all samples,
# but not necessarily for each grade:

by_grade = rank_coverage_report(true, probabilities, 0.9)["coverage_by_rank"]
print("nominal coverage 0.9, measured for each grade:", [round(share, 2) for share in by_grade])
