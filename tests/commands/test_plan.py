"""What is trained follows from what is typed: a value that is given comes before one that follows from another."""

import pandas as pd

from ordinate.commands.fit.plan import make_plan
from ordinate.commands.fit.read import Data, Source
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.samples import Samples
from ordinate.decisions import margins_from_costs

TABLE = pd.DataFrame({"size": range(12), "grade": [0, 1, 2, 3] * 3})
SAMPLES = Samples(TABLE[["size"]], TABLE["grade"], "column 'grade'", "")
COSTS = [[0, 1, 9, 10], [1, 0, 8, 9], [9, 8, 0, 1], [10, 9, 1, 0]]  # a mistake across the boundary of 1 and 2 costs 8


def plan(**options):
    options = FitOptions("table.csv", "grade", **options)
    return make_plan(options, Source.of(options), Data(SAMPLES, None))


def test_a_margin_that_is_given_comes_before_those_that_costs_suggest(tmp_path):
    ranks = range(4)
    pd.DataFrame(COSTS, ranks, ranks).to_csv(tmp_path / "costs.csv")
    costs = str(tmp_path / "costs.csv")
    suggested = plan(costs=costs)
    assert suggested.margins == margins_from_costs(suggested.costs)
    assert (1, 2) in suggested.margins
    chosen = plan(costs=costs, margin=["1,2=0.8", "0,1=0.3"])
    assert chosen.margins == {**suggested.margins, (1, 2): 0.8, (0, 1): 0.3}
    assert chosen.candidates == ("cloc",)
    assert (chosen.costs == suggested.costs).all()
