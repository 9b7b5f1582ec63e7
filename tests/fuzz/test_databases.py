"""A damaged database of results is read or refused in one line that names it."""

import numpy as np
import pytest

from ordinate_papers.tables.results import ResultsDatabase
from ordinate_papers.tables.run import Run
from tests.fuzz.damage import BYTES, pick
from tests.fuzz.trials import seeds, succeeds_or_is_refused


@pytest.mark.parametrize("seed", seeds(quick=20, thorough=100))
def test_a_damaged_database_is_read_or_refused(seed, tmp_path):
    path = tmp_path / "results.db"
    runs = [Run("airfoil", "supcr", seed=number) for number in range(40)]
    with ResultsDatabase(path) as database:
        database.add(runs)
    random = np.random.default_rng(seed)
    path.write_bytes(pick(random, list(BYTES.values()))(path.read_bytes(), random))
    with succeeds_or_is_refused(str(tmp_path), "database"), ResultsDatabase(path) as database:
        database.add(runs)
        database.claim("me")
        database.results(runs)
