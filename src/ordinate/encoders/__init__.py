"""Networks from inputs to embeddings."""

from ordinate.encoders.build import build_encoder
from ordinate.encoders.image import build_image_encoder
from ordinate.encoders.mlp import MLP, PeriodicEmbedding
from ordinate.encoders.pixels import ImageEncoder
from ordinate.encoders.resnet1d import ResNet1d
from ordinate.encoders.text import TextEncoder

__all__ = [
    "MLP", "ImageEncoder", "PeriodicEmbedding", "ResNet1d", "TextEncoder", "build_encoder", "build_image_encoder",
]  # fmt: skip
