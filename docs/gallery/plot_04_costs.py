"""
Costs to decisions
==================

A model's probabilities do not say what to do; together with what mistakes cost, they do. Here missing a disease
(predicting below the boundary ``1 | 2`` what lies above it) costs more than a false alarm.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from skordinal.datasets import load_swd

from ordinate import CLOCClassifier
from ordinate.decisions import compare_decisions, cost_matrix, decide

X, y = load_swd(return_X_y=True)
ranks = np.searchsorted(np.unique(y), y)
X_train, X_test, y_train, y_test = train_test_split(X, ranks, test_size=0.4, stratify=ranks, random_state=0)
model = CLOCClassifier(epochs=(30, 60), random_state=0).fit(X_train, y_train)
probabilities = model.rank_probabilities(X_test)

# %%
# A boundary costs 1 unless you say otherwise, and mistakes add up over the boundaries that lie between the true and the
# predicted rank. Rows are true ranks, columns predicted ones.

costs = cost_matrix(4, critical={(1, 2): (5.0, 1.0)})  # 5 to predict too low across it, 1 to predict too high
costs

# %%
# ``decide`` takes the rank of least expected cost. ``compare_decisions`` measures what that saves over the most
# probable rank, on samples that the model has not seen, with the standard error of the saving: less than two of them
# may be chance.

comparison = compare_decisions(y_test, probabilities, costs)
print(f"saved per sample: {comparison['saving']:.3f} ± {comparison['saving_standard_error']:.3f}")
for rule in ("most_probable", "least_cost"):
    measured = comparison[rule]
    print(f"{rule:14} cost {measured['expected_cost']:.3f}, accuracy {measured['accuracy']:.3f}, "
          f"missed above 1 | 2: {measured['too_low'][1]:.2f}, false alarms: {measured['too_high'][1]:.2f}")  # fmt: skip

# %%
# The more a miss costs, the more false alarms are worth it:

factors = np.array([1, 1.5, 2, 3, 5, 8, 12, 20])
missed, alarms = [], []
for factor in factors:
    predicted = decide(probabilities, cost_matrix(4, critical={(1, 2): (float(factor), 1.0)}))
    missed.append((predicted[y_test >= 2] < 2).mean())
    alarms.append((predicted[y_test < 2] >= 2).mean())

figure, axes = plt.subplots()
axes.plot(factors, missed, "o-", label="missed: true rank above 1 | 2, predicted below")
axes.plot(factors, alarms, "s--", label="false alarm: true rank below, predicted above")
axes.set(
    title="What a cost does to decisions",
    xlabel="cost of a miss, in false alarms",
    ylabel="share of samples",
    xscale="log",
    ylim=(0, 1),
)
axes.set_xticks(factors, [f"{factor:g}" for factor in factors])
axes.minorticks_off()
axes.legend(loc="center right")

# %%
# With ``CLOCClassifier(decision=costs)`` the costs become part of the model: ``predict``, the report and a saved
# model all decide by them. On the command line: ``ordinate fit knees.csv --target grade --costs costs.csv``.
