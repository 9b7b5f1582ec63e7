"""What the folder of a saved model has to hold. Imports nothing heavy, as commands check this first."""

from pathlib import Path

from ordinate.errors import OrdinateError

CONFIG = "config.json"
CARD = "MODEL_CARD.md"


def require_model(folder: str | Path) -> None:
    """Raise where a folder holds no saved model."""
    if not (Path(folder) / CONFIG).is_file():
        raise OrdinateError(
            "model", problem=f"{folder} holds no {CONFIG}", expected="a folder that `save` or `ordinate fit` wrote"
        )
