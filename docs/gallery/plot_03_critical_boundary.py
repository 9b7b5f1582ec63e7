"""
Fix the margin of a critical boundary
=====================================

Some mistakes matter more than others, for example predicting rank 1 (wait) instead of rank 2 (treat). CLOC lets you fix
the margin of that boundary. A wider margin can lower the error there and can cost accuracy elsewhere. A sweep measures
both.
"""

import numpy as np

from ordinate import CLOCClassifier
from ordinate.report.curves import margin_trade
from ordinate.report.margin_sweep import mean_trade, sweep_margin

# %%
# The data have four ranks that overlap: a hidden severity, observed through eight noisy measurements.

rng = np.random.default_rng(0)


def draw(samples):
    severity = rng.uniform(0, 4, samples)
    X = np.column_stack([severity, severity**2 / 4, *rng.normal(size=(6, samples))])
    X[:, :2] += 0.5 * rng.normal(size=(samples, 2))
    return X, severity.astype(int)


X, y = draw(250)
X_validation, y_validation = draw(2000)

# %%
# The sweep trains with a learned margin (``None``) and with fixed margins, with three seeds each. Validation samples
# are used for the comparison. To report the error of the chosen model, use other samples.


def build(margins, seed):
    return CLOCClassifier(critical_margins=margins, epochs=(15, 15), random_state=seed)


runs = sweep_margin(
    build, X, y, X_validation, y_validation, boundary=(1, 2), margins=[None, 0.4, 1.2, 2.0], seeds=[0, 1, 2]
)
trade = mean_trade(runs)
for margin, error, accuracy in zip(trade["margins"], trade["critical_error"], trade["accuracy"], strict=True):
    print(f"margin {margin or 'learned':7}  error between 1 and 2: {error:.3f}  accuracy: {accuracy:.3f}")

# %%
# Each point is a margin, and its bars show the standard deviation over the seeds. Lower points have a lower error at
# the critical boundary, points further right have a higher accuracy.

margin_trade(**trade, boundary_name="ranks 1 and 2")

# %%
# A margin of 2 is the largest possible difference of two cosines. It makes mistakes between ranks 1 and 2 rare, but one
# prediction in six that was correct becomes wrong, because the embedding has no room left for the other boundaries.
# Whether this trade is worthwhile depends on your application. It does not always exist: on KOA's X-rays a fixed margin
# changed little (:doc:`/measured`).
#
# If the two directions of a mistake have different costs, use costs
# (:ref:`sphx_glr_generated_gallery_plot_04_costs.py`). They change the decision and leave the training as it is.
#
# On the command line: ``ordinate fit knees.csv --target grade --method cloc --margin 1,2=1.2``.
