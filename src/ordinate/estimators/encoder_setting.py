"""The encoder as a setting of an estimator, and in a saved model, which holds no network's code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from ordinate.checks import check_embedding_dim, check_network_folder
from ordinate.encoders.given import Encoder, describe_encoder, is_factory, is_named
from ordinate.encoders.hugging_face import VisionNetwork
from ordinate.errors import OrdinateError

GivenEncoder = nn.Module | Callable[[int | None], nn.Module]


def check_encoder(estimator: Any) -> None:
    """Raise where the encoder, its embedding or how it is trained cannot be what they are."""
    if not isinstance(estimator.encoder, str) and not callable(estimator.encoder):
        expected = "a name, a torch.nn.Module, or a function from embedding_dim to one"
        raise OrdinateError("encoder", repr(estimator.encoder), expected)
    if isinstance(estimator.encoder, str):
        check_network_folder(estimator.encoder)
    check_embedding_dim(estimator.embedding_dim)
    trained, options = estimator.training.train_encoder, estimator.data
    brings_weights = not is_named(estimator.encoder) or (options is not None and options.brings_weights)
    if trained not in (None, "all") and not brings_weights:
        raise OrdinateError(
            "train_encoder",
            f"{trained!r} with the encoder {estimator.encoder!r}, which starts without weights",
            "'all', a network that brings weights, or ImageOptions(pretrained=True)",
        )
    if options is not None:
        options.check_part(trained)


def plain_encoder(encoder: Encoder) -> str | dict[str, str]:
    """Return an encoder as JSON can hold it: its name, or of a network of the user's what it was.

    Example:
        >>> plain_encoder("resnet18"), plain_encoder(nn.Linear(3, 2))
        ('resnet18', {'module': 'Linear'})
    """
    if isinstance(encoder, str):
        return encoder
    return {"function" if is_factory(encoder) else "module": describe_encoder(encoder)}


def encoder_of(params: dict[str, Any], given: GivenEncoder | None, folder: Path) -> Encoder:
    """Return the encoder of a saved model from its settings and what the user gave.

    Raises:
        OrdinateError: the model needs a network and none was given, or the reverse, or one of the other kind.
    """
    saved: str | dict[str, str] = params.get("encoder", "auto")
    if isinstance(saved, str):
        if given is not None:
            raise OrdinateError("encoder", describe_encoder(given), f"None, as the model brings its own, {saved!r}")
        return saved
    (kind, name), *_ = saved.items()
    if given is None:
        raise OrdinateError(
            "encoder",
            problem=f"the model in {folder} was trained with a {kind} of the user, {name}, whose code is not saved",
            hint=f"ordinate.load({str(folder)!r}, encoder={name}) in Python, with the same {kind}",
        )
    if not callable(given) or is_factory(given) != (kind == "function"):
        raise OrdinateError("encoder", describe_encoder(given), f"a {kind}, as in training: {name}")
    return given


def network_config(encoder: nn.Module) -> dict[str, Any] | None:
    """Return the configuration of a network of transformers for images within an encoder, None where there is none."""
    return next((module.config for module in encoder.modules() if isinstance(module, VisionNetwork)), None)
