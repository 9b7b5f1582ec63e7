"""
Decide by the costs of mistakes
===============================

Probabilities alone do not determine the best decision; the costs of mistakes do. In this example, missing a disease
(predicting a rank below the boundary ``1 | 2`` for a sample above it) costs more than a false alarm.
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
# By default each boundary that a mistake crosses costs 1, and the costs of several boundaries are added. Rows are true
# ranks, columns are predicted ranks.

# Across the boundary 1 | 2, predicting too low costs 5 and predicting too high costs 1.
costs = cost_matrix(4, critical={(1, 2): (5.0, 1.0)})
costs

# %%
# ``decide`` returns the rank with the lowest expected cost. ``compare_decisions`` measures on test samples how much
# this saves compared with the most probable rank, with a standard error. A saving of less than two standard errors may
# be chance.

comparison = compare_decisions(y_test, probabilities, costs)
print(f"saved per sample: {comparison['saving']:.3f} ± {comparison['saving_standard_error']:.3f}")
for rule in ("most_probable", "least_cost"):
    measured = comparison[rule]
    print(f"{rule:14} cost {measured['expected_cost']:.3f}, accuracy {measured['accuracy']:.3f}, "
          f"missed above 1 | 2: {measured['too_low'][1]:.2f}, false alarms: {measured['too_high'][1]:.2f}")  # fmt: skip

# %%
# The more a miss costs, the more false alarms are acceptable:

factors = np.array([1, 1.5, 2, 3, 5, 8, 12, 20])
missed, alarms = [], []
for factor in factors:
    predicted = decide(probabilities, cost_matrix(4, critical={(1, 2): (float(factor), 1.0)}))
    missed.append((predicted[y_test >= 2] < 2).mean())
    alarms.append((predicted[y_test < 2] >= 2).mean())

figure, axes = plt.subplots()
axes.plot(factors, missed, "o-", label="missed: true rank above 1 | 2, predicted rank below")
axes.plot(factors, alarms, "s--", label="false alarm: true rank below, predicted rank above")
axes.set(
    title="The cost of a miss changes the decisions",
    xlabel="cost of a miss relative to a false alarm",
    ylabel="share of samples",
    xscale="log",
    ylim=(0, 1),
)
axes.set_xticks(factors, [f"{factor:g}" for factor in factors])
axes.minorticks_off()
axes.legend(loc="center right")

# %%
# With ``CLOCClassifier(decision=costs)`` the costs are part of the model: ``predict``, the report and a saved model use
# them. On the command line: ``ordinate fit knees.csv --target grade --costs costs.csv``.
