"""Which network an estimator trains, and how it reads what the network gets."""

from dataclasses import field, replace
from typing import Any

from torch import nn

from ordinate.data.images.options import ImageOptions
from ordinate.data.modality import Modality, Reader
from ordinate.data.registry import modality_of_reader
from ordinate.data.series.options import SeriesOptions
from ordinate.data.text.options import TextOptions
from ordinate.data.volumes.options import VolumeOptions
from ordinate.encoders.blocks import PartlyTrained
from ordinate.encoders.given import Encoder
from ordinate.encoders.hugging_face import VisionNetwork
from ordinate.estimators.parameters import estimator_dataclass
from ordinate.estimators.registry import named_encoders
from ordinate.extensions import load_object


@estimator_dataclass
class EncoderParameters:
    """Parameters of encoder and data that all estimators share.

    Args:
        encoder: ``"auto"`` chooses the network that suits X; ``"mlp"`` for tables, ``"resnet1d"`` for series,
            ``"resnet3d18"`` for volumes, and for images ``"otd_convnet"`` or any network of timm by name, such as
            ``"resnet50"``; for text see :class:`~ordinate.TextOptions`. Or a network of your own: a ``torch.nn.Module``
            (``fit`` copies it; one of timm loses its classifier), a function from ``embedding_dim`` to one, or
            ``"hf:"`` and the folder or name of a network of transformers for images or text, such as
            ``"hf:facebook/dinov2-small"``. The network gets images (n, channels, height, width) and volumes normalised
            by channel, as its ``pretrained_cfg`` says or else by the training samples; series (n, channels, length)
            standardised, NaN after the end of shorter ones; tables (n, features), numbers standardised, those missing
            in training with a mark in a column of their own, categories as a column each; texts as word vectors
            (n, words, width), 0 after the end. Predictions for tables and series are computed in float64, all else in
            float32. The network gives vectors (n, k), or maps (n, k, ...), tokens (n, t, k) or a ``ModelOutput``, of
            which the mean or the ``pooler_output`` is taken.
        embedding_dim: d of the embeddings, to which a linear layer on the network leads (for text one with a hidden
            layer), unless a function was told it. None for the features of the network itself, without a further
            layer; where a network ends in ReLU these are at least 0, and OTD's half circle is out of their reach.
        train_encoder: how much of a network that brings weights is trained: ``"all"``, its last k blocks (residual
            blocks, transformer layers), or ``"none"``, for images on features that are computed once; None for what
            ``frozen`` of :class:`~ordinate.ImageOptions` or :class:`~ordinate.TextOptions` says, else ``"all"``.
        encoder_learning_rate: of the network, at its highest; None for ``learning_rate``, which new layers on it have.
        images: how images are read and augmented; None for the defaults of :class:`~ordinate.ImageOptions`.
        volumes: how volumes are read; None for the defaults of :class:`~ordinate.VolumeOptions`.
        text: says that X is text, how it is read and by which encoders: :class:`~ordinate.TextOptions`; None for other
            data.
        series: how series are cropped in training; None for the defaults of :class:`~ordinate.SeriesOptions`.
    """

    encoder: Encoder = field(default="auto", kw_only=False)
    embedding_dim: int | None = 64
    train_encoder: int | str | None = None
    encoder_learning_rate: float | None = None
    images: ImageOptions | None = None
    volumes: VolumeOptions | None = None
    text: TextOptions | None = None
    series: SeriesOptions | None = None
    reader_: Reader = field(init=False)
    network_config_: dict[str, Any] | None = field(default=None, init=False)  # of transformers, in a loaded model

    def _options_of(self, modality: Modality) -> Any:
        """Return the options of a kind of data, the defaults where none are given."""
        given = getattr(self, modality.parameter, None)
        options = modality.options_class() if given is None and modality.options_class is not None else given
        if isinstance(options, TextOptions) and isinstance(self.encoder, str) and self.train_encoder is not None:
            return replace(options, frozen=self.train_encoder == "none")
        return options

    @property
    def _data_options(self) -> Any:
        """The options of the kind of data that the estimator is fitted on."""
        return self._options_of(modality_of_reader(self.reader_))

    def _new_encoder(self, *, for_saved_weights: bool = False) -> nn.Module:
        if isinstance(self.encoder, str) and self.encoder in named_encoders():
            return load_object(named_encoders()[self.encoder])(self)
        config = self.network_config_ if for_saved_weights else None
        encoder = self.reader_.new_encoder(
            self.encoder if config is None else VisionNetwork(config),
            self.embedding_dim,
            self._data_options,
            for_saved_weights=for_saved_weights,
            **self._encoder_options(),
        )
        if self.train_encoder in (None, "all") or not isinstance(encoder, PartlyTrained):
            return encoder
        return encoder.train_only(self.train_encoder)

    def _encoder_options(self) -> dict[str, Any]:
        """Return options of the encoder that depend on what is predicted."""
        return {}
