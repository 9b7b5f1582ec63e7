"""scikit-learn's conformity suite: on estimators whose code is that of others, what each of them could break alone."""

import pytest
from _pytest.mark.structures import ParameterSet
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

ESSENTIAL = {
    "check_no_attributes_set_in_init",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
    "check_valid_tag_types",
    "check_estimators_overwrite_params",
    "check_estimators_unfitted",
    "check_supervised_y_no_nan",
    "check_n_features_in",
    "check_fit_idempotent",
    "check_methods_subset_invariance",
    "check_estimators_pickle",
    "check_classifiers_train",
    "check_regressors_train",
}
GROUPS = {
    "check_parameters_default_constructible": "defaults are groups of options too, which cannot be changed in place",
}
UNORDERED = {"check_classifiers_classes": "text has no order without class_order, and is refused"}
REPEATED = {
    "check_estimator_sparse_matrix",  # as check_estimator_sparse_array
    "check_transformer_data_not_an_array",  # as check_classifier_data_not_an_array and that of regressors
}
EQUIVALENCE = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "samples that are repeated meet in batches, and are standardised with their repetitions",
) | {"check_parameters_default_constructible": "the default of a group of options is an immutable object"}
UNWEIGHTED = dict.fromkeys(
    (
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_list",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_classifiers_one_label_sample_weights",
        "check_all_zero_sample_weights_error",
        *EQUIVALENCE,
        "check_class_weight_classifiers",
    ),
    "the loss has no anchors that could be weighted, and says so",
)


LEARNING = {"check_classifiers_train", "check_regressors_train", "check_class_weight_classifiers"}


def run_check(estimator, check):
    """Run a check, with few epochs where nothing has to be learned."""
    if getattr(check, "func", check).__name__ not in LEARNING:
        settings = estimator.get_params()
        name = "epochs"
        estimator = clone(estimator).set_params(**{name: (1, 1) if isinstance(settings[name], tuple) else 2})
    check(estimator)


def parametrize_with_every_check(estimators, expected_failed_checks=lambda _: EQUIVALENCE):
    """``parametrize_with_checks``; what repeats a check with other containers, or is known to fail, is thorough."""
    return _parametrize(estimators, expected_failed_checks, lambda name: name not in REPEATED)


def parametrize_with_essential_checks(estimators, expected_failed_checks=lambda _: EQUIVALENCE):
    """Of ``parametrize_with_checks`` the essential ones; the others are thorough."""
    return _parametrize(estimators, expected_failed_checks, ESSENTIAL.__contains__)


def _parametrize(estimators, expected_failed_checks, chosen):
    def expected(estimator):
        unordered = UNORDERED if hasattr(estimator, "class_order") else {}
        return GROUPS | unordered | expected_failed_checks(estimator)

    mark = parametrize_with_checks(estimators, expected_failed_checks=expected)
    names, cases = mark.args
    return pytest.mark.parametrize(names, [_mark(case, chosen) for case in cases], **mark.kwargs)


def _mark(case, chosen):
    case = case if isinstance(case, ParameterSet) else pytest.param(*case)
    check = case.values[1]
    plain = not case.marks and not check.keywords and chosen(check.func.__name__)
    return case if plain else pytest.param(*case.values, marks=[*case.marks, pytest.mark.thorough], id=case.id)
