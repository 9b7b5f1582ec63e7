"""DINO: a student predicts what its own moving average sees in another view (Caron et al., 2021)."""

import copy
import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear, log_softmax, normalize, softmax

from ordinate.checks import check_choice
from ordinate.counts import counted
from ordinate.errors import OrdinateError
from ordinate.heads.build import build_head
from ordinate.methods.regression import TwoStageRegression
from ordinate.options import BinSize, Scheme
from ordinate.training.gradient_caching import embed_in_chunks
from ordinate.training.optimization import Optimization
from ordinate.training.staged_method import Stage, StagedMethod
from ordinate_papers.methods.drawn_views import DrawViews, side_by_side


class DINOHead(nn.Module):
    """Scores of an embedding against unit prototypes: a three-layer perceptron, unit norm, a linear layer of unit rows.

    The paper uses 2048 hidden units and 65536 prototypes for a million images; 1024 cost 2 points (Appendix C).

    Args:
        embedding_dim: Dimension d of the embeddings (n, d).
        hidden: Units of each hidden layer.
        bottleneck: Dimension of the prototypes.
        prototypes: Number of prototypes.

    Example:
        >>> DINOHead(8)(torch.zeros(2, 8)).shape
        torch.Size([2, 1024])
    """

    def __init__(self, embedding_dim: int, *, hidden: int = 512, bottleneck: int = 256, prototypes: int = 1024) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(embedding_dim, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(),
            nn.Linear(hidden, bottleneck),
        )  # fmt: skip
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                nn.init.trunc_normal_(layer.weight, std=0.02)
                nn.init.zeros_(layer.bias)
        self.prototypes = nn.Parameter(torch.randn(prototypes, bottleneck))

    def forward(self, embeddings: Float[Tensor, "n d"], *, learn_prototypes: bool = True) -> Float[Tensor, "n k"]:
        prototypes = self.prototypes if learn_prototypes else self.prototypes.detach()
        return linear(normalize(self.layers(embeddings), dim=1), normalize(prototypes, dim=1))


class Distillation(nn.Module):
    """A student, and its loss against a teacher that follows it; the teacher's encoder is the one that is kept.

    Batches hold two global views per sample, next to each other. The paper adds small crops, for which tables and small
    images are too small.

    Args:
        teacher: Encoder of the teacher, of which the student starts as a copy.
        embedding_dim: Dimension d of the embeddings (n, d).
        centre_momentum: Momentum of the mean score that is subtracted from the teacher's.
    """

    centre: Tensor

    def __init__(self, teacher: nn.Module, embedding_dim: int, *, centre_momentum: float = 0.9) -> None:
        super().__init__()
        self.centre_momentum = centre_momentum
        self.student = copy.deepcopy(teacher)
        self.head = DINOHead(embedding_dim)
        self.teacher_head = copy.deepcopy(self.head).requires_grad_(False)
        self.register_buffer("centre", torch.zeros(len(self.head.prototypes)))

    def trained_parameters(self) -> list[nn.Parameter]:
        """Return what the optimizer moves."""
        return [*self.student.parameters(), *self.head.parameters()]

    def forward(
        self, x: Tensor, teacher: nn.Module, chunk_size: int | None = None, *, learn_prototypes: bool = True
    ) -> Float[Tensor, ""]:
        """Return the loss of a batch of views (2n, ...) and move the centre.

        The paper keeps the student's prototypes fixed in the first epoch: ``learn_prototypes``.
        """
        if len(x) % 2:
            raise OrdinateError("x", counted(len(x), "view"), "two per sample")
        chunk_size = chunk_size or len(x)
        with torch.no_grad():
            targets = self.teacher_head(embed_in_chunks(teacher, x, chunk_size))
        scores = self.head(embed_in_chunks(self.student, x, chunk_size), learn_prototypes=learn_prototypes)
        loss = distillation_loss(scores, targets, self.centre)
        with torch.no_grad():
            self.centre.lerp_(targets.mean(0), 1 - self.centre_momentum)
        return loss

    @torch.no_grad()
    def follow(self, teacher: nn.Module, momentum: float) -> None:
        """Move the teacher's parameters towards the student's."""
        pairs = [(teacher, self.student), (self.teacher_head, self.head)]
        for follower, leader in pairs:
            for behind, ahead in zip(follower.parameters(), leader.parameters(), strict=True):
                behind.lerp_(ahead, 1 - momentum)


