"""A method in a Trainer of Lightning, for its devices, strategies, callbacks and loggers."""

from typing import TYPE_CHECKING

from ordinate.optional import optional

if TYPE_CHECKING:
    import lightning.pytorch as lightning
else:
    lightning = optional("lightning.pytorch", "adapters", "LightningMethod")
