"""The values of string options, for signatures and checks."""

from typing import Literal

Similarity = Literal["neg_l2", "neg_l1", "cosine"]
LabelDistanceName = Literal["l1", "l2", "angular"]
Reduction = Literal["mean", "sum", "none"]
PairReduction = Literal["pair_mean", "sum", "none"]
Scheme = Literal["linear_probe", "fine_tune", "regularise"]
LinearLoss = Literal["l1", "mse", "huber"]
HeadLoss = LinearLoss | Literal["dex", "dldl_v2", "or", "corn"]
OrdinalLoss = Literal["cross_entropy", "or", "corn", "coral"]
Monitored = Literal["loss", "accuracy"]
Weighting = Literal["inverse", "sqrt_inverse"]
Kernel = Literal["gaussian", "triangular", "laplace"]
OptimizerName = Literal["adam", "adamw", "sgd"]
Schedule = Literal["cosine", "constant"]
Precision = Literal["32-true", "16-mixed", "bf16-mixed"]
OptimizationName = Literal["usual", "paper"]
Activation = Literal["relu", "silu", "gelu", "tanh"]
