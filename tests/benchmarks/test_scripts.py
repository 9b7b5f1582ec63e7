"""Benchmarks keep up with the library: scripts import, and every model that they compare can be built."""

import ast
import importlib
import inspect
from dataclasses import replace

import pytest

import claims
import images
import pays
import planted_margin
import text
from ordinate import CLOCClassifier
from ordinate_papers.datasets.catalogue import dataset
from ordinate_papers.tables.models import build, task_of
from small_recipes import small_recipe
from tests.benchmarks.conftest import BENCHMARKS


@pytest.mark.parametrize("script", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_a_script_can_be_imported(script):
    importlib.import_module(script)


@pytest.mark.parametrize("script", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_calls_name_arguments_that_exist(script):
    module = importlib.import_module(script)
    calls = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Call)]
    for call in calls:
        called = getattr(module, call.func.id, None) if isinstance(call.func, ast.Name) else None
        if not callable(called) or not str(getattr(called, "__module__", "")).startswith(("ordinate", script)):
            continue
        parameters = inspect.signature(called).parameters
        if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
            assert {given.arg for given in call.keywords if given.arg} <= set(parameters), ast.unparse(call)


@pytest.mark.parametrize("script", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_attributes_of_imported_classes_and_modules_exist(script):
    module = importlib.import_module(script)
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = getattr(module, node.value.id, None)
            if inspect.isclass(owner) or inspect.ismodule(owner):
                assert hasattr(owner, node.attr), ast.unparse(node)


@pytest.mark.parametrize("way", planted_margin.WAYS)
def test_models_of_planted_margins_can_be_built(way):
    assert CLOCClassifier(random_state=3, **planted_margin.WAYS[way]).random_state == 3


@pytest.mark.parametrize("variant", text.VARIANTS)
def test_models_of_texts_can_be_built(variant):
    assert text.VARIANTS[variant](random_state=3).random_state == 3


@pytest.mark.parametrize("name", pays.EXPERIMENTS)
def test_models_of_promises_can_be_built(name):
    experiment = pays.EXPERIMENTS[name]
    for model in experiment.models:
        assert experiment.build(model, 3).random_state == 3


@pytest.mark.parametrize("name", images.RECIPES)
def test_models_of_images_can_be_built(name, tmp_path):
    recipe = small_recipe(images.RECIPES[name], is_larger=name not in images.SMALLER)
    for model in images.MODELS[name]:
        built = images.build(recipe, model, 3, tmp_path)
        assert built.random_state == 3
        assert built.training.checkpoint_dir == str(tmp_path)


@pytest.mark.parametrize("name", claims.CLAIMS)
def test_arms_of_claims_can_be_built(name):
    claim = claims.CLAIMS[name]
    for arm in claim.arms.values():
        budget = replace(claim.budget, **arm.budget)
        task = task_of(arm.model, dataset(claim.dataset).task)
        built = build(arm.model, task, budget=budget, seed=3, **arm.settings)
        assert built.random_state == 3


def test_claims_on_data_that_are_not_there_leave_no_failed_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ORDINATE_DATA", str(tmp_path / "none"))
    monkeypatch.setattr("sys.argv", ["claims.py", "--only", "airfoil, parts", "--results", str(tmp_path / "r.jsonl")])
    with pytest.raises(SystemExit):
        claims.main()
    assert "airfoil: not in $ORDINATE_DATA" in capsys.readouterr().err
    assert not (tmp_path / "r.jsonl").exists()
