"""The experiments of the papers, as functions of an estimator and data."""
