"""From files to batches: a folder per kind of data, and what all kinds share."""

from typing import TYPE_CHECKING

from ordinate.lazy import lazily

if TYPE_CHECKING:
    from ordinate.data.labelled import Labelled
    from ordinate.data.modality import Modality, Reader, Request
    from ordinate.data.registry import modalities, register_modality

_HOMES = {
    "Labelled": "ordinate.data.labelled",
    "Modality": "ordinate.data.modality",
    "Reader": "ordinate.data.modality",
    "Request": "ordinate.data.modality",
    "modalities": "ordinate.data.registry",
    "register_modality": "ordinate.data.registry",
}
__all__ = ["Labelled", "Modality", "Reader", "Request", "modalities", "register_modality"]

__getattr__, __dir__ = lazily("ordinate.data", _HOMES)
