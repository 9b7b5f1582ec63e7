"""
A critical boundary and its price
=================================

Some mistakes matter more than others: say, to call rank 2 (treat) rank 1 (wait). CLOC lets you fix the margin at that
boundary by hand. A wider margin may lower the error there, and may cost accuracy elsewhere; a sweep measures both, so
that you need not believe either.
"""

import numpy as np

from ordinate import CLOCClassifier
from ordinate.report.curves import margin_trade
from ordinate.report.margin_sweep import mean_trade, sweep_margin

# %%
# Four ranks that overlap: a hidden severity, seen through eight noisy measurements.

rng = np.random.default_rng(0)


def draw(samples):
    severity = rng.uniform(0, 4, samples)
    X = np.column_stack([severity, severity**2 / 4, *rng.normal(size=(6, samples))])
    X[:, :2] += 0.7 * rng.normal(size=(samples, 2))
    return X, severity.astype(int)


X, y = draw(400)
X_validation, y_validation = draw(1000)

# %%
# Train with a margin that is learned (``None``), and with four that are fixed, three seeds each. The samples that they
# are compared on are not those that the final model is judged by: what you choose here, you choose on them.


def build(margins, seed):
    return CLOCClassifier(critical_margins=margins, phase_epochs=(15, 30), random_state=seed)


runs = sweep_margin(
    build, X, y, X_validation, y_validation, boundary=(1, 2), margins=[None, 0.5, 1.0, 1.5, 2.0], seeds=[0, 1, 2]
)
for run in runs[::3]:
    print(run["margin"], f"critical error {run['critical_error']:.3f}, accuracy {run['accuracy']:.3f}")

# %%
# Each point is a margin, its bars the deviation over the seeds. Left and up is bad. If the points lie on top of each
# other within their bars, the margin is not what decides; then costs
# (:ref:`sphx_glr_generated_gallery_plot_04_costs.py`) are the tool to use.

margin_trade(**mean_trade(runs), boundary_name="1 | 2")

# %%
# On the command line the chosen margin is ``ordinate fit knees.csv --target grade --method cloc --margin 1,2=1.0``.
