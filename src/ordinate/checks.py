"""Checks of single options, without a heavy import.

Each returns the option, or raises :class:`~ordinate.errors.OrdinateError` naming it, what it got and what was expected.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path

from ordinate.errors import OrdinateError, did_you_mean

HUGGING_FACE = "hf:"  # This prefix marks the name or folder of a transformers network.


def check_positive(value: float, name: str, *, or_zero: bool = False, most: float | None = None) -> float:
    """Return a finite number above zero, such as a temperature, or zero where that is allowed, up to ``most``."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not (0 < value < float("inf") or (or_zero and value == 0)):
        least = "of at least 0" if or_zero else "above 0"
        raise OrdinateError(name, repr(value), f"a finite number {least}")
    if most is not None and value > most:
        raise OrdinateError(name, repr(value), f"at most {most:g}")
    return float(value)


def check_whole(value: object, name: str, least: int = 1) -> int:
    """Return a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OrdinateError(name, repr(value), f"a whole number of at least {least}")
    return int(value)


def check_share(value: float, name: str, *, or_one: bool = False) -> float:
    """Return a share from 0 to below 1, such as a momentum, or to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= value <= 1 or (value == 1 and not or_one):
        raise OrdinateError(name, repr(value), f"a share from 0 to {'' if or_one else 'below '}1")
    return value


def check_flag(value: bool, name: str) -> bool:
    """Return True or False, of NumPy too."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise OrdinateError(name, repr(value), "True or False")
    return bool(value)


def check_choice(value: str, choices: Sequence[str], name: str) -> str:
    """Return ``value`` if it is one of ``choices``."""
    if value not in choices:
        hint = did_you_mean(value, choices) if isinstance(value, str) else None
        raise OrdinateError(name, repr(value), f"one of {', '.join(map(repr, choices))}", hint)
    return value


def check_stream(stream: object) -> None:
    """Raise an error if ``stream`` is not True, False or None."""
    if not any(stream is each for each in (True, False, None)):
        raise OrdinateError("stream", repr(stream), "True or False or None")


def check_num_classes(num_classes: int) -> int:
    """Return the number of ranks C, at least 2."""
    return check_whole(num_classes, "num_classes", least=2)


def check_embedding_dim(embedding_dim: int | None) -> int | None:
    """Return the dimension of the embeddings, or None for that of the encoder's features."""
    return None if embedding_dim is None else check_whole(embedding_dim, "embedding_dim")


def check_train_encoder(trained: int | str | None) -> int | str | None:
    """Return how much of an encoder is trained: ``"all"``, ``"none"``, its last k blocks, or None for the usual."""
    if trained is None or (isinstance(trained, str) and trained in ("all", "none")):
        return trained
    if isinstance(trained, bool) or not isinstance(trained, Integral) or trained < 1:
        raise OrdinateError("train_encoder", repr(trained), "'all', 'none' or the number of the last blocks to train")
    return int(trained)


def check_network_folder(encoder: str) -> str:
    """Return the name of an encoder; where it is a path, as in ``"hf:/a/folder"``, the folder must be there."""
    source = encoder.removeprefix(HUGGING_FACE)
    folder = Path(source)
    if encoder == source or not (folder.is_absolute() or source.startswith((".", "~")) or not source):
        return encoder
    if not source or not (folder / "config.json").is_file():
        names = [path.name for path in folder.parent.glob("*") if (path / "config.json").is_file()]
        hint = did_you_mean(folder.name, names, lambda near: f"{HUGGING_FACE}{folder.with_name(near)}")
        raise OrdinateError("encoder", repr(encoder), "a folder with a config.json, or a name on the hub", hint)
    return encoder
