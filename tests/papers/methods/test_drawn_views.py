"""Views of a sample side by side in a batch."""

import torch

from ordinate_papers.methods.drawn_views import side_by_side


def test_views_of_a_sample_stand_side_by_side_with_its_label():
    x, y = torch.arange(3.0)[:, None], torch.tensor([5, 6, 7])
    views, labels = side_by_side(x, y, lambda x: (x, 10 * x))
    assert views[:, 0].tolist() == [0, 0, 1, 10, 2, 20]
    assert labels.tolist() == [5, 5, 6, 6, 7, 7]
