import torch

from tests.data.images.test_augmentation import SIZE, Augmentation, views


def test_supcr_takes_colour_out_of_a_fifth_and_leaves_a_fifth_of_the_rest():
    image = torch.stack([torch.full(SIZE, value, dtype=torch.uint8) for value in (200, 120, 40)])
    drawn = views("supcr", image, 600)
    grey = (drawn[:, 0] == drawn[:, 2]).all(dim=(1, 2)).float().mean()
    same = (drawn == image).all(dim=(1, 2, 3)).float().mean()
    assert 0.15 < grey < 0.25
    assert 0.12 < same < 0.20  # 0.2 without colour jitter, of 0.8 that stay coloured


def test_a_hid_view_is_a_crop_of_a_larger_image():
    image = torch.arange(40 * 50).reshape(1, 40, 50).to(torch.uint8)
    assert Augmentation("hid", SIZE)(image[None]).shape == (1, 1, *SIZE)
