"""Which methods are for which kind of label. Imports nothing heavy."""

from ordinate.errors import OrdinateError, argument
from ordinate.estimators.registry import CORE, models
from ordinate.extensions import Task

METHODS: dict[Task, tuple[str, ...]] = {"ranks": ("cloc", "otd"), "continuous": ("supcr", "supremix")}


def require_fitting(method: str, task: Task) -> None:
    """Raise an error for a method that is not for this kind of label, or learns no embedding."""
    model = models()[method]
    if task in model.estimators and model.embeds:
        return
    kind, other = ("ranks", "continuous") if task == "ranks" else ("a continuous target", "ranks")
    fitting = [name for name, known in CORE.items() if task in known.estimators and known.embeds]
    expected = f"{argument('task', other)}, or one of {', '.join(fitting)}"
    raise OrdinateError("--method", problem=f"{method} is not for {kind}", expected=expected)
