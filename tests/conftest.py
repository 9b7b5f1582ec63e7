"""Settings of every test: shapes are checked, one thread, Ctrl-C is heard, hypothesis draws the same examples."""

import os
import signal

import hypothesis
import torch

from tests.shapes import check_shapes

torch.set_num_threads(1)
check_shapes()
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # kernels run without a GPU; read when Triton is imported
hypothesis.settings.register_profile("ordinate", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("ordinate")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job
    signal.signal(signal.SIGINT, signal.default_int_handler)
