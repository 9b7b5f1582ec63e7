"""The four losses in one shape, (embeddings, ranks), for what all of them promise."""

import pytest
import torch

from ordinate import functional

NUM_CLASSES = 5


def supcr(embeddings, ranks, **options):
    return functional.supcr(embeddings, ranks, **options)


def supcr_cosine(embeddings, ranks, **options):
    return functional.supcr(embeddings, ranks, similarity="cosine", **options)


def mmnp(embeddings, ranks, **options):
    margins = torch.tensor([0.3, 0.6, 0.5, 0.9], device=device_of(embeddings))
    return functional.mmnp(embeddings, ranks, margins, **options)


def supremix(embeddings, ranks, **options):
    shape = len(embeddings), len(options.get("ref_emb", embeddings))
    shares = torch.full(shape, 0.3, device=device_of(embeddings))
    default = {"temperature": 0.5, "window": 2.0, "label_range": 4.0, "neg_mix": shares}
    return functional.supremix(embeddings, ranks, **default | {"reduction": "mean"} | options)


def device_of(embeddings):
    return embeddings.device if isinstance(embeddings, torch.Tensor) else None


def angular_triangle(embeddings, ranks, **options):
    return functional.angular_triangle(embeddings, ranks, NUM_CLASSES, **options)


COSINE_LOSSES = [supcr_cosine, mmnp, supremix, angular_triangle]
for_every_loss = pytest.mark.parametrize("loss", [supcr, *COSINE_LOSSES], ids=lambda loss: loss.__name__)
for_every_cosine_loss = pytest.mark.parametrize("loss", COSINE_LOSSES, ids=lambda loss: loss.__name__)
