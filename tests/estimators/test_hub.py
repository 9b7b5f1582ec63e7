"""A model in a repository of the Hugging Face hub is fetched by its name; a stand-in plays the hub."""

import sys
from unittest.mock import create_autospec

import pytest

import ordinate
from ordinate.errors import OrdinateError
from tests.estimators.examples import draw_table, otd, ranks_of

huggingface_hub = pytest.importorskip("huggingface_hub")
errors = pytest.importorskip("huggingface_hub.errors")


@pytest.fixture
def download(monkeypatch):
    stand_in = create_autospec(huggingface_hub.snapshot_download)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", stand_in)
    return stand_in


@pytest.mark.parametrize(("name", "revision"), [("hf://user/knees", None), ("hf://user/knees@v1", "v1")])
def test_the_revision_asked_for_is_the_one_fetched(name, revision, download, tmp_path):
    X, target = draw_table()
    model = otd(epochs=1).fit(X, ranks_of(target))
    model.calibrate(X, ranks_of(target)).save(tmp_path / "model")
    download.return_value = str(tmp_path / "model")
    assert (ordinate.load(name).predict_proba(X) == model.predict_proba(X)).all()
    assert download.call_args.args == ("user/knees",)
    files = {path.name for path in (tmp_path / "model").iterdir()}
    assert download.call_args.kwargs["revision"] == revision
    assert set(download.call_args.kwargs["allow_patterns"]) == files


@pytest.mark.parametrize("kind", [OSError, errors.HFValidationError])
def test_what_is_not_on_the_hub_is_named(kind, download):
    download.side_effect = kind("not there\nsee the documentation")
    with pytest.raises(OrdinateError, match=f"model: hf://user/knees cannot be loaded: {kind.__name__}: not there$"):
        ordinate.load("hf://user/knees")


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(OrdinateError, match=r'pip install "ordinate\[hub\]"'):
        ordinate.load("hf://user/knees")
