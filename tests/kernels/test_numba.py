"""Compiled rows share their work between threads, in every process that a program forks into."""

import math
import os
import sys

import pytest
import torch

from ordinate import kernels
from ordinate.functional import angular_triangle, mmnp, supcr, supremix
from ordinate.functional.mixtures import DrawnShares
from ordinate.kernels import numba as numba_rows
from tests.functional.brute_force import embeddings

angular_triangle_loops, mmnp_loops, supcr_loops, supremix_loops = (
    pytest.importorskip(f"ordinate.kernels.numba.{loss}", reason="numba is not installed")
    for loss in ("angular_triangle", "mmnp", "supcr", "supremix")
)
RANKS = torch.arange(50) % 4
MARGINS = torch.tensor([0.3, 0.6, 0.5])


def losses():
    z = embeddings(50)
    mixed = supremix(z, torch.arange(50.0), temperature=0.5, window=9.0, neg_mix=torch.full((50, 50), 0.3))
    values = [supcr(z, torch.arange(50.0).square()), mmnp(z, RANKS, MARGINS), angular_triangle(z, RANKS, 4), mixed]
    return [*values, *(torch.autograd.grad(value, z)[0] for value in values)]


@pytest.fixture
def four_threads(monkeypatch):
    monkeypatch.setattr(numba_rows, "MIN_ELEMENTS_FOR_THREADS", 0)  # however few the rows
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


def test_the_number_of_threads_does_not_change_the_loss(four_threads):
    shared = losses()
    torch.set_num_threads(1)
    for several, one in zip(shared, losses(), strict=True):
        assert torch.equal(several, one)


@pytest.mark.skipif(sys.platform != "linux", reason="needs GNU's OpenMP")
def test_torch_lends_its_threads_but_to_no_forked_process(monkeypatch):
    calls = []
    lent = numba_rows.run_in_torch_threads(lambda: calls.append(None), 2)
    assert len(calls) == 2 * lent
    monkeypatch.setattr(numba_rows, "_imported_in", -1)
    assert not numba_rows.run_in_torch_threads(lambda: pytest.fail("ran"), 2)


@pytest.mark.parametrize("lend", [numba_rows.run_in_torch_threads, lambda work, threads: False], ids=["torch's", "own"])
def test_what_a_loop_raises_in_a_thread_is_raised(four_threads, monkeypatch, lend):
    def loop(start, stop, rows):
        if start > 0:
            raise KeyboardInterrupt(f"of {len(rows)}")

    monkeypatch.setattr(numba_rows, "run_in_torch_threads", lend)
    with pytest.raises(KeyboardInterrupt, match="of 8"):
        numba_rows.in_threads(loop, 8, torch.zeros(8).numpy())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process")  # of the threads that a fork does not take along
def test_a_forked_process_has_threads_of_its_own(four_threads):
    losses()
    child = os.fork()
    if child == 0:
        torch.set_num_threads(2)
        numba_rows.in_threads(supcr_loops._supcr_rows, 2, *_rows())
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def _rows():
    e, y = torch.rand(2, 5).numpy(), torch.arange(5, dtype=torch.float64).numpy()
    own, weights = torch.tensor([-1, -1]).numpy(), torch.ones(2, dtype=torch.float64).numpy()
    return e, y[:2], y, own, weights, weights.copy(), weights.copy()


@pytest.mark.parametrize(
    "positives", [[0.5], [0.5, 0.5, 0.5], [-1e4, 0.0, 1e-30, 1e4], [0.0, 1e-309, 3e-309], [0.1, 0.1, 0.2, 0.2, 0.30001]]
)
def test_hinges_are_right_however_the_positives_cluster(positives):
    negatives = [-2e4, -1e4, 0.0, 0.1, 0.15, 0.2, 0.3, 0.5, 0.50001, 1e4, 2e4]
    row = torch.tensor([negatives[:4] + positives + negatives[4:]], dtype=torch.float64)
    first, last = 4, 4 + len(positives)
    value, gradient = mmnp_loops.mmnp_rows(row, first, last, None)
    row.requires_grad_()
    hinges = torch.relu(torch.cat([row[:, :first], row[:, last:]], 1)[0, :, None] - row[0, first:last])
    torch.testing.assert_close(value[0], hinges.sum().detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(hinges.sum(), row)[0])


def test_arccos_is_exact_but_for_the_last_digits():
    cosines = torch.linspace(-1, 1, 2001, dtype=torch.float64)[:, None]
    no_vectors, rank, share = torch.ones(2001, 0, dtype=torch.float64), torch.zeros(2001).long(), torch.ones(2, 1)
    values, _ = angular_triangle_loops.angle_rows(
        cosines, no_vectors, no_vectors[:1], rank, rank[:1], share.double(), None, None, -1.0
    )
    expected = torch.linspace(-1, 1, 2001, dtype=torch.float64).acos() / math.pi
    torch.testing.assert_close(values.sqrt(), expected, rtol=3e-15, atol=0)


@pytest.mark.parametrize("m", [1, 300])
def test_shares_are_those_that_torch_draws(four_threads, monkeypatch, m):
    shares = DrawnShares(2.0, 8.0, m, 7, torch.device("cpu"))
    drawn = shares.of(slice(40, 130), torch.float32)
    monkeypatch.setattr(kernels, "NUMBA", False)
    torch.testing.assert_close(drawn, shares.of(slice(40, 130), torch.float32), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("dtype", "range_", "digits"), [(torch.float32, 60.0, 4e-6), (torch.float64, 700.0, 2e-13)])
def test_exponentials_keep_their_digits(dtype, range_, digits):
    x = torch.linspace(0, range_, 10001, dtype=dtype)
    found = x.clone()
    supremix_loops._exponentials(found.numpy())
    torch.testing.assert_close(found.double(), (-x.double()).exp(), rtol=digits, atol=0)
