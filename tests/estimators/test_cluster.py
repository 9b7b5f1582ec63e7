"""The fits of a blend's folds go to the backend of joblib that the user has configured, and guides/scale.md runs."""

import re
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from distributed import LocalCluster
from joblib._parallel_backends import ThreadingBackend

from ordinate import BlendClassifier
from tests.estimators.examples import draw_table, ranks_of

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "scale.md"
X, TARGET = draw_table(60)
RANKS = ranks_of(TARGET)


class Counting(ThreadingBackend):
    """Threads, and the number of jobs that they were given."""

    jobs = 0

    def submit(self, *job, **options):
        Counting.jobs += 1
        return super().submit(*job, **options)


def test_the_folds_are_fitted_by_the_backend_that_is_configured():
    joblib.register_parallel_backend("counting", Counting)
    alone = BlendClassifier(epochs=3, random_state=0).fit(X, RANKS)
    assert Counting.jobs == 0
    with joblib.parallel_config("counting", n_jobs=2):
        spread = BlendClassifier(epochs=3, random_state=0).fit(X, RANKS)
    assert Counting.jobs >= 8
    np.testing.assert_array_equal(spread.predict_proba(X), alone.predict_proba(X))


def test_the_guide_fits_and_predicts_on_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(X).rename(columns="x{}".format)
    table.assign(grade=RANKS).to_csv("train.csv", index=False)
    Path("parts").mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_csv(f"parts/{number}.csv", index=False)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster:
        names = {"CLUSTER": {"address": cluster}}
        for block in blocks:
            exec(block, names)
        names["client"].close()
    assert sum(names["rows"]) == len(table)
    parts = [pd.read_csv(path) for path in sorted(Path("predictions").glob("*.csv"))]
    expected = names["model"].predict(table)
    np.testing.assert_array_equal(pd.concat(parts)["predicted"], expected)
