"""The budget of all models of a paper's table on a data set: the same encoder, optimizer, epochs, batches and views."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache

from ordinate.estimators.recipes import read_recipe, recipe_names
from ordinate.options import head_losses
from ordinate_papers.datasets.catalogue import dataset
from ordinate_papers.tables.run import Settings


@dataclass(frozen=True)
class Budget:
    """The training of a model on a data set.

    Args:
        epochs: Epochs of the encoder, which a method with two phases divides.
        phase_one: Epochs of the first phase of such a method.
        head_epochs: Epochs of a head on the frozen encoder, or of fine-tuning.
        batch_size: Samples per batch.
        encoder, embedding_dim, learning_rate: Parameters of the estimator.
        weight_decay: Weight decay of the optimizer; by default the model's own.
        patience: Patience of early stopping; by default all epochs are trained.
        optimizer, schedule, warmup, head_learning_rate: Parameters of the estimator; by default the estimator's own.
        rates: Learning rates by model, if the paper gives some models another one.
        label_distance: Label distance of SupCR, if the paper's for the data set is not the L1 distance.
        images, text, series, volumes: Fields of :class:`~ordinate.ImageOptions`, :class:`~ordinate.TextOptions`,
            :class:`~ordinate.SeriesOptions` and :class:`~ordinate.VolumeOptions`. The path ``word_vectors`` of text is
            relative to ``ORDINATE_DATA``.
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
    images: Settings | None = None
    text: Settings | None = None
    series: Settings | None = None
    volumes: Settings | None = None

    def to_dict(self) -> Settings:
        """Return the fields as JSON values; those that only some budgets have are otherwise no part of a run's key."""
        of_all = ("embedding_dim", "weight_decay", "patience", "images")
        return {name: value for name, value in asdict(self).items() if value is not None or name in of_all}


# On these small sets the paper's budget suits a CPU: 300 epochs, or as many as 3000 batches make.
CHEAP = {
    "airfoil": Budget(400, 133, 1000),  # 5 batches per epoch
    "imbalanced_ages": Budget(62, 21, 30),
    "car": Budget(300, 100),
    "nursery": Budget(83, 28),
    "hayes_roth": Budget(300, 100),
    "balance_scale": Budget(300, 100),
    "floodmodeling1": Budget(100, 33, batch_size=64, encoder="small_resnet1d"),
    "covid3month": Budget(100, 33, batch_size=64, encoder="small_resnet1d"),
}


def budget(name: str, paper: str = "", *, quick: bool = False) -> Budget:
    """Return the budget of a model on a data set in the tables of a paper.

    Args:
        name: Name of the data set.
        paper: ``"cloc"``, ``"supcr"``, ``"supremix"`` or ``"otd"``. For a data set that the paper does not use, the
            budget is that of another paper, or one that was chosen for the set.
        quick: Whether the budget is for two CPU cores, on which images take minutes and tables seconds.

    Example:
        >>> budget("adience", "cloc").epochs, budget("adience", "otd").epochs
        (1000, 20)
    """
    name = dataset(name).name
    recipes = _recipes(name)
    if name in CHEAP and paper not in recipes:
        full = CHEAP[name]
        if paper == "otd":  # It trains by Adam, on tables and on images.
            full = replace(full, optimizer="adam", schedule="constant", warmup=0.0, weight_decay=0.0)
        if not quick:
            return full
        return replace(full, epochs=full.epochs // 10, phase_one=full.phase_one // 10, head_epochs=10)
    return _of_recipe(recipes.get(paper) or next(iter(recipes.values())), quick=quick)


@cache
def _recipes(name: str) -> dict[str, str]:
    """Return the recipes on a data set by the names of their papers."""
    return {recipe.method: recipe.name for recipe in map(read_recipe, recipe_names()) if recipe.dataset == name}


def _of_recipe(name: str, *, quick: bool) -> Budget:
    recipe = read_recipe(name, quick=quick)
    settings = {**recipe.settings, **recipe.settings.get("training", {})}
    head_epochs = 10 if quick else 100
    epochs = settings["epochs"]
    if recipe.method == "cloc":
        phase_one = epochs[0]
        epochs = sum(epochs)
    else:
        if isinstance(epochs, list):
            epochs, head_epochs = epochs
        phase_one = max(1, epochs // 3)
    same = {each.name: settings[each.name] for each in fields(Budget) if each.name in settings}
    same |= {"epochs": epochs, "phase_one": phase_one, "head_epochs": head_epochs}
    if "text" in same:
        from ordinate_papers.datasets.reading import word_vectors  # It imports all that reads data.

        same["text"] = {"word_vectors": word_vectors(), **same["text"]}
    if recipe.method == "supcr":
        # End-to-end models have the rate of a head. The paper searches a grid for every method without its best.
        same["rates"] = dict.fromkeys(head_losses(), 0.05)
    elif recipe.method == "otd" and not quick:  # O-Net and Q-Net have 1e-6, as in the recipes (OTD, Appendix B).
        same["rates"] = dict.fromkeys(("siamese", "triplet", "n_pair"), 1e-4)
    return Budget(**same)
