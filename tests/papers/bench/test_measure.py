"""Time and memory of a pass, against tensors of known size."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from ordinate_papers.bench import measure
from ordinate_papers.bench.contenders import PRODUCTS, Contender
from ordinate_papers.bench.measure import Setting, gradient_error, probe, rounds, seconds

SETTING = Setting(dim=8, dtype=torch.float32, device="cpu")
MEBIBYTE = 2**20


def stand_in(monkeypatch, loss):
    """Let ``loss`` run as the contender "x"; seen by this process alone."""
    monkeypatch.setitem(measure.CONTENDERS, "x", Contender(loss, ranks=True))


PASS_OF_KNOWN_SIZE = """
import torch
from ordinate_papers.bench import measure

def run():
    first = torch.ones(40 * 2**20, dtype=torch.uint8)  # up to 32 MiB the C library may keep
    del first
    second = torch.ones(56 * 2**20, dtype=torch.uint8)
    return float(second[0])

held = torch.ones(64 * 2**20, dtype=torch.uint8)
run()  # the first pass loads libraries
result, peak = measure._peak(run, "cpu")
print(result, len(held), peak)
"""


@pytest.mark.thorough
def test_the_peak_is_that_of_the_pass_whatever_it_gives_back():
    """In a new process, as probes are: a heap with holes takes large tensors in, and keeps them."""
    command = [sys.executable, "-c", PASS_OF_KNOWN_SIZE]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    result, held, peak = map(float, output.split())
    assert (result, held) == (1, 64 * MEBIBYTE)
    assert peak / MEBIBYTE == pytest.approx(56, abs=1)  # the kernel counts pages to within some dozens


def test_a_larger_peak_of_the_past_does_not_count():
    torch.ones(64 * MEBIBYTE, dtype=torch.uint8)
    assert measure._peak(lambda: 1.0, "cpu")[1] < 2 * MEBIBYTE


def test_a_probe_runs_in_a_process_of_its_own_and_knows_the_memory_of_the_matrix():
    n = 2048
    result = probe("mmnp published", 128, SETTING)
    products = probe(PRODUCTS, n, SETTING)
    assert result.n == 128
    assert result.seconds > 0
    assert result.peak_bytes > 128**3 * 4  # the hinges that autograd keeps
    assert products.peak_bytes / MEBIBYTE == pytest.approx(
        n**2 * 4 / MEBIBYTE, rel=0.25
    )  # libraries take some MiB more


def test_memory_that_a_warm_up_hides_is_not_known():
    assert probe(PRODUCTS, measure.WARM_UP, SETTING).peak_bytes is None


def test_without_proc_memory_is_not_known(monkeypatch):
    def refuse(path, *_):
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(Path, "read_text", refuse)
    assert measure._peak(lambda: 1.0, "cpu") == (1.0, None)
    assert measure.available_memory("cpu") == float("inf")


def test_without_a_high_water_mark_memory_is_not_known(monkeypatch):
    monkeypatch.setattr(measure, "_field", lambda path, field: 100 if field == "VmRSS" else None)
    assert measure._peak(lambda: 1.0, "cpu") == (1.0, None)


def test_the_memory_available_is_that_of_the_machine():
    assert 0 < measure.available_memory("cpu") <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_what_a_contender_fails_with_is_returned(monkeypatch):
    def fail(embeddings, labels):
        raise RuntimeError("no kernel for this dtype\nand so on")

    stand_in(monkeypatch, fail)
    assert measure._probe("x", 128, SETTING) == "no kernel for this dtype"


def test_a_process_that_is_killed_is_an_answer(monkeypatch):
    def kill(sender, *_):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(measure, "_PROCESSES", measure.multiprocessing.get_context("fork"))
    monkeypatch.setattr(measure, "_send_probe", kill)
    assert probe("supcr", 128, SETTING) == "its process ended with code -9"


def test_seconds_are_those_of_forward_and_backward_into_a_fresh_gradient():
    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            time.sleep(0.02)
            return x.sum()

        @staticmethod
        def backward(_, grad):
            time.sleep(0.03)
            return grad.expand(4, 2)

    embeddings = torch.zeros(4, 2, requires_grad=True)
    contender = Contender(lambda x, labels: Slow.apply(x), ranks=True)
    for _ in range(2):
        assert 0.05 <= seconds(contender, embeddings, torch.zeros(4)) < 0.5
        assert embeddings.grad.eq(1).all()


def test_contenders_take_turns_after_a_warm_up_of_each(monkeypatch):
    turns = []
    for name in "ab":
        contender = Contender(lambda x, labels, name=name: turns.append(name) or x.sum(), ranks=True)
        monkeypatch.setitem(measure.CONTENDERS, name, contender)
    taken = rounds(["a", "b"], 16, SETTING, repeats=2)
    assert "".join(turns) == "ababab"
    assert [len(times) for times in taken.values()] == [2, 2]


def test_the_gradient_error_is_relative_to_the_gradient_in_float64(monkeypatch):
    stand_in(monkeypatch, lambda x, labels: x.sum() * (1.5 if x.dtype == torch.float32 else 1.0))
    assert gradient_error("x", 16, SETTING) == pytest.approx(0.5)


def test_supremix_draws_the_same_shares_in_both_precisions():
    assert gradient_error("supremix", 32, SETTING) < 1e-5
