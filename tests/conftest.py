"""Settings of every test: shapes are checked, one thread, Ctrl-C is heard, hypothesis examples are fixed.

And which tests `make thorough` alone runs, by three markers:

- ``thorough``: this test or case;
- ``pairwise``: of the combinations of this test's parameters all but a set in which every pair of values occurs;
- ``typical(*names)``: all cases of this test but those with one of these names in their id.
"""

import gc
import os
import signal
from collections import defaultdict
from collections.abc import Hashable
from pathlib import Path

import hypothesis
import pytest
import torch

from tests.pairwise import covering
from tests.shapes import check_shapes

torch.set_num_threads(1)
os.environ["NUMBA_NUM_THREADS"] = "1"  # read by numba, whose threads, started for UMAP, torch would use from then on
check_shapes()
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # kernels run without a GPU; read when Triton is imported
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # or each seed loads a driver to ask
hypothesis.settings.register_profile("ordinate", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("ordinate")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what -m says
def pytest_collection_modifyitems(config, items):
    if any("::" in argument for argument in config.args):
        return  # cases that are named are run
    tests = defaultdict(list)
    for item in items:
        if item.get_closest_marker("pairwise") or item.get_closest_marker("typical"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        for item in set(cases) - set(_default_cases(cases)):
            item.add_marker("thorough")


def pytest_collection_finish(session):
    gc.freeze()  # modules and tests stay: every search for garbage among their million objects is in vain


def _default_cases(cases):
    for marker in cases[0].iter_markers("typical"):
        for name in marker.args:
            if not any(_is_called(item, name) for item in cases):
                raise pytest.UsageError(f"{cases[0].nodeid}: its marker `typical` names {name!r}, which is no case")
        cases = [item for item in cases if any(_is_called(item, name) for name in marker.args)]
    if cases[0].get_closest_marker("pairwise"):
        chosen = covering([{name: _key(value) for name, value in item.callspec.params.items()} for item in cases])
        cases = [item for i, item in enumerate(cases) if i in chosen]
    return cases


def _is_called(item, name):
    return f"-{name}-" in f"-{item.callspec.id}-"


def _key(value):
    """What tells a parameter's value from its others."""
    return type(value), value if isinstance(value, Hashable) else id(value)


@pytest.fixture(scope="module")
def unpainted():
    """Build pictures and do not paint them, which takes half of a small ``fit``; test_cli.py and report's tests do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.figure.Figure.savefig", lambda figure, path, **options: Path(path).touch())
        yield


@pytest.fixture(scope="module")
def few_trees():
    """Grow 40 trees and 10 boosted ones where a blend has many more, most of a small one's time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ordinate.blend.forest.TREES", 40)
        for name in ("OF_RANKS", "OF_TARGETS"):
            patch.setattr(f"ordinate.blend.boosting.{name}", {"max_iter": 10})
        yield
