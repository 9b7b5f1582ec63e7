"""What is trained follows from what is typed."""

import pandas as pd

from ordinate.commands.fit.plan import make_plan
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.samples import LabelledData

TABLE = pd.DataFrame({"size": range(12), "grade": [0, 1, 2, 3] * 3})
SAMPLES = LabelledData(TABLE[["size"]], TABLE["grade"], "column 'grade'", "")
COSTS = [[0, 1, 9, 10], [1, 0, 8, 9], [9, 8, 0, 1], [10, 9, 1, 0]]


def plan(**options):
    return make_plan(FitOptions("table.csv", "grade", **options), SAMPLES)


def test_costs_change_the_decision_and_leave_the_candidates_as_they_are(tmp_path):
    ranks = range(4)
    pd.DataFrame(COSTS, ranks, ranks).to_csv(tmp_path / "costs.csv")
    careful = plan(costs=str(tmp_path / "costs.csv"))
    assert careful.candidates == plan().candidates
    assert careful.candidates[0] == "blend"
    assert careful.decision == COSTS
    assert plan().decision is None
    assert careful.margins == {}


def test_of_all_candidates_only_cloc_has_margins():
    chosen = plan(margin=["1,2=0.8", "0,1=0.3"])
    assert chosen.margins == {(1, 2): 0.8, (0, 1): 0.3}
    assert chosen.candidates == ("cloc",)
