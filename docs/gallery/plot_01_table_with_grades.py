"""
A table with grades
===================

A thousand children, ten answers of a social worker about each, and the decision that was taken, in four grades of
urgency (SWD, which comes with skordinal). We train CLOC on it, look at its errors, and at the embedding that it
predicts from.
"""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from skordinal.datasets import load_swd

from ordinate import CLOCClassifier
from ordinate.metrics import rank_report
from ordinate.report import figures

data = load_swd()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.25, stratify=data.target, random_state=0
)

# %%
# Train
# -----
#
# Estimators follow scikit-learn. ``epochs`` shortens CLOC's two phases of training for this page; without it, each
# is as long as suits the number of samples.

model = CLOCClassifier(epochs=(30, 60), random_state=0).fit(X_train, y_train)
model.predict_proba(X_test[:3]).round(2)

# %%
# Compare
# -------
#
# Grades are more than classes: a prediction that is off by two is worse than one that is off by one. So in
# addition to the accuracy, look at the mean absolute error in grades (MAE), and compare with baselines.

models = {
    "most frequent grade": DummyClassifier().fit(X_train, y_train),
    "logistic regression": LogisticRegression(max_iter=1000).fit(X_train, y_train),
    "CLOC": model,
}
for name, fitted in models.items():
    report = rank_report(y_test, fitted.predict(X_test), num_classes=4)
    print(f"{name:20}  accuracy {report['accuracy']:.3f}  MAE {report['mae']:.3f}")

# %%
# The labels are noisy: no model gets far beyond an accuracy of 0.6. Most errors lie next to the diagonal of the
# confusion matrix, between adjacent grades.

names = [str(grade) for grade in model.ordered_classes_]
ranks = np.searchsorted(model.ordered_classes_, y_test)
figures.predicted_ranks(ranks, np.searchsorted(model.ordered_classes_, model.predict(X_test)), names)

# %%
# Look at the embedding
# ---------------------
#
# ``transform`` gives the embedding. Its order is that of the grades, and a test sample that lies between two colours is
# one that the model is unsure of.

figures.embedding(model.transform(X_test), ranks, names)

# %%
# The same as numbers: the mean cosine between the samples of every two grades falls with their distance.

figures.cosine_matrix(model.transform(X_test), ranks, names)
