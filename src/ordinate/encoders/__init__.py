"""Networks from inputs to embeddings."""

from ordinate.encoders.build import build_encoder
from ordinate.encoders.mlp import MLP
from ordinate.encoders.periodic import PeriodicEmbedding
from ordinate.encoders.resnet1d import ResNet1d

__all__ = ["MLP", "PeriodicEmbedding", "ResNet1d", "build_encoder"]
