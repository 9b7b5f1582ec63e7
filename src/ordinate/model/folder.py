"""What the folder of a saved model has to hold. Imports nothing heavy, as commands check this first."""

from pathlib import Path

from ordinate.errors import OrdinateError, did_you_mean

CONFIG = "config.json"
CARD = "MODEL_CARD.md"


def require_model(folder: str | Path) -> None:
    """Raise where a folder holds no saved model."""
    path, expected = Path(folder), "a folder that `save` or `ordinate fit` wrote"
    if (path / CONFIG).is_file():
        return
    if path.exists():
        problem = f"{folder} is a file" if path.is_file() else f"{folder} holds no {CONFIG}"
        raise OrdinateError("model", problem=problem, expected=expected)
    models = [beside.parent.name for beside in path.parent.glob(f"*/{CONFIG}")]
    raise OrdinateError(
        "model", problem=f"there is no folder {folder}", expected=expected, hint=did_you_mean(path.name, models)
    )
