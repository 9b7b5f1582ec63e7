"""How a loss module shows its settings."""

from torch import nn


def shown(module: nn.Module, *names: str) -> str:
    """Return ``name=value`` of these attributes, for ``extra_repr``.

    Example:
        >>> shown(nn.Linear(3, 2), "in_features", "out_features")
        'in_features=3, out_features=2'
    """
    return ", ".join(f"{name}={getattr(module, name)!r}" for name in names)
