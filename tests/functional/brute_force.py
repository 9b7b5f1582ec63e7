"""The losses as their papers write them: one loop an index, every mixture a vector, every triplet enumerated."""

import math

import torch


def assert_agrees(loss, *args, device="cpu", **options):
    """Hold the value of a loss, and its gradient for every tensor that takes one, to the twin of the same name.

    The loss is computed on the device, its twin where the tensors are.
    """

    def moved(value):
        return value.to(device) if isinstance(value, torch.Tensor) else value

    fast = loss(*map(moved, args), **{name: moved(value) for name, value in options.items()}).cpu()
    slow = globals()[loss.__name__](*args, **options)
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-10)
    leaves = [x for x in (*args, *options.values()) if isinstance(x, torch.Tensor) and x.requires_grad]
    direction = torch.linspace(1, 2, fast.numel(), dtype=fast.dtype).reshape(fast.shape)
    gradients = (torch.autograd.grad((value * direction).sum(), leaves) for value in (fast, slow))
    for fast_gradient, slow_gradient in zip(*gradients, strict=True):
        torch.testing.assert_close(fast_gradient, slow_gradient, rtol=0, atol=1e-9)


def embeddings(n, d=3, seed=0):
    """Random float64 embeddings that take a gradient."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, dtype=torch.float64, generator=generator).requires_grad_()


def supcr(
    embeddings,
    labels,
    *,
    temperature=2.0,
    similarity="neg_l2",
    label_distance="l1",
    num_positives=None,
    tie_tolerance=0.0,
    ref_emb=None,
    ref_labels=None,
    weights=None,
    reduction="mean",
):
    refs, ref_labels = (embeddings, labels) if ref_emb is None else (ref_emb, ref_labels)
    values = []
    for i in range(len(embeddings)):
        others = [k for k in range(len(refs)) if ref_emb is not None or k != i]
        s = {k: SIMILARITIES[similarity](embeddings[i], refs[k]) / temperature for k in others}
        d = {k: label_distance_of(labels[i], ref_labels[k], label_distance) for k in others}
        farthest_positive = math.inf if num_positives is None else sorted(d.values())[:num_positives][-1]
        terms = []
        for j in others:
            if d[j] <= farthest_positive + tie_tolerance:
                denominator = [s[k] for k in others if d[k] >= d[j] - tie_tolerance]
                terms.append(torch.logsumexp(torch.stack(denominator), 0) - s[j])
        values.append(torch.stack(terms).mean())
    return reduce_anchors(torch.stack(values), weights, reduction)


SIMILARITIES = {
    "neg_l2": lambda a, b: -(a - b).norm(),
    "neg_l1": lambda a, b: -(a - b).abs().sum(),
    "cosine": lambda a, b: a @ b / (a.norm() * b.norm()),
}


def label_distance_of(a, b, kind):
    a, b = a.reshape(-1).double(), b.reshape(-1).double()
    if callable(kind):
        return kind(a[None], b[None]).item()
    if kind == "angular":
        return math.acos(min(1.0, gaze(a) @ gaze(b)))
    return {"l1": (a - b).abs().sum(), "l2": (a - b).square().sum().sqrt()}[kind].item()


def gaze(pitch_yaw):
    pitch, yaw = pitch_yaw.tolist()
    x, y, z = math.cos(pitch) * math.sin(yaw), math.sin(pitch), math.cos(pitch) * math.cos(yaw)
    return torch.tensor([x, y, z], dtype=torch.float64)


def mmnp(
    embeddings,
    labels,
    margins,
    *,
    triplets=None,
    ref_emb=None,
    ref_labels=None,
    weights=None,
    reduction="pair_mean",
):
    refs, ref_labels = (embeddings, labels) if ref_emb is None else (ref_emb, ref_labels)
    psi = SIMILARITIES["cosine"]
    sums, means, published, has_pair = [], [], [], []
    for i in range(len(embeddings)):
        hinges = []
        negatives = sum(int(ref_labels[k] != labels[i]) for k in range(len(refs)))
        if triplets is None:
            positives = [j for j in range(len(refs)) if ref_labels[j] == labels[i] and (ref_emb is not None or j != i)]
            pairs = [(j, k) for j in positives for k in range(len(refs)) if ref_labels[k] != labels[i]]
        else:
            pairs = [(j, k) for j, anchor, k in triplets.tolist() if anchor == i]
        for j, k in pairs:
            low, high = sorted([int(labels[i]), int(ref_labels[k])])
            margin = sum(margins[h] for h in range(low, high))
            hinge = margin + psi(embeddings[i], refs[k]) - psi(embeddings[i], refs[j])
            hinges.append(torch.clamp(hinge, min=0))
        total = sum(hinges, embeddings.new_zeros(()))
        sums.append(total)
        means.append(total / max(len(hinges), 1))
        published.append(total / max(len(hinges) * negatives, 1))
        has_pair.append(bool(hinges))
    if reduction == "pair_mean":
        return reduce_anchors(torch.stack(means), weights, "mean", has_pair)
    if reduction == "published":
        return reduce_anchors(torch.stack(published), weights, "mean", has_pair)
    values = reduce_anchors(torch.stack(sums), weights, "none")
    return values.mean() if reduction == "sum" else values


def supremix(
    embeddings,
    labels,
    *,
    temperature,
    window,
    neg_mix=None,
    mix_negatives=True,
    mix_positives=True,
    distance_magnifying=True,
    label_range=None,
    renormalize=True,
    detach_mixtures=False,
    ref_emb=None,
    ref_labels=None,
    weights=None,
    reduction="mean",
):
    y = labels.tolist()
    ref_y = y if ref_labels is None else ref_labels.tolist()
    z = [unit(e) for e in embeddings]
    refs = z if ref_emb is None else [unit(e) for e in ref_emb]
    span = label_range or (max(y + ref_y) - min(y + ref_y)) or 1.0

    def mix(share, a, b):
        mixture = share * a + (1 - share) * b
        mixture = unit(mixture) if renormalize else mixture
        return mixture.detach() if detach_mixtures else mixture

    sums, means, has_positive = [], [], []
    for i in range(len(z)):
        others = [c for c in range(len(refs)) if ref_emb is not None or c != i]
        positives = [refs[c] for c in others if ref_y[c] == y[i]]
        contrasts = [(refs[c], ref_y[c]) for c in others]
        if mix_positives:
            for below in others:
                for above in others:
                    if 0 < y[i] - ref_y[below] <= window and 0 < ref_y[above] - y[i] <= window:
                        share = (ref_y[above] - y[i]) / (ref_y[above] - ref_y[below])
                        positives.append(mix(share, refs[below], refs[above]))
                        contrasts.append((positives[-1], y[i]))
        if mix_negatives:
            for c in others:
                if ref_y[c] != y[i]:
                    share = float(neg_mix[i, c])
                    contrasts.append((mix(share, z[i], refs[c]), share * y[i] + (1 - share) * ref_y[c]))
        denominator = 0.0
        for contrast, label in contrasts:
            w = (1 + abs(y[i] - label)) / span if distance_magnifying else 1.0
            denominator = denominator + w * torch.exp(z[i] @ contrast / temperature)
        total = embeddings.new_zeros(())
        for positive in positives:
            total = total - torch.log(torch.exp(z[i] @ positive / temperature) / denominator)
        sums.append(total / y.count(y[i]))
        means.append(total / max(len(positives), 1))
        has_positive.append(bool(positives))
    if reduction == "sum":
        return reduce_anchors(torch.stack(sums), weights, "sum")
    return reduce_anchors(torch.stack(means), weights, reduction, has_positive)


def unit(x):
    """A row of norm 1; one of zeros stays as it is."""
    return x / x.norm() if x.any() else x * 0


def angular_triangle(
    embeddings, labels, num_classes, *, triplets=None, ref_emb=None, ref_labels=None, weights=None, reduction="mean"
):
    refs, ref_labels = (embeddings, labels) if ref_emb is None else (ref_emb, ref_labels)
    n, m = len(embeddings), len(refs)
    rank, ref_rank = [int(r) for r in labels], [int(r) for r in ref_labels]
    if triplets is None:
        extremes = {(0, r, num_classes - 1) for r in range(1, num_classes)}
        combinations = extremes | {(r, r, r) for r in range(num_classes)}
        triplets = [
            (i, j, k)
            for i in range(m)
            for j in range(n)
            for k in range(m)
            if i != k and (ref_emb is not None or j not in (i, k))
            if (ref_rank[i], rank[j], ref_rank[k]) in combinations
        ]
    else:
        triplets = triplets.tolist()
    terms = [[] for _ in range(n)]
    for i, j, k in triplets:
        first = angle(refs[i], embeddings[j]) - abs(ref_rank[i] - rank[j]) / (num_classes - 1)
        second = angle(embeddings[j], refs[k]) - abs(rank[j] - ref_rank[k]) / (num_classes - 1)
        terms[j].append(first**2 + second**2)
    weight = [1.0] * n if weights is None else list(weights)
    if reduction == "none":
        zero = embeddings.new_zeros(())
        return torch.stack([weight[j] * sum(terms[j], zero) / max(len(terms[j]), 1) for j in range(n)])
    total = sum(weight[j] * term for j in range(n) for term in terms[j])
    return total / sum(weight[j] * len(terms[j]) for j in range(n)) if reduction == "mean" else total


def angle(a, b):
    return torch.acos(SIMILARITIES["cosine"](a, b)) / math.pi


def reduce_anchors(values, weights, reduction, counted=None):
    counted = [True] * len(values) if counted is None else counted
    share = torch.ones(len(values), dtype=values.dtype) if weights is None else weights.to(values.dtype)
    if reduction == "none":
        return share * values
    share = share * torch.tensor(counted)
    return (share * values).sum() if reduction == "sum" else (share * values).sum() / share.sum()
