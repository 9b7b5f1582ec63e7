"""Threads of one process fit and load what a single thread does, and draw nothing of the user's."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import ordinate
from tests.estimators.examples import cloc, draw_table, otd, ranks_of, supcr, supremix

X, TARGET = draw_table()
KINDS = {"cloc": cloc, "otd": otd, "supcr": supcr, "supremix": supremix}


def fit(name, seed):
    y = ranks_of(TARGET) if name in ("cloc", "otd") else TARGET
    return KINDS[name](random_state=seed).fit(X, y).transform(X)


def test_fits_in_threads_are_those_of_one_thread():
    asked = [(name, seed) for seed in range(2) for name in KINDS]
    alone = [fit(*one) for one in asked]
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    with ThreadPoolExecutor(6) as threads:
        at_once = list(threads.map(lambda one: fit(*one), asked))
    assert torch.rand(1) == expected
    for one, other in zip(alone, at_once, strict=True):
        np.testing.assert_array_equal(one, other)


def test_models_load_while_others_are_fitted(tmp_path):
    model = cloc(random_state=0).fit(X, ranks_of(TARGET))
    model.save(tmp_path / "model")
    alone, expected = fit("supremix", 1), model.predict_proba(X)
    with ThreadPoolExecutor(4) as threads:
        fits = [threads.submit(fit, "supremix", 1) for _ in range(2)]
        loaded = [threads.submit(lambda: ordinate.load(tmp_path / "model").predict_proba(X)) for _ in range(8)]
        for one in loaded:
            np.testing.assert_array_equal(one.result(), expected)
        for one in fits:
            np.testing.assert_array_equal(one.result(), alone)


def test_a_fit_that_fails_leaves_the_turn_to_others():
    with pytest.raises(ValueError, match="rank with two samples or more"), ThreadPoolExecutor(1) as threads:
        threads.submit(lambda: cloc().fit(X[:4], [0, 0, 0, 1])).result()
    fit("cloc", 0)
