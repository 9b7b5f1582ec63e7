"""What a training step of an encoder costs, computed from its operations before training starts.

Times are those of an ordinary machine, not of this one at this moment: the same command makes the same plan on a busy
and on a quiet machine.
"""

import copy

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from ordinate.randomness import own_random_numbers

# Seconds of one core of a server, fitted to six networks (benchmarks/step_cost.py): products of matrices, and what the
# other operations move through memory.
SECONDS_PER_OPERATION = 31e-12
SECONDS_PER_BYTE = 0.7e-9
SHARE_OF_EMBEDDING = 0.3  # Of a training step.
CORES_OF_GPU = 60.0  # An ordinary GPU does the work of so many cores.


def nominal_seconds(encoder: nn.Module, batch: Tensor, *, gpu: bool = False) -> tuple[float, float]:
    """Return the seconds that a sample usually takes in a training step, and in an embedding.

    Args:
        encoder: Encoder that embeds the batch, on the CPU; it stays as it is.
        batch: (n, ...) samples, two at least.
        gpu: Whether a GPU trains.
    """
    counter = FlopCounterMode(display=False)
    tried = copy.deepcopy(encoder).eval()
    with own_random_numbers(), torch.no_grad(), counter:
        tried(batch)
    operations = counter.get_total_flops() / len(batch)
    seconds = SECONDS_PER_OPERATION * operations + SECONDS_PER_BYTE * bytes_per_sample(encoder, batch)
    cores = CORES_OF_GPU if gpu else torch.get_num_threads() ** 0.8  # Cores share the memory.
    training = seconds / cores
    return training, SHARE_OF_EMBEDDING * training


def bytes_per_sample(encoder: nn.Module, batch: Tensor) -> float:
    """Return the memory that a sample takes from the forward pass of an encoder to the backward pass, in bytes.

    Args:
        encoder: Encoder that embeds the batch, on the CPU; it stays as it is.
        batch: (n, ...) samples.
    """
    encoder, sizes = copy.deepcopy(encoder).train(), dict[int, int]()
    kept = {tensor.untyped_storage().data_ptr() for tensor in (*encoder.parameters(), *encoder.buffers())}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in kept:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    with own_random_numbers(), torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        embeddings = encoder(batch)
    found = sum(sizes.values()) / len(batch)
    del embeddings  # Until here they hold all that was noted, so that no two tensors had the same memory in turn.
    return found
