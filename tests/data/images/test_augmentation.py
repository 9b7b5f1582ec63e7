import pytest
import torch

from ordinate.data.images.augmentation import Augmentation, augmentations
from ordinate.errors import OrdinateError

SIZE = (24, 32)
HALF = torch.zeros(3, *SIZE, dtype=torch.uint8)
HALF[:, :, :16] = 200  # bright on the left


def views(name, image, count=60):
    torch.manual_seed(0)
    return Augmentation(name, SIZE)(image.expand(count, *image.shape))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("name", augmentations())
def test_a_view_is_an_image_of_the_size_and_its_random_state_draws_it(name, channels):
    image = torch.randint(0, 256, (channels, *SIZE), dtype=torch.uint8)
    drawn = views(name, image)
    assert drawn.shape == (60, channels, *SIZE)
    assert drawn.dtype == torch.uint8
    assert torch.equal(drawn, views(name, image))
    assert Augmentation(name, SIZE).changes == (name != "none")
    assert (drawn == image).all().item() == (name == "none")
    assert len({view.numpy().tobytes() for view in drawn}) == {"none": 1, "flip": 2}.get(name, 60)


def brighter_on_the_left(drawn):
    drawn = drawn.float()
    return drawn[..., :8].mean((1, 2, 3)) > drawn[..., -8:].mean((1, 2, 3)) + 20


@pytest.mark.parametrize("name", sorted(set(augmentations()) - {"none", "gaze", "koa"}))
def test_half_of_the_views_are_mirrored(name):
    drawn = views(name, HALF, 200)
    left, right = brighter_on_the_left(drawn), brighter_on_the_left(drawn.flip(-1))
    assert 0.3 < left.sum() / (left.sum() + right.sum()) < 0.7


@pytest.mark.parametrize("name", ["gaze", "koa"])
def test_a_gaze_and_a_knee_are_never_mirrored(name):
    assert not brighter_on_the_left(views(name, HALF, 200).flip(-1)).any()


@pytest.mark.parametrize(
    ("name", "upside_down"), [("auto", False), ("supcr", False), ("adience", True), ("idrid", True)]
)
def test_only_some_papers_turn_images_upside_down(name, upside_down):
    image = torch.zeros(3, *SIZE, dtype=torch.uint8)
    image[:, :12] = 200
    drawn = views(name, image, 100).float()
    assert (drawn[:, :, -6:].mean((1, 2, 3)) > drawn[:, :, :6].mean((1, 2, 3)) + 20).any().item() == upside_down


def test_an_unknown_name_is_refused():
    with pytest.raises(OrdinateError, match="augmentation: got 'heavy', expected one of 'auto', 'none'"):
        Augmentation("heavy", (8, 8))
