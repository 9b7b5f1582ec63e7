#!/usr/bin/env bash
# pytorch-metric-learning: CrossBatchMemory leaves the loss of a first batch as it is, and halves its gradient.
#
# A memory that is still empty adds nothing, and the value of the loss is that of the loss alone. The gradient is not:
# the batch enters the memory without one, and is then contrasted with itself out of the memory, so that a sample
# gets the gradient of an anchor, but none as the partner of the others. For the contrastive loss this is exactly half,
# at the same learning rate; for NTXent, multi-similarity and triplets the direction changes too. It stays so in later
# batches, for the pairs within a batch. A loss with `ref_emb`, the batch with its gradient and then a memory by hand,
# has the whole gradient.
#
#   loss                    value, alone and with memory   length of gradient   cosine of the two gradients
#   ContrastiveLoss         equal                          0.500                1.000
#   NTXentLoss              equal                          0.511                0.939
#   MultiSimilarityLoss     equal                          0.537                0.917
#   TripletMarginLoss       equal                          0.562                0.990
#
# Seen with Python 3.11, pytorch-metric-learning 2.9.0, torch 2.15.0. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet torch==2.15.0 pytorch-metric-learning==2.9.0
cd "$work"
venv/bin/python - <<'PYTHON'
import torch
from pytorch_metric_learning import losses
from torch.nn.functional import cosine_similarity

torch.manual_seed(0)
samples, labels = torch.randn(12, 4, dtype=torch.float64), torch.arange(12) % 3


def value_and_gradient(loss_of):
    batch = samples.clone().requires_grad_()
    value = loss_of(batch, labels)
    value.backward()
    return value.item(), batch.grad.flatten()


found = []
for name in ("ContrastiveLoss", "NTXentLoss", "MultiSimilarityLoss", "TripletMarginLoss"):
    loss = getattr(losses, name)
    value, gradient = value_and_gradient(loss())
    remembered, other = value_and_gradient(losses.CrossBatchMemory(loss(), embedding_size=4, memory_size=12))
    assert abs(value - remembered) < 1e-12, (value, remembered)
    found.append((round((other.norm() / gradient.norm()).item(), 3), round(cosine_similarity(gradient, other, 0).item(), 3)))
    print(f"{name:20} value {value:.6f} and {remembered:.6f}; length of gradient, cosine: {found[-1]}")
    if name == "ContrastiveLoss":
        assert (other - gradient / 2).abs().max() < 1e-12
assert found == [(0.5, 1.0), (0.511, 0.939), (0.537, 0.917), (0.562, 0.99)], found
PYTHON
