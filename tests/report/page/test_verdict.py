"""The verdict on a model: a sentence that follows from the errors of what it is compared with."""

from dataclasses import replace

import numpy as np
import pytest

from ordinate.report.page.measures import Predictor, score_all
from ordinate.report.page.verdict import Compared, find_verdict
from tests.report.page.stand_ins import contents

pytestmark = pytest.mark.usefixtures("few_trees")
TRUE = np.repeat([0, 1, 2, 3], 50)
WRONG = np.where(np.arange(200) % 4 == 0, np.minimum(TRUE + 1, 3), TRUE)  # 50 samples, 12 of them of the last rank


def of_ranks(predicted, **others):
    """A verdict on predictions of ranks, compared with others."""
    of = contents(TRUE, predicted)
    model = score_all(of, simple_models=False)[0]
    scored = [score_all(contents(TRUE, each), simple_models=False)[0].scores for each in others.values()]
    return find_verdict(of, [model, *map(Predictor, others, others.values(), scored)])


def test_a_model_is_better_than_the_best_of_the_others():
    found = of_ranks(TRUE, worse=3 - TRUE, forest=WRONG)
    assert str(found) == "100% right, off by 0.00 grades on average; better than forest by 100%"
    assert found.kind == "better"


def test_samples_of_its_training_tell_nothing():
    of = contents(TRUE, TRUE)
    model, *others = score_all(replace(of, training_inputs=of.inputs, training_labels=TRUE))
    found = find_verdict(replace(of, training_inputs=of.inputs, training_labels=TRUE), [model, *others])
    assert found.comparison == "most of these samples are those that it was trained on"
    assert found.kind == "unclear"


def test_a_model_that_errs_as_often_is_not_clearly_better_and_may_be_better_than_others():
    found = of_ranks(WRONG, forest=WRONG, constant=np.full(200, 1))
    error = np.abs(WRONG - TRUE).mean()
    assert found.result == f"{np.mean(WRONG == TRUE):.0%} right, off by {error:.2f} grades on average"
    assert found.comparison == f"not clearly better than forest, better than constant by {1 - error / 1:.0%}"
    assert found.kind == "unclear"


def test_a_model_is_worse_by_the_share_of_the_errors_of_the_best():
    found = of_ranks(3 - TRUE, forest=WRONG)
    error = np.abs(WRONG - TRUE).mean()
    assert found.comparison == f"worse than forest by a factor of {2 / error:.1f}"
    assert found.kind == "worse"
    assert of_ranks(WRONG, forest=TRUE).comparison == "worse than forest"


def test_all_that_are_about_as_good_are_named_before_what_it_is_better_than():
    found = of_ranks(WRONG, forest=WRONG, boosting=WRONG, neighbours=np.minimum(TRUE + 2, 3))
    assert found.comparison.startswith("not clearly better than forest or boosting, better than neighbours by ")


def test_a_model_that_is_no_better_than_a_constant_says_so_whatever_else_it_is_better_than():
    constant = np.full(200, 1)
    assert of_ranks(constant, constant=constant, worse=3 - TRUE).comparison == "not clearly better than constant"
    assert of_ranks(3 - TRUE, constant=constant, worse=3 - TRUE).comparison == "not better than constant"


def test_targets_have_a_verdict_each():
    target = np.linspace(0, 9, 40)
    both = [contents(target, target + shift, names=None) for shift in (0, 2)]
    scored = [score_all(each) for each in both]
    found = Compared.of(both, scored, ["east", "north"])
    assert list(found.verdicts) == ["east", "north"]
    assert [each.name for each in found.predictors][::3] == ["east, SupCR", "north, SupCR"]
    assert found.verdicts["north"].result == "off by 2 on average"
    assert found.verdicts["east"].kind == "better"


def test_a_model_behind_a_constant_and_a_better_model_names_both():
    constant = np.full(200, 1)
    found = of_ranks(3 - TRUE, constant=constant, forest=WRONG).comparison
    assert found == "not better than constant, and worse than forest"
