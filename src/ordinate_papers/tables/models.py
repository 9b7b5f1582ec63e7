"""The models of the tables by name, and how each is built for a task, a budget and a table's settings."""

import inspect
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ordinate.errors import OrdinateError
from ordinate.estimators import registry
from ordinate.estimators.head_options import Head
from ordinate.estimators.recipes import KINDS
from ordinate.estimators.registry import model
from ordinate.extensions import Task
from ordinate.training.options import Training
from ordinate_papers.datasets.catalogue import DATA
from ordinate_papers.tables.budgets import Budget
from ordinate_papers.tables.run import Settings

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator


def task_of(name: str, task: Task) -> Task | None:
    """Return the task of a model on a data set, None if it has none; a regressor may take ranks as numbers.

    Example:
        >>> task_of("cloc", "ranks"), task_of("supcr_l1", "ranks"), task_of("cloc", "continuous")
        ('ranks', 'continuous', None)
    """
    estimators = model(name).estimators
    if task in estimators:
        return task
    if task == "ranks" and "continuous" in estimators:
        return "continuous"
    return None


def build(
    name: str,
    task: Task,
    *,
    budget: Budget | None = None,
    checkpoint_dir: Path | None = None,
    seed: int = 0,
    num_classes: int | None = None,
    **settings: Any,
) -> "BaseEstimator":
    """Return the unfitted estimator of a model.

    Args:
        name: Name of the model.
        task: Task of the estimator.
        budget: Budget of the training; by default the estimator's own.
        checkpoint_dir: Folder from which a fit that was killed continues.
        seed: Seed of the training.
        num_classes: Number of ranks, so that ranks without a training sample are known too.
        settings: Parameters of the estimator, which override those of budget and model, or names of
            :data:`~ordinate_papers.tables.variants.VARIANTS`. The keys of ``critical_margins`` are boundaries such as
            ``"1|2"``.

    Raises:
        OrdinateError: There is no such model, it is not for this task, or it lacks a setting.

    Example:
        >>> build("otd", "ranks", seed=3, embedding_dim=16).embedding_dim
        16
    """
    from ordinate.estimators.params import from_plain  # These import all that trains, which takes seconds.
    from ordinate_papers.tables.variants import VARIANTS, varied

    usual = registry.build(name, task)
    kind = type(usual)
    known = flat_names(kind)
    of_table = {key for key in VARIANTS if key not in known}
    variants = {key: settings.pop(key) for key in VARIANTS if key in settings and key in of_table}
    chosen: dict[str, Any] = {}
    if budget is not None:
        chosen |= _spend(name, budget, kind, known)
    if name in ("supcr", "supremix"):
        chosen |= {"head": "linear", "head_loss": "l1"}  # The papers have linear heads, trained on absolute errors.
    elif name == "otd":
        chosen["n_neighbors"] = 3
    chosen |= settings
    of_run = {"checkpoint_dir": checkpoint_dir, "random_state": seed}
    if "decision" in known:
        chosen.setdefault("decision", None)  # The papers have no decision rule.
    if "calibration" in known:
        chosen.setdefault("calibration", False)  # Nor do they calibrate probabilities.
    chosen |= {option: value for option, value in of_run.items() if option in known}
    if num_classes is not None and "class_order" in known:
        chosen["class_order"] = list(range(num_classes))
    unknown = sorted(set(chosen) - known)
    if unknown:
        got, expected = ", ".join(map(repr, unknown)), ", ".join(sorted(known))
        raise OrdinateError("settings", f"{got} for {name}", f"some of {expected}")
    if isinstance(text := chosen.get("text"), Mapping) and text.get("word_vectors"):
        # The path is relative to ORDINATE_DATA, so that the key of a run does not depend on the machine.
        chosen["text"] = {**text, "word_vectors": Path(os.environ.get(DATA, "")) / text["word_vectors"]}
    if chosen.get("critical_margins"):
        chosen["critical_margins"] = {
            tuple(map(int, boundary.split("|"))): margin for boundary, margin in chosen["critical_margins"].items()
        }
    if variants:
        kind = varied(kind, variants)
    own = {parameter: getattr(usual, parameter) for parameter in usual.get_params(deep=False)}
    return kind(**own).set_params(**from_plain(in_groups(kind, chosen)))


def flat_names(kind: "type[BaseEstimator]") -> set[str]:
    """Return the names of an estimator's parameters and of the options in its groups, without the groups' names."""
    from ordinate.estimators.plain import EndToEndRegressor  # It imports PyTorch, which takes seconds.

    names = set(inspect.signature(kind).parameters)
    if "training" in names:
        names |= {each.name for each in fields(Training)} - {"training"}
    if has_head(kind):
        names |= {"head_loss", "bin_size", "n_neighbors"}
    elif issubclass(kind, EndToEndRegressor):
        names.add("head_loss")
    if "data" in names:
        names |= set(KINDS)
    return names


def has_head(kind: "type[BaseEstimator]") -> bool:
    """Return whether the head of an estimator is a group of options."""
    parameters = inspect.signature(kind).parameters
    return "head" in parameters and isinstance(parameters["head"].default, Head)


def in_groups(kind: "type[BaseEstimator]", settings: Settings) -> Settings:
    """Return flat settings of an estimator, options of groups under their nested names."""
    parameters = inspect.signature(kind).parameters
    of_training = {each.name for each in fields(Training)}
    of_head = {"head": "kind", "head_loss": "loss", "bin_size": "bin_size", "n_neighbors": "n_neighbors"}
    grouped = {}
    for name, value in settings.items():
        if has_head(kind) and name in of_head:
            grouped[f"head__{of_head[name]}"] = value
        elif name == "head_loss":
            grouped["loss"] = value
        elif name in of_training and name not in parameters:
            grouped[f"training__{name}"] = value
        else:
            grouped[name] = value
    return grouped


def _spend(name: str, budget: Budget, kind: "type[BaseEstimator]", known: set[str]) -> Settings:
    """Return a budget under the names of an estimator's parameters, without those that it lacks."""
    epochs: int | tuple[int, int] = budget.epochs
    if has_head(kind):
        epochs = (budget.epochs, budget.head_epochs)
    elif name == "cloc":
        epochs = (budget.phase_one, budget.epochs - budget.phase_one)
    spent = {
        **vars(budget),
        "learning_rate": (budget.rates or {}).get(name, budget.learning_rate),
        "epochs": epochs,
        "validation_fraction": 0.0,
    }
    own = ["weight_decay", "label_distance", *KINDS]
    if name == "poe":  # Its embeddings come from layers of its own, those of others from the network's output.
        own.append("embedding_dim")
    left_out = {each for each in own if spent.get(each) is None}
    return {each: value for each, value in spent.items() if each in known and each not in left_out}
