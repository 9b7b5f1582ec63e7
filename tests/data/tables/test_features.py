"""Tables against the scaler, imputer, quantiles and one-hot encoder of scikit-learn, and SciPy's ranks."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler
from torch import nn

from ordinate.data.tables.columns import MAX_QUANTILES, MIN_VALUES_TO_SCORE
from ordinate.data.tables.csv_table import CsvTable
from ordinate.data.tables.features import TableFeatures, check_unseen
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.encoders import MLP
from ordinate.errors import OrdinateError
from tests.estimators.examples import draw_frame

EXACT = {"rtol": 1e-6, "atol": 1e-6}  # float32
numbers = st.integers(-4000, 4000).map(lambda x: x / 8)
columns = st.lists(numbers, min_size=2, max_size=40)
gappy_columns = st.lists(numbers | st.none(), min_size=2, max_size=40).filter(any)
MIXED = pd.DataFrame(
    {
        "size": [1.0, None, 4.0, 2.5],
        "colour": ["red", "blue", None, "red"],
        "count": [1, 2, 3, 3],
        "flag": [True, False, False, True],
        "constant": [5.0] * 4,
    }
)


def fit_transform(values, new=None):
    """One column, fitted and transformed."""
    features = TableFeatures.fit(pd.DataFrame({"x": values}))
    return features.transform(pd.DataFrame({"x": values if new is None else new}))


def categories(values, new=None):
    """Which category each value is of; -1 for none."""
    codes = fit_transform(pd.Series(values), None if new is None else pd.Series(new))
    assert set(codes.sum(axis=1)) <= {0, 1}
    return np.where(codes.any(axis=1), codes.argmax(axis=1) if codes.size else -1, -1).tolist()


def column(values):
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["36,234", "37,000"] * 4, "x: has numbers with a decimal comma, and is treated as 2 categories"),
        ([*map(str, range(15)), "low"], "x: has 15 numbers and 'low', and is treated as 16 categories"),
        (
            ["1,500", *map(str, range(15)), "low"],
            "x: has 16 numbers, some with a decimal comma, and 'low', and is",
        ),
    ],
)
def test_text_that_is_almost_numbers_is_named(values, said):
    note, *_ = TableFeatures.fit(pd.DataFrame({"x": values})).notes
    assert note.startswith(said)
    declared = TableFeatures.fit(pd.DataFrame({"x": pd.Categorical(values)})).notes
    assert not any("numbers" in note for note in declared)


def test_too_much_text_that_is_almost_numbers_says_what_is_wrong():
    with pytest.raises(
        OrdinateError, match=r"text with 100 different values in 100 rows.*; it has numbers with a decimal"
    ):
        TableFeatures.fit(pd.DataFrame({"x": [f"{i},500" for i in range(100, 200)]}))
    words = ["low", "?", "high", "none", "odd", "bad", "off"]
    with pytest.raises(OrdinateError, match=r"; it has 93 numbers and 'bad', 'high', .*; leave cells without"):
        TableFeatures.fit(pd.DataFrame({"x": [*map(str, range(93)), *words]}))


def test_a_few_words_among_numbers_are_missing_in_training_and_in_new_rows():
    scores = [*map(str, [*range(11)] * 10), "refused"]
    features = TableFeatures.fit(pd.DataFrame({"pain": scores, "age": np.arange(111)}))
    numbers = TableFeatures.fit(pd.DataFrame({"pain": pd.to_numeric(pd.Series(scores), errors="coerce")}))
    assert features.notes[0].startswith("pain: contains numbers and 'refused' in 1 of 111 rows, treated as missing")
    assert features.columns[0] == replace(numbers.columns[0], words=("refused",))
    assert TableFeatures.fit(pd.DataFrame({"pain": [*scores, ["a"]]})[:-1]).columns[0] == features.columns[0]
    refused = pd.DataFrame({"pain": ["refused"], "age": [3]})
    np.testing.assert_array_equal(features.transform(refused), features.transform(refused.assign(pain=np.nan)))
    new = pd.DataFrame({"pain": ["3", "pending", "refused", "7"], "age": range(4)})
    with pytest.warns(UserWarning, match=r"column 'pain': pending not seen in training, .* missing \(1 of 4 rows\)"):
        found = TableFeatures.from_dict(features.to_dict()).transform(new)
    without = new.assign(pain=[3, np.nan, np.nan, 7])
    np.testing.assert_array_equal(found, features.transform(without))
    message = "column 'pain': got 'pending' in 3 of 4 rows, expected numbers, as in training; leave cells without"
    with pytest.raises(OrdinateError, match=message):
        features.transform(new.assign(pain=["3", "pending", "pending", "pending"]))


def test_a_text_that_several_rows_share_may_be_a_group():
    ids = [f"p{row // 6}" for row in range(600)]
    with pytest.raises(OrdinateError, match=r"'patient': got text with 100 .*belong together, group="):
        TableFeatures.fit(pd.DataFrame({"patient": ids}))


@pytest.mark.parametrize("values", [["01", "02", "03"], ["1", "2", "none"], ["mild", "severe"]])
def test_codes_are_categories_without_a_word(values):
    assert TableFeatures.fit(pd.DataFrame({"x": values * 4})).notes == []


# numbers


@given(train=columns, new=columns)
def test_numbers_are_standardised_as_by_scikit_learn(train, new):
    scaler = StandardScaler().fit(column(train))
    expected = scaler.transform(column(new)) if scaler.var_ > 0 else np.zeros((len(new), 1))
    np.testing.assert_allclose(fit_transform(train, new)[:, :1], expected, rtol=1e-5, atol=1e-5)


@given(train=gappy_columns, new=gappy_columns)
def test_missing_numbers_become_the_median_and_are_marked_as_by_scikit_learn(train, new):
    train, new = column(train), column(new)
    imputer = SimpleImputer(strategy="median").fit(train)
    scaler = StandardScaler().fit(imputer.transform(train))
    actual = fit_transform(train[:, 0], new[:, 0])
    expected = scaler.transform(imputer.transform(new)) if scaler.var_ > 0 else np.zeros_like(new)
    np.testing.assert_allclose(actual[:, :1], expected, rtol=1e-5, atol=1e-5)
    if np.isnan(train).any():
        np.testing.assert_array_equal(actual[:, -1:], np.isnan(new))


def test_numbers_missing_only_in_new_rows_are_the_median():
    np.testing.assert_array_equal(fit_transform([1.0, 2.0, 6.0], [np.nan]), fit_transform([1.0, 2.0, 6.0], [2.0]))


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "Int64", "Float64", "int64[pyarrow]"])
def test_the_dtype_of_numbers_does_not_matter(dtype):
    values = pd.Series([3, 1, 2, 7])
    np.testing.assert_array_equal(fit_transform(values.astype(dtype)), fit_transform(values))


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "int64[pyarrow]"])
def test_missing_numbers_of_every_dtype_are_marked(dtype):
    np.testing.assert_array_equal(
        fit_transform(pd.array([3, None, 2, 7], dtype=dtype)), fit_transform([3.0, np.nan, 2.0, 7.0])
    )


def test_numbers_that_come_as_text_are_numbers():
    np.testing.assert_array_equal(fit_transform([1.0, 2.0, 3.0], ["1", "2.5"]), fit_transform([1, 2, 3], [1, 2.5]))


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e9, 1e-9])
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_a_constant_column_is_zero(value, rows):
    np.testing.assert_allclose(fit_transform([value] * rows), 0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("values", [[np.nan] * 3, pd.array([None] * 3, dtype="Int64")])
def test_a_column_without_a_value_is_zero_and_marked(values):
    np.testing.assert_array_equal(fit_transform(values), [[0, 1]] * 3)


@pytest.mark.parametrize(
    "scale",
    [1e-3, 1e6, 1e-15],
)
def test_the_unit_of_a_column_does_not_matter(scale):
    values = np.array([1.0, 2.0, 5.0, 7.0])
    np.testing.assert_allclose(fit_transform(values * scale), fit_transform(values), **EXACT)


# normal scores


def normal_scores(train, new):
    """Those of scikit-learn, within 3 of 0."""
    quantiles = QuantileTransformer(
        n_quantiles=min(MAX_QUANTILES, len(train)), output_distribution="normal", subsample=None
    )
    return quantiles.fit(column(train)).transform(column(new)).clip(-3, 3)


@given(train=st.lists(numbers, min_size=MIN_VALUES_TO_SCORE + 1, max_size=60, unique=True), new=columns)
def test_normal_scores_are_the_quantile_transform_of_scikit_learn(train, new):
    np.testing.assert_allclose(fit_transform(train, new)[:, 1:], normal_scores(train, new), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [43, 57, 127, 199])
def test_repeated_values_have_the_score_of_the_middle_of_their_places(rows):
    values = np.random.default_rng(rows).integers(-12, 13, rows) / 8
    places = (rankdata(values) - 1) / (rows - 1)
    np.testing.assert_allclose(fit_transform(values)[:, 1], norm.ppf(places).clip(-3, 3), rtol=1e-5, atol=1e-5)


def test_normal_scores_of_many_values_follow_their_quantiles():
    train = np.random.default_rng(0).lognormal(size=1000)
    new = np.linspace(-1, train.max() + 1, 500)
    actual = fit_transform(train, new)[:, 1:]
    np.testing.assert_allclose(actual, normal_scores(train, new), rtol=0, atol=0.02)  # knots are values that occur
    assert (actual.min(), actual.max()) == (-3, 3)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("values", [3, 30])
def test_every_column_of_the_matrix_has_the_name_of_what_it_holds(values, missing):
    numbers = np.arange(60.0) % values
    numbers[:5] = np.nan if missing else 0.0
    features = TableFeatures.fit(pd.DataFrame({"size": numbers}))
    score, mark = ["size, normal score"] * (values > MIN_VALUES_TO_SCORE), ["size, missing"] * missing
    assert features.features == ["size", *score, *mark]
    assert features.width == len(features.features)


def test_a_column_of_few_values_has_no_normal_score():
    values = [*range(MIN_VALUES_TO_SCORE)] * 3
    assert fit_transform(values).shape[1] == 1
    assert fit_transform([*values, MIN_VALUES_TO_SCORE]).shape[1] == 2
    assert fit_transform([*values, None]).shape[1] == 2


def test_a_missing_number_has_the_score_of_the_median_and_is_marked_last():
    values = [*map(float, range(21)), np.nan]
    np.testing.assert_array_equal(
        fit_transform(values, [np.nan, 10.0, 3.0])[0], [*fit_transform(values, [10.0])[0, :2], 1]
    )


# categories


@given(
    train=st.lists(st.sampled_from("abcdé"), min_size=1, max_size=20),
    new=st.lists(st.sampled_from("abcdé"), min_size=1),
)
def test_categories_are_coded_as_by_scikit_learn(train, new):
    new = [value for value in new if value in train] or train
    encoder = OneHotEncoder(sparse_output=False).fit(column_of_text(train))
    np.testing.assert_array_equal(fit_transform(train, new), encoder.transform(column_of_text(new)))


def column_of_text(values):
    return np.array(values, dtype=object)[:, None]


def test_an_unseen_category_is_zero_and_warned_of():
    with pytest.warns(UserWarning, match="column 'x': green, pink not seen in training"):
        assert categories(["red", "blue"], ["green", "red", "pink", "green"]) == [-1, 1, -1, -1]


def test_a_missing_category_is_zero_without_a_warning(recwarn):
    assert categories(["red", None, "blue"], [None, "red", np.nan, pd.NA]) == [-1, 1, -1, -1]
    assert not recwarn.list


ONE_AND_TWO = {
    "int category": pd.Series([1, 2]).astype("category"),
    "float category": pd.Series([1.0, 2.0]).astype("category"),
    "text category": pd.Series(["1", "2"]).astype("category"),
    "text": pd.Series(["1", "2"]),
    "object of ints": pd.Series([1, 2], dtype=object),
    "object of floats": pd.Series([1.0, 2.0], dtype=object),
    "int": pd.Series([1, 2]),
    "float": pd.Series([1.0, 2.0]),
    "Int64": pd.Series([1, 2], dtype="Int64"),
}


@pytest.mark.parametrize("new", ONE_AND_TWO.values(), ids=ONE_AND_TWO)
@pytest.mark.parametrize("train", [name for name in ONE_AND_TWO if name.startswith(("int c", "float c", "text c"))])
def test_a_code_is_one_category_as_1_and_as_1_0(train, new):
    assert categories(ONE_AND_TWO[train], new) == [0, 1]


@pytest.mark.parametrize("number", [int, float])
def test_codes_of_many_digits_are_categories_of_their_own(number):
    codes = pd.Series([1000001, 1000002, 12345678]).map(number)
    for dtype in ("category", "int64", "float64", "object"):
        assert categories(codes.astype("category"), codes.astype(dtype)) == [0, 1, 2]


def test_close_fractions_are_categories_of_their_own():
    assert categories(pd.Series([1.25, 1.2500001]).astype("category")) == [0, 1]


BOOLEANS = {
    "bool": [True, False],
    "boolean": pd.array([True, False], dtype="boolean"),
    "object": pd.Series([True, False], dtype=object),
    "category": pd.Series([True, False]).astype("category"),
    "text": ["True", "False"],
}


@pytest.mark.parametrize("new", BOOLEANS.values(), ids=BOOLEANS)
@pytest.mark.parametrize("train", BOOLEANS.values(), ids=BOOLEANS)
def test_booleans_are_two_categories(train, new):
    assert categories(train, new) == [1, 0]


def test_categories_that_no_row_has_are_left_out():
    assert fit_transform(pd.Categorical(["b", "a"], categories=["z", "b", "a"])).shape == (2, 2)


@pytest.mark.parametrize(("rows", "most"), [(60, 50), (1000, 100)])
def test_text_of_too_many_values_is_an_error(rows, most):
    names = [f"id{i}" for i in range(most + 1)]
    assert fit_transform((names[:most] * rows)[:rows]).shape == (rows, most)
    with pytest.raises(OrdinateError, match=f"column 'x': got text with {most + 1} different values in {rows:,} rows"):
        fit_transform((names * rows)[:rows])


# tables


def test_columns_stand_side_by_side_and_say_where_their_numbers_are():
    table = pd.concat([MIXED] * 5, ignore_index=True).assign(age=range(20))
    features = TableFeatures.fit(table)
    matrix = features.transform(table)
    parts = [TableFeatures.fit(table[[name]]).transform(table[[name]]) for name in table]
    np.testing.assert_array_equal(matrix, np.concatenate(parts, axis=1))
    assert matrix.dtype == np.float32
    assert matrix.shape == (20, features.width)
    assert features.names == list(table)
    assert [part.shape[1] for part in parts] == [2, 2, 1, 2, 1, 2]
    assert features.numeric_positions == [0, 4, 7, 8, 9]


def test_the_order_of_columns_and_further_ones_do_not_matter():
    features = TableFeatures.fit(MIXED)
    shuffled = MIXED[MIXED.columns[::-1]].assign(further="x")
    np.testing.assert_array_equal(features.transform(shuffled), features.transform(MIXED))


def test_a_row_does_not_depend_on_the_others_or_on_the_index():
    features = TableFeatures.fit(MIXED)
    rows = [features.transform(MIXED.iloc[[i]]) for i in (2, 0, 0)]
    np.testing.assert_array_equal(np.concatenate(rows), features.transform(MIXED)[[2, 0, 0]])


@given(
    sizes=gappy_columns | columns,
    colours=st.lists(st.sampled_from(["red", "é", '"', "1", None]), min_size=40, max_size=40),
)
@example(sizes=[*range(30)], colours=["red"] * 40)
def test_features_survive_json(sizes, colours):
    frame = pd.DataFrame({"size": pd.Series(sizes, dtype=float), "colour": colours[: len(sizes)]})
    features = TableFeatures.fit(frame)
    restored = TableFeatures.from_dict(json.loads(json.dumps(features.to_dict(), allow_nan=False)))
    assert restored.columns == features.columns
    assert restored.notes == features.notes
    np.testing.assert_array_equal(restored.transform(frame), features.transform(frame))


def test_what_was_missing_is_noted():
    assert TableFeatures.fit(MIXED).notes == [
        "missing values of size (1 of 4), colour (1 of 4): numbers become the median, marked in a column; text "
        "gets no category"
    ]


def test_a_table_without_columns_has_width_0():
    features = TableFeatures.fit(pd.DataFrame(index=range(3)))
    assert features.transform(pd.DataFrame(index=range(2))).shape == (2, 0)


@pytest.mark.parametrize(
    ("train", "new", "message"),
    [
        ([1.0, 2.0], ["1", "2b"], "column 'x': got '2b' in 1 of 2 rows, expected numbers, as in training"),
        ([1.0, 2.0], [1.0, np.inf], "column 'x': got infinity"),
        ([1.0, 2.0], [-np.inf, 1.0], "column 'x': got infinity"),
        ([1.0, np.inf], None, "column 'x': got infinity"),
        ([1.0, None, -np.inf], None, "column 'x': got infinity"),
        (
            [pd.Timestamp("2020-01-31", tz="UTC"), pd.Timestamp("2020-02-01", tz="Asia/Tokyo")],
            None,
            "column 'x': got times in several zones",
        ),
        (["a", "b"], pd.to_datetime(["2020-01-01", "2021-01-01"]), "column 'x': got dates"),
        ([1.0, 2.0], pd.to_datetime(["2020-01-01", "2021-01-01"]), "column 'x'"),
        ([1.0, 2.0, 3.0], [1e300, 1.0], "column 'x'"),
        ([1.0, 2.0, 1e300], None, "column 'x'"),
        ([1j, 2.0], None, "column 'x'"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
def test_what_a_column_cannot_take_is_an_error_that_names_it(train, new, message):
    with pytest.raises(OrdinateError, match=f"^{message}"):
        fit_transform(train, new)


def test_a_missing_column_is_an_error_that_names_it():
    with pytest.raises(
        OrdinateError, match=r"columns: missing \['colour'\], expected those of the training data: \['size'"
    ):
        TableFeatures.fit(MIXED).transform(MIXED.drop(columns="colour"))


def test_rows_are_transformed_alike_however_many_at_once(monkeypatch):
    frame, _ = draw_frame(n=200)
    features = TableFeatures.fit(frame)
    expected = features.transform(frame).tobytes()
    monkeypatch.setattr("ordinate.data.tables.columns.ROWS_AT_ONCE", 7)
    assert features.transform(frame).tobytes() == expected


def test_values_of_mixed_types_stay_apart():
    mixed = pd.Series([1, True, 1.0, "1", None, "True", 2.5], dtype=object)
    assert TableFeatures.fit(pd.DataFrame({"x": mixed})).columns[0].categories == ("1", "2.5", "True")
    assert categories(mixed) == [0, 2, 0, 0, -1, 2, 1]


def test_more_categories_than_become_columns_are_an_error(monkeypatch):
    monkeypatch.setattr("ordinate.data.tables.features.MOST_CATEGORIES", 60)
    frame = pd.DataFrame({"x": [f"c{row % 61}" for row in range(1000)]})
    with pytest.raises(OrdinateError, match="column 'x': got text with 61 different values in 1,000 rows"):
        TableFeatures.fit(frame)
    assert TableFeatures.fit(frame[frame["x"] != "c60"]).width == 60


def test_very_many_numbers_get_no_periodic_embedding(monkeypatch):
    monkeypatch.setattr("ordinate.data.tables.features.MOST_PERIODIC", 3)
    few, many = (TableFeatures.fit(pd.DataFrame(np.eye(5)[:, :columns])) for columns in (3, 4))

    def first_layer(features):
        return type(features.new_encoder("mlp", 4, None, for_saved_weights=True))

    assert first_layer(few) is nn.Sequential
    assert first_layer(many) is first_layer(TableFeatures.from_dict(many.to_dict())) is MLP


# what is learned of numbers, and what is checked of rows that are not seen


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 199, 200, 201, 1000, 4321])
@pytest.mark.parametrize("missing", [0, 0.3])
def test_what_is_learned_of_numbers_is_what_numpy_computes(n, missing):
    random = np.random.default_rng(n)
    values = random.normal(size=n).round(2)
    values[random.random(n) < missing] = np.nan
    present = values[~np.isnan(values)]
    (column,) = TableFeatures.fit(pd.DataFrame({"x": values})).columns
    if len(present) == 0:
        assert (column.median, column.scale, column.count) == (0, 0, 0)
        return
    filled = np.where(np.isnan(values), np.median(present), values)
    assert (column.median, column.mean) == (np.median(present), filled.mean())
    assert column.scale == (filled.std() if len(set(filled)) > 1 else 0)
    assert (column.low, column.high, column.count) == (present.min(), present.max(), len(present))
    assert column.indicator == (len(present) < n)
    if len(present) > 200:
        quantiles = np.quantile(present, np.linspace(0, 1, 200), method="nearest")
        np.testing.assert_array_equal(column.quantiles, quantiles)
    elif len(set(present)) > 10:
        np.testing.assert_array_equal(column.quantiles, np.sort(present))


@pytest.mark.parametrize(
    ("seen", "unseen", "message"),
    [
        ([1.0, 2.0], [1e300], "exceed the range of float32 once standardised"),
        ([1.0, 2.0], [np.inf], "infinity"),
        (["1 mg", "2 mg"], ["1 g"], "the unit g"),
        (["1", "2"], ["12A"], "'12A' in 1 of 1 row"),
        (["31.12.2020", "01.01.2021"], ["12/31/2020"], "expected dates"),
        ([f"a{place}" for place in range(60)], ["a1"], "60 different values"),
    ],
)
def test_rows_that_could_not_be_read_are_an_error_before_training(seen, unseen, message):
    table = pd.DataFrame({"size": np.arange(len(seen) + len(unseen)), "x": [*seen, *unseen]})
    rows = np.arange(len(table))
    with pytest.raises(OrdinateError, match=f"column 'x': .*{message}"):
        check_unseen(table, rows[: len(seen)], rows[len(seen) :])
    check_unseen(table[["size"]], rows[: len(seen)], rows[len(seen) :])


@pytest.mark.parametrize(
    "values",
    [
        ["27,5", "8,25", "unknown", "31,0", None],
        ["1.5 mg", "2 mg", "3.25 mg", "4 mg", "5 mg"],
        ["<0.1", "3", "7", "4", "9"],
        ["31.01.2020", "01.03.2020", "05.06.2021", None, "07.08.2021"],
        ["10:30", "9:15", "23:59", "12:00", None],
        ["yes", "no", "no", None, "yes"],
        ["007", "012", "007", "031", "012"],
        ["no pain at all", "pain in the left knee", "no pain when walking", "hardly any pain today", "no pain now"],
    ],
    ids=lambda values: values[0],
)
def test_a_table_is_the_same_in_memory_and_in_files(values, tmp_path):
    """Parquet files hold text as codes, and a csv is read in parts."""
    table = pd.DataFrame({"x": values * 12, "y": range(60)})
    table.to_parquet(tmp_path / "table.parquet")
    table.to_csv(tmp_path / "table.csv", index=False)
    stored = ParquetTable(tmp_path / "table.parquet")
    features = TableFeatures.fit(table)
    assert TableFeatures.fit(stored).to_dict() == features.to_dict()
    expected = features.transform(table)
    np.testing.assert_array_equal(features.transform(stored), expected)
    as_text = CsvTable(tmp_path / "table.csv").with_text(features.categorical)
    for parts in (stored.batches(7), as_text.batches(7)):
        rows = [features.transform(part) for part in parts]
        np.testing.assert_allclose(np.concatenate(rows), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("form", ["numbers", "text"])
def test_a_column_whose_words_all_mean_missing_is_warned_of(form):
    trained = np.arange(20.0) if form == "numbers" else [f"{value / 2}".replace(".", ",") for value in range(1, 41, 2)]
    features = TableFeatures.fit(pd.DataFrame({"age": trained}))
    with pytest.warns(UserWarning, match=r"column 'age': all values are missing, though training had values"):
        features.transform(pd.DataFrame({"age": ["unknown"] * 20}))


def test_a_value_as_far_as_an_outlier_of_training_is_warned_of():
    mass = np.append(np.random.default_rng(0).normal(27, 4, 300), 4000)
    features = TableFeatures.fit(pd.DataFrame({"mass": mass}))
    assert features.columns[0].high < 50
    with pytest.warns(UserWarning, match=r"column 'mass': 260 far from the other values of training"):
        features.transform(pd.DataFrame({"mass": [27.0, 260.0]}))


def test_columns_that_identify_the_rows_are_noted():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"patient_id": 1000 + random.permutation(50), "age": random.normal(size=50)})
    (note,) = TableFeatures.fit(frame).notes
    assert note.startswith("patient_id: is named as an identifier")
