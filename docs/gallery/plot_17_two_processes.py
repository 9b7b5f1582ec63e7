"""
Train with two processes
========================

Under ``torch.distributed`` a loss contrasts the samples of all processes. Each process compares its own anchors with
the embeddings gathered from all processes. The gradient equals that of one process with the joined batch.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch

from ordinate.losses import SupCRLoss

# %%
# Each process runs this script. Only the loss comes from Ordinate. The batches of the processes may have different
# sizes.

worker = Path(tempfile.mkdtemp()) / "worker.py"
worker.write_text("""
import sys
import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from ordinate.losses import SupCRLoss

distributed.init_process_group("gloo")
data = torch.load(sys.argv[1])
mine = slice(0, 40) if distributed.get_rank() == 0 else slice(40, None)

torch.manual_seed(0)
encoder = DistributedDataParallel(torch.nn.Linear(8, 4))
SupCRLoss()(encoder(data["x"][mine]), data["y"][mine]).backward()
if distributed.get_rank() == 0:
    torch.save(encoder.module.weight.grad, sys.argv[2])
distributed.destroy_process_group()
""")

# %%
# The gradient of the same batch of 64 samples, in one process and in two:

torch.manual_seed(1)
x, y = torch.randn(64, 8), torch.randn(64)
torch.manual_seed(0)
encoder = torch.nn.Linear(8, 4)
SupCRLoss()(encoder(x), y).backward()

batch, gradient = worker.with_name("batch.pt"), worker.with_name("gradient.pt")
torch.save({"x": x, "y": y}, batch)
launch = [sys.executable, "-P", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
subprocess.run([*launch, worker, batch, gradient], check=True, capture_output=True)
together = torch.load(gradient)

# %%
# For comparison, this is the gradient if each process used only its own samples and the losses were averaged:

apart = torch.zeros_like(together)
for part in (slice(0, 40), slice(40, None)):
    (share,) = torch.autograd.grad(SupCRLoss()(encoder(x[part]), y[part]), [encoder.weight])
    apart += share / 2

one = encoder.weight.grad
figure, axes = plt.subplots(figsize=(5.2, 4.4))
ends = [one.min(), one.max()]
axes.plot(ends, ends, color="0.7", zorder=0)
axes.scatter(one, apart, marker="x", color="tab:orange", label="two batches, averaged")
axes.scatter(one, together, s=22, color="tab:blue", label="two processes, joined")
axes.set(title="Gradient of the encoder's weights", xlabel="one process, 64 samples", ylabel="two processes, 40 and 24")
axes.legend()
print(f"largest difference: joined {(together - one).abs().max():.1e}, averaged {(apart - one).abs().max():.1e}")

# %%
# Estimators and ``ordinate fit`` do the same under ``torchrun``.
assert np.allclose(together, one, atol=1e-6)
