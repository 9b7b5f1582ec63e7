"""
Credit ratings with costs of mistakes
=====================================

**Question.** A lender rates companies from AAA to CCC, based on their accounts. A rating that is too good costs far
more than one that is too bad: the first risks a default, the second only loses some interest. Which rating should a
model assign?

After this tutorial you can write costs of mistakes as a matrix, let an ordinal classifier predict the rating with the
lowest expected cost, and measure on test data how much this saves compared with the most probable rating.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from ordinate import CLOCClassifier
from ordinate.decisions import compare_decisions, decide
from ordinate_papers.figures import plots

# %%
# The data
# --------
#
# The companies are generated: five figures from their accounts depend on a hidden credit quality, with noise. Ratings
# in the middle are the most frequent ones.

RATINGS = ["AAA", "AA", "A", "BBB", "BB", "B", "CCC"]
rng = np.random.default_rng(0)
n = 1500
weakness = rng.normal(size=n)
companies = pd.DataFrame(
    {
        "debt_to_equity": np.exp(0.7 * weakness + 0.5 * rng.normal(size=n)),
        "interest_coverage": np.exp(
            1.5 - 0.8 * weakness + 0.6 * rng.normal(size=n)
        ),
        "return_on_assets": 0.06 - 0.04 * weakness + 0.03 * rng.normal(size=n),
        "current_ratio": np.exp(0.4 - 0.2 * weakness + 0.4 * rng.normal(size=n)),
        "log_assets": 18 - 0.6 * weakness + 1.2 * rng.normal(size=n),
        "years": rng.integers(1, 80, n),
    }
)
ranks = np.digitize(weakness, [-1.8, -1.1, -0.4, 0.4, 1.1, 1.8])
X_train, X_test, y_train, y_test = train_test_split(
    companies, ranks, test_size=0.4, stratify=ranks, random_state=0
)

# %%
# The costs
# ---------
#
# Costs are in 1,000 € per loan. Rows are true ratings, columns predicted ones. If the predicted rating is too bad, each
# step costs 1 in lost interest. If it is too good, each step costs 3. A speculative company (BB or worse) that is
# predicted as investment grade (BBB or better) costs another 12.

true, predicted = np.mgrid[:7, :7]
too_good = np.maximum(true - predicted, 0)
too_bad = np.maximum(predicted - true, 0)
crosses = (true >= 4) & (predicted <= 3)
costs = 1.0 * too_bad + 3.0 * too_good + 12.0 * crosses

figure, axes = plt.subplots(figsize=(5, 4.2), layout="constrained")
axes.imshow(costs, cmap="Reds")
for i, j in np.ndindex(costs.shape):
    axes.text(
        j,
        i,
        f"{costs[i, j]:.0f}",
        ha="center",
        va="center",
        color="white" if costs[i, j] > 18 else "black",
    )
axes.set_xticks(range(7), RATINGS)
axes.set_yticks(range(7), RATINGS)
axes.set(
    xlabel="predicted rating", ylabel="true rating", title="Cost of each mistake"
)

# %%
# To use these costs on the command line, save the matrix with its labels (true ratings in the first column, predicted
# ratings in the first row), and pass the file to ``ordinate fit``:
#
# .. code-block:: python
#
#     pd.DataFrame(costs, RATINGS, RATINGS).to_csv("costs.csv")
#     rated = companies.assign(rating=[RATINGS[rank] for rank in ranks])
#     rated.to_csv("companies.csv", index=False)
#
# .. code-block:: none
#
#     ordinate fit companies.csv --target rating --order AAA,AA,A,BBB,BB,B,CCC \
#         --method cloc --costs costs.csv
#
# Train
# -----
#
# Expected costs need calibrated probabilities. On tables, ``fit`` calibrates the probabilities by temperature scaling;
# to do so, it trains a second model.

model = CLOCClassifier(epochs=(12, 25), random_state=0).fit(X_train, y_train)
probabilities = model.rank_probabilities(X_test)

# %%
# Two decision rules
# ------------------
#
# ``compare_decisions`` evaluates the most probable rating and the rating with the lowest expected cost on companies
# that the model has not seen.

comparison = compare_decisions(y_test, probabilities, costs)
for rule in ("most_probable", "least_cost"):
    cost = comparison[rule]["expected_cost"]
    accuracy = comparison[rule]["accuracy"]
    print(f"{rule:14} cost per loan {cost:.2f}, accuracy {accuracy:.2f}")
saving = comparison["saving"]
error = comparison["saving_standard_error"]
print(f"saved per loan: {saving:.2f} ± {error:.2f} (standard error)")

# %%
# The cheaper rule has the lower accuracy. Where the model is uncertain, this rule gives worse ratings, especially near
# the boundary of investment grade (red line):

most_probable = probabilities.argmax(1)
least_cost = decide(probabilities, costs)
figure, grid = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for axes, chosen, title in zip(
    grid,
    (most_probable, least_cost),
    ("most probable", "lowest expected cost"),
    strict=True,
):
    counts = np.histogram2d(y_test, chosen, bins=[np.arange(8) - 0.5] * 2)[0]
    axes.imshow(counts, cmap="Blues")
    for i, j in np.ndindex(counts.shape):
        if counts[i, j]:
            colour = "white" if counts[i, j] > counts.max() / 2 else "black"
            axes.text(
                j, i, f"{counts[i, j]:.0f}", ha="center", va="center", color=colour
            )
    axes.plot([-0.5, 3.5, 3.5], [3.5, 3.5, 6.5], color="tab:red")
    axes.set_xticks(range(7), RATINGS)
    axes.set_yticks(range(7), RATINGS)
    wrongly = int(((y_test >= 4) & (chosen <= 3)).sum())
    axes.set(
        title=f"{title}\n{wrongly} speculative companies as investment grade",
        xlabel="predicted",
        ylabel="true",
    )

# %%
# How sure are we of the costs?
# -----------------------------
#
# The penalty of 12 is an estimate. If it is wrong, is the rule still better? We choose ratings with an assumed penalty,
# and compute their costs with the true penalty.

assumed = np.array([0, 3, 6, 12, 24, 48])
paid = []
for penalty in assumed:
    chosen = decide(
        probabilities, 1.0 * too_bad + 3.0 * too_good + float(penalty) * crosses
    )
    paid.append(costs[y_test, chosen].mean())
figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
axes.plot(assumed, paid, "o-", label="lowest expected cost")
axes.axhline(
    costs[y_test, most_probable].mean(),
    color="0.5",
    linestyle="--",
    label="most probable rating",
)
axes.set(
    xlabel="assumed penalty (true: 12)", ylabel="cost per loan", ylim=(0, None)
)
axes.legend()

# %%
# **Decision.** Use the rating with the lowest expected cost. This is better than the most probable rating even if the
# penalty is wrong by a factor of four in either direction. ``CLOCClassifier(decision=costs)`` makes the rule part of
# the model, so that ``predict``, the report and a saved model use it.
#
# The embedding helps to explain a rating: companies lie in the order of the ratings, and those between BBB and BB are
# the ones to examine by hand.

plots.embedding(model.transform(X_test), y_test, RATINGS)
