import pytest
import torch

from ordinate.errors import OrdinateError
from ordinate.heads import LinearHead, RegressionHead, build_head
from ordinate_papers.heads import CORNHead, DEXHead, DLDLv2Head, ORHead

KINDS = {
    "l1": LinearHead,
    "mse": LinearHead,
    "huber": LinearHead,
    "dex": DEXHead,
    "dldl_v2": DLDLv2Head,
    "or": ORHead,
    "corn": CORNHead,
}


@pytest.mark.parametrize(("name", "kind"), KINDS.items(), ids=KINDS)
def test_every_name_is_a_head_of_several_dimensions(name, kind):
    head = build_head(name, 4, 3, bin_size=0.5)
    assert type(head) is kind
    assert isinstance(head, RegressionHead)
    assert head(torch.zeros(7, 4)).shape == (7, 3)


@pytest.mark.parametrize("name", ["l3", "DEX", None])
def test_an_unknown_name_is_an_error_that_lists_the_others(name):
    listed = "'l1', 'mse', 'huber', 'dex', 'dldl_v2', 'or', 'corn'"
    with pytest.raises(OrdinateError, match=f"head_loss: got {name!r}, expected one of {listed}"):
        build_head(name, 4)


@pytest.mark.parametrize("name", KINDS)
def test_weights_that_are_not_one_a_sample_are_refused(name):
    with pytest.raises(OrdinateError, match=r"weights: got shape \(7, 1\), expected one per sample, \(7,\)"):
        build_head(name, 4).loss(torch.zeros(7, 4), torch.zeros(7, 1), torch.ones(7, 1))
