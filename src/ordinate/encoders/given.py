"""Encoders around a network that a user gives: a module, a function that makes one, or one of transformers."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import torch
from torch import nn

from ordinate.checks import HUGGING_FACE
from ordinate.counts import counted
from ordinate.encoders.hugging_face import load_vision_network
from ordinate.encoders.network import NetworkEncoder, TableEncoder, feature_width
from ordinate.encoders.pixels import ImageEncoder, PixelEncoder, by_channel
from ordinate.errors import OrdinateError

Encoder = str | nn.Module | Callable[[int | None], nn.Module]


def build_given_encoder(
    encoder: Encoder,
    sample_shape: Sequence[int],
    embedding_dim: int | None,
    *,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    columns: Sequence[int] | None = None,
) -> NetworkEncoder:
    """Return a new encoder around a copy of a network.

    Args:
        encoder: Module, function from ``embedding_dim`` to a module, or ``"hf:"`` and the folder or the name of a
            network of transformers for images. Networks of timm lose their classifier.
        sample_shape: Shape of one sample, without the batch.
        embedding_dim: Dimension d of the embeddings, to which a linear layer leads unless the module comes from a
            function; None leaves the pooled features of the network as they are.
        mean: Mean of each channel of images and volumes, on the scale 0..1. Networks of timm and transformers that say
            what they were trained with get that instead.
        std: Deviation of each channel.
        columns: Columns of a table's batch that the network gets; None for all.

    Raises:
        OrdinateError: a network that fails on such samples, or an output that is no vector per sample.

    Example:
        >>> build_given_encoder(nn.Linear(4, 6), (4,), embedding_dim=2)(torch.zeros(3, 4)).shape
        torch.Size([3, 2])
        >>> build_given_encoder(lambda d: nn.Linear(4, d), (4,), embedding_dim=2).backbone
        Linear(in_features=4, out_features=2, bias=True)
    """
    name = describe_encoder(encoder)
    network = new_given_network(encoder, sample_shape, embedding_dim)
    is_table, is_series, is_image = (len(sample_shape) == dimensions for dimensions in (1, 2, 3))
    samples = torch.zeros(2, *sample_shape)
    if is_table and columns is not None:
        samples = samples[:, list(columns)]
    hint = "ImageOptions(size=, channels=) sets the shape of images" if is_image else None
    if isinstance(encoder, type):
        hint = f"the class is called with embedding_dim; {name}(...) is a network"
    width = feature_width(network, samples, name, of_series=is_series, hint=hint)
    if is_table or is_series:
        hint = "predictions of tables and series are in float64: use x.dtype, and register buffers instead of tensors"
        feature_width(copy.deepcopy(network).double(), samples.double(), name, of_series=is_series, hint=hint)
    linear = embedding_dim
    if is_factory(encoder):
        check_width(width, embedding_dim, name)
        linear = None
    if is_table:
        if columns is None:
            columns = range(sample_shape[0])
        return TableEncoder(network, width, linear, columns)
    if is_series:
        return NetworkEncoder(network, width, linear)
    channels, trained_with = sample_shape[0], getattr(network, "pretrained_cfg", None) or {}
    mean = trained_with.get("mean") or mean or [0.5]
    std = trained_with.get("std") or std or [0.25]
    kind = ImageEncoder if is_image else PixelEncoder
    return kind(network, width, linear, by_channel(mean, channels), by_channel(std, channels))


def is_named(encoder: Encoder) -> TypeGuard[str]:
    """Return whether an encoder is one of those that are built by name."""
    return not callable(encoder) and not (isinstance(encoder, str) and encoder.startswith(HUGGING_FACE))


def is_factory(encoder: Encoder) -> TypeGuard[Callable[[int | None], nn.Module]]:
    """Return whether an encoder is a function that makes a network."""
    return not isinstance(encoder, str | nn.Module)


def describe_encoder(encoder: Encoder) -> str:
    """Return the name of an encoder for messages.

    Example:
        >>> describe_encoder(nn.Linear(1, 1)), describe_encoder("resnet18")
        ('Linear', "'resnet18'")
    """
    if isinstance(encoder, str):
        return repr(encoder)
    if isinstance(encoder, nn.Module):
        return type(encoder).__name__
    return getattr(encoder, "__name__", repr(encoder))


def new_given_network(encoder: Encoder, sample_shape: Sequence[int], embedding_dim: int | None) -> nn.Module:
    """Return the network to train: a copy of a module, what a function makes, or what transformers reads."""
    if isinstance(encoder, str):
        if len(sample_shape) != 3:
            raise OrdinateError(
                "encoder", repr(encoder), f"images or text for {HUGGING_FACE!r}, not samples {tuple(sample_shape)}"
            )
        return load_vision_network(encoder)
    network: Any = copy.deepcopy(encoder) if isinstance(encoder, nn.Module) else _made_by(encoder, embedding_dim)
    if not isinstance(network, nn.Module):
        raise OrdinateError("encoder", f"{describe_encoder(encoder)}, which returned {network!r}", "a torch.nn.Module")
    drop_classifier: Any = getattr(network, "reset_classifier", None)  # Networks of timm have it.
    if isinstance(encoder, nn.Module) and drop_classifier is not None:
        drop_classifier(0)
    return network.cpu().float()


def _made_by(factory: Callable[[int | None], nn.Module], embedding_dim: int | None) -> object:
    """Return what a function makes, or the class of a network that takes the dimension of the embedding alone."""
    try:
        return factory(embedding_dim)
    except TypeError as error:
        if not isinstance(factory, type):
            raise
        name = factory.__name__
        expected = f"a network, such as {name}(...), or a function from embedding_dim to one"
        raise OrdinateError("encoder", f"the class {name}, and {error}", expected) from error


def check_width(width: int, embedding_dim: int | None, name: str) -> None:
    """Raise an error if a network does not give the dimension of the embedding that it was made for."""
    if embedding_dim not in (None, width):
        raise OrdinateError(
            "encoder", f"{name}, whose module gives {counted(width, 'feature')}", f"embedding_dim, {embedding_dim}"
        )
