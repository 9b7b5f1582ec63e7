"""Which of the methods that fit a label is trained: the one that validates best."""

from pathlib import Path

from ordinate.commands.division import Rows, divide
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.plan import Plan
from ordinate.commands.samples import Samples
from ordinate.estimators.choice import choose_within
from ordinate.protocols.trial import groups_of, take
from ordinate.report.evaluation import evaluate

VALIDATION_FRACTION = 0.2
CHOICE = "choice.json"  # among the checkpoints: what is known of the candidates of a time limit


def choose(
    plan: Plan, options: FitOptions, samples: Samples, rows: Rows, validation_rows: Rows, checkpoints: Path
) -> str:
    """Train each candidate on a part of the training rows and return the one with the lowest MAE on the rest.

    With a time limit, the methods come first and the plain heads after them, as far as the time reaches.
    """
    if len(plan.candidates) == 1:
        return plan.candidates[0]
    part, validation = rows, validation_rows
    if len(validation_rows) == 0:
        part, validation = divide(plan.label, samples.groups, rows, VALIDATION_FRACTION, options.seed)
    X, y = samples.X, plan.label.values

    def trial(name: str) -> float:
        print(f"trying {name}")
        model = plan.build(name, options, checkpoints / f"{name}-trial")
        model.fit(take(X, part), y[part], groups=groups_of(samples.groups, part))
        return float(evaluate(model, take(X, validation), y[validation])["mae"])

    if options.time_limit is None:
        errors = {name: trial(name) for name in plan.candidates}
        _say_errors(errors)
        return min(errors, key=errors.__getitem__)
    choice = choose_within(
        plan.candidates, trial, 60 * options.time_limit, growth=len(rows) / len(part), record=checkpoints / CHOICE
    )
    _say_errors(choice.errors)
    if choice.untried:
        print(f"no time within {options.time_limit:g} minutes for {', '.join(choice.untried)}")
    if not choice.errors:
        print(f"none could be tried to its end: takes {choice.chosen}, the first")
    return str(choice.chosen)


def _say_errors(errors: dict[str, float]) -> None:
    if errors:
        print("validation MAE: " + ", ".join(f"{name} {error:.4f}" for name, error in errors.items()))
