"""
Prediction sets that keep their promise
=======================================

A single predicted grade hides how sure the model is. A *prediction set* names all grades that are plausible, and holds
the true one as often as you ask for, however good or bad the model is (split conformal prediction).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from skordinal.datasets import load_swd

from ordinate import CLOCClassifier
from ordinate.decisions import calibrate_ranks, rank_coverage, rank_sets
from ordinate.estimators.held_out import HeldOut, predict_sets

X, y = load_swd(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, stratify=y, random_state=0)
X_held_out, X_test, y_held_out, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
model = CLOCClassifier(phase_epochs=(30, 60), random_state=0).fit(X_train, y_train)

# %%
# The sets are calibrated on samples that were neither trained on nor used to choose anything.

held_out = HeldOut.measure(model, X_held_out, y_held_out)
lowest, highest = predict_sets(model, held_out, X_test, coverage=0.9)
for predicted, low, high in list(zip(model.predict(X_test), lowest, highest, strict=True))[:5]:
    print(f"predicted {predicted}, with 90 % from {low} to {high}")

# %%
# Is the promise kept? Measure it on the test samples, for many coverages. The price of a higher one is larger sets.

ranks = {name: np.searchsorted(model.ordered_classes_, labels) for name, labels in
         {"held out": y_held_out, "test": y_test}.items()}  # fmt: skip
probabilities = {"held out": model.rank_probabilities(X_held_out), "test": model.rank_probabilities(X_test)}
promised = np.linspace(0.5, 0.98, 13)
measured, sizes = [], []
for coverage in promised:
    calibration = calibrate_ranks(ranks["held out"], probabilities["held out"], coverage)
    report = rank_coverage(ranks["test"], rank_sets(probabilities["test"], calibration), num_classes=4)
    measured.append(report["coverage"])
    sizes.append(report["mean_size"])

figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
left.plot([0.5, 1], [0.5, 1], color="0.7", label="promised")
left.plot(promised, measured, "o-", label="measured on test samples")
left.set(title="Is the true grade in the set?", xlabel="promised coverage", ylabel="share of samples")
left.legend()
right.plot(promised, sizes, "o-")
right.set(title="What it costs", xlabel="promised coverage", ylabel="mean number of grades in a set", ylim=(1, 4))

# %%
# Below the accuracy of the model the curve stays above the line: a set is never empty, and holds at least the most
# probable grade. The promise is one over all samples. Within a grade it may not hold:

report = rank_coverage(
    ranks["test"], rank_sets(probabilities["test"], calibrate_ranks(ranks["held out"], probabilities["held out"], 0.9)), 4
)
print("covered, by grade:", [round(share, 2) for share in report["coverage_by_rank"]])
