"""Settings of every test: one thread, and the same hypothesis examples on every machine."""

import hypothesis
import torch

torch.set_num_threads(1)
hypothesis.settings.register_profile("ordinate", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("ordinate")
