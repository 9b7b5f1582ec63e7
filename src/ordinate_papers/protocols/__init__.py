"""The experiments of the papers, as functions of an estimator and data.

What their arguments have in common:

- ``estimator``: an unfitted estimator; clones of it are trained.
- ``X``, ``y``: n training samples, as the estimator expects them, and their labels (n,).
- ``X_test``, ``y_test``: the samples to measure on, and their labels.
- ``seed``: of what is drawn, 0 or more; the estimator's training follows its ``random_state``.
- ``groups``: (n,) of the training samples, for an estimator that holds some of them out by itself: no group is on both
  sides.
- ``keep``: keeps the figures of each part, see :class:`~ordinate_papers.protocols.parts.KeptParts`.

They return the figures as ``rows``, one record each. Labels of another shape than (n,), and what the estimator refuses,
are an ``OrdinateError``.
"""
