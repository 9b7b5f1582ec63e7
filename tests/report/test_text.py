from hypothesis import given
from hypothesis import strategies as st

from ordinate.metrics import continuous_report, rank_report
from ordinate.report.page.view import _cosine, _number
from ordinate.report.text import METRICS, metric_lines, score_lines, table

words = st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=12)


def read(lines):
    """What the lines say, by what they say it of."""
    return {line[:42].strip(): line[42:].strip() for line in lines}


def test_few_metrics_of_targets_have_a_line():
    metrics = continuous_report([1.0, 2.0, 4.0], [1.5, 2.0, 3.0])
    assert read(metric_lines(metrics)) == {
        "MAE": "0.5000",
        "RMSE": f"{(1.25 / 3) ** 0.5:.4f}",
        "R2": f"{1 - 1.25 / (14 / 3):.4f}",
        "Spearman correlation": "1.0000",
    }


def test_few_metrics_of_ranks_have_a_line():
    metrics = rank_report([0, 0, 1, 1], [0, 1, 1, 1], 4) | {"knn_accuracy": 0.5, "margins": [0.8, 0.25, 1.0]}
    assert read(metric_lines(metrics)) == {
        "accuracy": "0.7500",
        "MAE": "0.2500",
        "quadratic weighted kappa": "0.5000",
    }


def test_no_number_is_minus_zero():
    """A kappa of -1e-17 is 0.0000: rounding made it."""
    metrics = dict.fromkeys(METRICS, -1e-17)
    rules = {name: {"expected_cost": -0.0} for name in ("least_cost", "most_probable")}
    decisions = {"saving": -0.0, "saving_standard_error": 0.0, **rules}
    everything = metrics | {"targets": {"y": metrics}, "decisions": decisions}
    for text in ("\n".join(metric_lines(everything)), score_lines({"mean": metrics}, "9 samples")):
        assert "0.000" in text
        assert "-0" not in text
    assert (_number(-1e-17), _cosine(-1e-17)["text"]) == ("0.000", "0.00")


@given(data=st.data(), columns=st.integers(1, 4), rows=st.integers(0, 4))
def test_a_table_holds_every_cell_in_aligned_columns(data, columns, rows):
    header, *body = data.draw(
        st.lists(st.lists(words, min_size=columns, max_size=columns), min_size=rows + 1, max_size=rows + 1)
    )
    lines = table(header, body).split("\n")
    rule = lines.pop(1)
    assert set(rule) <= {"-", " "}
    assert len({len(line) for line in (*lines, rule)}) == 1
    widths = [len(part) for part in rule.split("  ")]
    for line, cells in zip(lines, (header, *body), strict=True):
        for i, (width, cell) in enumerate(zip(widths, cells, strict=True)):
            start = sum(widths[:i]) + 2 * i
            assert line[start : start + width] == (cell.ljust(width) if i == 0 else cell.rjust(width))
