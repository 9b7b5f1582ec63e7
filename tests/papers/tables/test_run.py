"""A run's key: the same for the same run, another for any other."""

import hashlib
import json
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from ordinate.errors import OrdinateError
from ordinate_papers.tables.run import Run

RUN = Run("airfoil", "supcr", "transfer", {"rate": 0.1, "epochs": [4, 5], "images": {"size": 32, "crop": 0.5}}, 3)


def test_the_key_is_the_digest_of_all_that_determines_the_run():
    expected = {
        "dataset": "airfoil", "model": "supcr", "protocol": "transfer", "seed": 3, "facts": {},
        "settings": {"epochs": [4, 5], "images": {"crop": 0.5, "size": 32}, "rate": 0.1},
    }  # fmt: skip
    text = json.dumps(expected, sort_keys=True, separators=(",", ":"))
    assert RUN.key == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "settings",
    [
        {"images": {"crop": 0.5, "size": 32}, "epochs": (4, 5), "rate": 0.1},
        {"rate": np.float64(0.1), "epochs": [4, 5], "images": {"size": 32, "crop": 0.5}},
    ],
)
def test_the_order_of_settings_and_how_they_are_given_does_not_change_the_run(settings):
    run = replace(RUN, settings=settings)
    assert run.key == RUN.key
    assert run == RUN
    assert len({run, RUN}) == 1
    assert run.settings == {"epochs": (4, 5), "images": {"crop": 0.5, "size": 32}, "rate": 0.1}


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_another_process_finds_the_same_key(hash_seed):
    script = f"import json; from ordinate_papers.tables.run import Run; print(Run(**json.loads({RUN.to_json()!r})).key)"
    result = subprocess.run(
        [sys.executable, "-c", script], env={"PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == RUN.key


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "Airfoil"}, {"model": "supremix"}, {"protocol": "plain"}, {"seed": 4}, {"facts": {"data": "a1"}},
        {"settings": {}}, {"settings": {"rate": 0.1}}, {"facts": dict(RUN.settings), "settings": {}},
    ],
)  # fmt: skip
def test_whatever_changes_gives_another_run(change):
    other = replace(RUN, **change)
    assert other.key != RUN.key
    assert other != RUN


def test_a_run_comes_back_from_json_and_from_pickle():
    for copy in (Run(**json.loads(RUN.to_json())), pickle.loads(pickle.dumps(RUN))):
        assert copy == RUN
        assert copy.settings == RUN.settings


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("dataset", ""), ("model", None), ("protocol", 3), ("seed", -1), ("seed", 1.0), ("seed", True),
        ("settings", {"x": float("nan")}), ("settings", {"x": float("inf")}), ("settings", {"x": {1: 2}}),
        ("settings", {"x": np.float32(1)}), ("settings", {"x": {3, 4}}),
        ("facts", {1: "x"}), ("facts", {"x": [object()]}),
    ],
)  # fmt: skip
def test_what_does_not_make_a_run_is_refused_by_name(argument, value):
    with pytest.raises(OrdinateError, match=f"^{argument}: got "):
        replace(RUN, **{argument: value})
