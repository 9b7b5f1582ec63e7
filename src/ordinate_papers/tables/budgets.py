"""What every model of a paper's table gets on a data set: the same encoder, optimizer, epochs, batches and views."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from ordinate.estimators.recipes import KINDS, read_recipe, recipe_names
from ordinate.estimators.registry import HEAD_LOSSES
from ordinate_papers.datasets.catalogue import dataset

OPTIMIZATION = ("optimizer", "schedule", "warmup", "head_learning_rate")
SETTINGS = (  # of recipes
    *OPTIMIZATION, "learning_rate", "weight_decay", "batch_size", "encoder", "embedding_dim", "patience",
    "label_distance",
)  # fmt: skip
OF_SOME = ("text", "series", "volumes", *OPTIMIZATION, "label_distance", "rates")  # what only some budgets have


@dataclass(frozen=True)
class Budget:
    """What a model may spend on a data set.

    Args:
        epochs: of the encoder; a method of two phases divides them.
        phase_one: those of the first phase of such a method.
        head_epochs: of a head on the frozen encoder, or of fine-tuning.
        batch_size: samples per batch.
        encoder, embedding_dim, learning_rate: of the estimator.
        weight_decay: of the optimizer; None: the model's own.
        patience: None trains all epochs.
        optimizer, schedule, warmup, head_learning_rate: of the estimator; None: the estimator's own.
        rates: the learning rates of models to which the paper gives another one.
        label_distance: of SupCR, where the paper's for the data set is not the L1 distance.
        images, text, series, volumes: of :class:`~ordinate.ImageOptions`, :class:`~ordinate.TextOptions`,
            :class:`~ordinate.SeriesOptions`, :class:`~ordinate.VolumeOptions`; ``word_vectors`` of text from
            ``ORDINATE_DATA`` on.
    """

    epochs: int
    phase_one: int
    head_epochs: int = 100
    batch_size: int = 256
    encoder: str = "auto"
    embedding_dim: int | None = 64
    learning_rate: float = 1e-3
    weight_decay: float | None = None
    patience: int | None = None
    optimizer: str | None = None
    schedule: str | None = None
    warmup: float | None = None
    head_learning_rate: float | None = None
    rates: Mapping[str, float] | None = None
    label_distance: str | None = None
    images: Mapping[str, Any] | None = None
    text: Mapping[str, Any] | None = None
    series: Mapping[str, Any] | None = None
    volumes: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what makes it again, ready for JSON."""
        # the key of a run has no kinds that its data is not of
        return {name: value for name, value in asdict(self).items() if name not in OF_SOME or value is not None}


HEAD_EPOCHS_QUICK = 10
RATES = {
    # O-Net and Q-Net have 1e-6, as in the recipes (OTD, Appendix B)
    "otd": dict.fromkeys(("siamese", "triplet", "n_pair"), 1e-4),
    # end to end: as a head has it; the paper searches a grid for every method and does not say what was best
    "supcr": dict.fromkeys(HEAD_LOSSES, 0.05),
}

# small sets, on which the paper's budget is a CPU's: 300 epochs, or as many as 3000 batches make
CHEAP = {
    "airfoil": Budget(400, 133, 1000),  # of 5 batches each
    "imbalanced_ages": Budget(62, 21, 30),
    "car": Budget(300, 100),
    "nursery": Budget(83, 28),
    "hayes_roth": Budget(300, 100),
    "balance_scale": Budget(300, 100),
    "floodmodeling1": Budget(100, 33, batch_size=64, encoder="small_resnet1d"),
    "covid3month": Budget(100, 33, batch_size=64, encoder="small_resnet1d"),
}


def budget(name: str, paper: str = "", *, quick: bool = False) -> Budget:
    """Return what a model gets on a data set in the tables of a paper.

    Args:
        name: of the data set.
        paper: ``"cloc"``, ``"supcr"``, ``"supremix"`` or ``"otd"``; where it does not use the set, that of one which
            does, or one chosen for the set.
        quick: for two CPU cores: images take minutes and tables seconds.

    Example:
        >>> budget("adience", "cloc").epochs, budget("adience", "otd").epochs
        (1000, 20)
    """
    name = dataset(name).name
    recipes = _recipes(name)
    if name in CHEAP and paper not in recipes:
        full = CHEAP[name]
        if paper == "otd":  # which trains by Adam, on tables as on images
            full = replace(full, optimizer="adam", schedule="constant", warmup=0.0, weight_decay=0.0)
        small = replace(full, epochs=full.epochs // 10, phase_one=full.phase_one // 10, head_epochs=HEAD_EPOCHS_QUICK)
        return small if quick else full
    return _of_recipe(recipes.get(paper) or next(iter(recipes.values())), quick=quick)


@cache
def _recipes(name: str) -> dict[str, str]:
    """Return the recipes on a data set by the names of their papers."""
    return {recipe.method: recipe.name for recipe in map(read_recipe, recipe_names()) if recipe.dataset == name}


def _of_recipe(name: str, *, quick: bool) -> Budget:
    recipe = read_recipe(name, quick=quick)
    settings = recipe.settings
    phases = settings.get("phase_epochs")
    epochs = sum(phases) if phases else settings["epochs"]
    head_epochs = HEAD_EPOCHS_QUICK if quick else 100
    if isinstance(epochs, list):
        epochs, head_epochs = epochs
    of_data = {kind: settings[kind] for kind in KINDS if kind in settings}
    if "text" in of_data:
        from ordinate_papers.datasets.reading import word_vectors  # imports all that reads data

        of_data["text"] = {"word_vectors": word_vectors(), **of_data["text"]}
    return Budget(
        epochs,
        phases[0] if phases else max(1, epochs // 3),
        head_epochs,
        rates=None if quick and recipe.method == "otd" else RATES.get(recipe.method),
        **{setting: settings[setting] for setting in SETTINGS if setting in settings},
        **of_data,
    )
