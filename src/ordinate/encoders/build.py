"""The encoder that a name and the shape of the input stand for."""

from collections.abc import Sequence
from typing import Any

from torch import nn

from ordinate.encoders.given import Encoder, build_given_encoder, is_named
from ordinate.encoders.image import build_image_encoder
from ordinate.encoders.mlp import MLP, PeriodicEmbedding
from ordinate.encoders.resnet1d import ResNet1d
from ordinate.encoders.volume import ResNet3d18
from ordinate.errors import OrdinateError, did_you_mean


def build_encoder(
    name: Encoder,
    sample_shape: Sequence[int],
    embedding_dim: int | None,
    *,
    numeric: Sequence[int] = (),
    **options: Any,
) -> nn.Module:
    """Return a new encoder for samples of ``sample_shape``.

    Args:
        name: ``"mlp"`` for tables (features,), ``"resnet1d"`` (18 layers) or ``"resnet1d24"`` for series
            (channels, length), a name that
            :func:`~ordinate.encoders.build_image_encoder` takes for images (channels, height, width),
            ``"resnet3d18"`` for volumes (channels, depth, height, width), or ``"auto"``
            for the one that fits the samples; or a network of your own, see
            :func:`~ordinate.encoders.given.build_given_encoder`.
        sample_shape: Shape of one sample, without the batch.
        embedding_dim: Dimension d of the embeddings; None leaves out the linear layer that leads to it.
        numeric: Positions of the numbers of a table; they get a periodic embedding.
        options: Options of the encoder's class, or of ``build_image_encoder``; a network of your own takes ``mean`` and
            ``std``.

    Raises:
        OrdinateError: an unknown name, or one that does not take samples of this shape.

    Example:
        >>> import torch
        >>> build_encoder("auto", (4,), embedding_dim=8, numeric=[0, 1])(torch.zeros(2, 4)).shape
        torch.Size([2, 8])
    """
    if not is_named(name):
        of_data = {key: options[key] for key in ("mean", "std") if key in options}
        return build_given_encoder(name, sample_shape, embedding_dim, **of_data)
    dimensions_of = {"mlp": 1, "resnet1d": 2, "resnet1d24": 2, "resnet3d18": 4}
    if len(sample_shape) == 3 and name not in dimensions_of:
        return build_image_encoder(name, sample_shape, embedding_dim, **options)
    fitting = [kind for kind, dimensions in dimensions_of.items() if dimensions == len(sample_shape)]
    if name != "auto" and name not in dimensions_of:
        hint = f"networks for images take samples of shape (channels, height, width), these have {tuple(sample_shape)}"
        if near := did_you_mean(str(name), fitting):
            hint = f"{near} {hint}"
        expected = f"'auto', {', '.join(map(repr, dimensions_of))}, or a torch.nn.Module"
        raise OrdinateError("encoder", repr(name), expected, hint)
    if not fitting or name not in ("auto", *fitting):
        raise OrdinateError("encoder", problem=f"{name!r} does not take samples of shape {tuple(sample_shape)}")
    if len(sample_shape) == 4:
        return ResNet3d18(sample_shape, embedding_dim, **options)
    if len(sample_shape) == 2:
        if name == "resnet1d24":
            options["blocks"] = (2, 3, 4, 2)
        return ResNet1d(sample_shape[0], embedding_dim, **options)
    if not numeric:
        return MLP(sample_shape[0], embedding_dim, **options)
    periodic = PeriodicEmbedding(sample_shape[0], numeric)
    return nn.Sequential(periodic, MLP(periodic.out_features, embedding_dim, **options))