def distillation_loss(
    student: Float[Tensor, "m k"],
    teacher: Float[Tensor, "m k"],
    centre: Float[Tensor, " k"],
    *,
    student_temperature: float = 0.1,
    teacher_temperature: float = 0.04,
) -> Float[Tensor, ""]:
    """Return the cross-entropy of the student's view with the teacher's other view of the sample (DINO, eq. 3).

    Args:
        student: Scores (m, k) of the student; the two views of a sample are next to each other.
        teacher: Scores (m, k) of the teacher.
        centre: Mean scores (k,), which are subtracted from the teacher's.
        student_temperature: Temperature of the student's softmax.
        teacher_temperature: Temperature of the teacher's softmax.

    Example:
        >>> scores = torch.zeros(4, 8)
        >>> round(distillation_loss(scores, scores, torch.zeros(8)).exp().item(), 4)
        8.0
    """
    wanted = softmax((teacher - centre) / teacher_temperature, dim=1)
    other = wanted.unflatten(0, (-1, 2)).flip(1).flatten(0, 1)
    return -(other * log_softmax(student / student_temperature, dim=1)).sum(1).mean()


def teacher_momentum(step: int, steps: int, start: float = 0.996) -> float:
    """Return the teacher's momentum after a step of so many, which rises from ``start`` to 1 along a cosine.

    The teacher needs some hundred steps to leave its start. Faster ones (0.92 and less at the start) collapsed on small
    tables: all samples came to have the same prototypes.

    Example:
        >>> teacher_momentum(0, 100_000), teacher_momentum(100_000, 100_000)
        (0.996, 1.0)
    """
    return 1 - (1 - start) * (1 + math.cos(math.pi * step / steps)) / 2


class StudentAndTeacher(StagedMethod):
    """A first stage that trains a student, whose moving average is the encoder."""

    distillation: Distillation
    draw: DrawViews | None

    def distil(self, x: Tensor, y: Tensor) -> Float[Tensor, ""]:
        """Return the loss of a batch of the first stage."""
        x, *_ = side_by_side(x, y, None, self.draw)
        learn_prototypes = self.current_epoch > self.stage_start
        return self.distillation(x, self.encoder, self.chunk_size, learn_prototypes=learn_prototypes)

    def after_step(self) -> None:
        if self.stage_index == 0:
            step = (self.current_epoch - self.stage_start) * self.n_batches + self.step + 1
            self.distillation.follow(self.encoder, teacher_momentum(step, self.stage.epochs * self.n_batches))


class DINO(StudentAndTeacher):
    """Encoder trained by DINO, without labels. AdamW with a cosine schedule is the paper's.

    Args:
        draw: Function that draws two views of every sample; None where batches hold them, next to each other.
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        *,
        draw: DrawViews | None = None,
        epochs: int = 100,
        patience: int | None = None,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adamw", 5e-4, 0.04),
    ) -> None:
        super().__init__((Stage("DINO", epochs, optimization, patience),), chunk_size)
        self.encoder = encoder
        self.distillation = Distillation(encoder, embedding_dim)
        self.draw = draw

    def parameters_of_stage(self, index: int) -> list[nn.Parameter]:
        return self.distillation.trained_parameters()

    def batch_loss(self, x: Tensor, y: Tensor, weights: Tensor | None = None) -> Float[Tensor, ""]:
        if weights is not None:
            raise OrdinateError("weights", "some", "None", "DINO knows no labelled samples")
        return self.distil(x, y)


class DINORegression(StudentAndTeacher, TwoStageRegression):
    """Encoder trained by DINO, without labels, then a head on it (SupCR, Table 11).

    Args:
        encoder, embedding_dim, draw, patience, chunk_size, optimization: See :class:`DINO`.
    """

    def __init__(
        self,
        encoder: nn.Module,
        embedding_dim: int,
        target_dim: int = 1,
        *,
        draw: DrawViews | None = None,
        scheme: Scheme = "linear_probe",
        head_loss: str = "l1",
        bin_size: BinSize = None,
        epochs: tuple[int, int] = (400, 100),
        patience: int | None = None,
        chunk_size: int | None = None,
        optimization: Optimization = Optimization("adamw", 5e-4, 0.04),
        head_optimization: Optimization = Optimization("adamw", 1e-2, 0.0),
    ) -> None:
        # The head of the third scheme would need the student.
        check_choice(scheme, ("linear_probe", "fine_tune"), "scheme")
        head = build_head(head_loss, embedding_dim, target_dim, bin_size=bin_size)
        super().__init__(
            encoder, head, scheme=scheme, epochs=epochs, optimization=optimization, head_optimization=head_optimization,
            patience=patience, chunk_size=chunk_size,
        )  # fmt: skip
        self.distillation = Distillation(encoder, embedding_dim)
        self.draw = draw

    def parameters_of_stage(self, index: int) -> list[nn.Parameter]:
        return self.distillation.trained_parameters() if index == 0 else super().parameters_of_stage(index)

    def encoder_loss(
        self, x: Tensor, y: Float[Tensor, "n p"], weights: Float[Tensor, " n"] | None = None
    ) -> Float[Tensor, ""]:
        return self.distil(x, y)
