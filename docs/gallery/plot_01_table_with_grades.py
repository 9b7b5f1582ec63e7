"""
A table with grades
===================

SWD (included in skordinal) contains ten answers of a social worker about each of 1,000 children, and the decision that
was taken, in four grades of urgency. This example trains CLOC on the table, compares it with simple models, and looks
at the confusion matrix and the embedding.
"""

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from skordinal.datasets import load_swd

from ordinate import CLOCClassifier
from ordinate.metrics import rank_report
from ordinate_papers.figures import plots

data = load_swd()
X_train, X_test, y_train, y_test = train_test_split(
    data.data, data.target, test_size=0.25, stratify=data.target, random_state=0
)

# %%
# Train
# -----
#
# The estimators follow scikit-learn. ``epochs`` shortens CLOC's two training phases for this page. By default the
# number of epochs depends on the number of samples.

model = CLOCClassifier(epochs=(30, 60), random_state=0).fit(X_train, y_train)
model.predict_proba(X_test[:3]).round(2)

# %%
# Compare with baselines
# ----------------------
#
# Grades are ordered: a prediction that is off by two grades is worse than one that is off by one. Accuracy ignores
# this, so the table also shows the mean absolute error (MAE) in grades.

models = {
    "most frequent grade": DummyClassifier().fit(X_train, y_train),
    "logistic regression": LogisticRegression(max_iter=1000).fit(X_train, y_train),
    "CLOC": model,
}
for name, fitted in models.items():
    report = rank_report(y_test, fitted.predict(X_test), num_classes=4)
    print(f"{name:20}  accuracy {report['accuracy']:.3f}  MAE {report['mae']:.3f}")

# %%
# The labels are noisy judgements, and no model gets far beyond 60% accuracy. The confusion matrix shows that most
# mistakes are between neighbouring grades.

names = [str(grade) for grade in model.ordered_classes_]
ranks = np.searchsorted(model.ordered_classes_, y_test)
plots.predicted_ranks(ranks, np.searchsorted(model.ordered_classes_, model.predict(X_test)), names)

# %%
# The embedding
# -------------
#
# ``transform`` returns the embedding. The samples lie in the order of the grades. A test sample between two colours is
# one for which the model is uncertain.

plots.embedding(model.transform(X_test), ranks, names)

# %%
# The next figure shows the same in numbers. The mean cosine similarity between the samples of two grades decreases with
# the distance between the grades.

plots.cosine_matrix(model.transform(X_test), ranks, names)
