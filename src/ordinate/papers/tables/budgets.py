"""What every model of a table gets on a data set: the same encoder, epochs, batches and views, in one place."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ordinate.estimators.recipes import read_recipe
from ordinate.papers.datasets.catalogue import dataset

KINDS = ("text", "series", "volumes")
OF_SOME = (*KINDS, "label_distance")  # what only some data sets have


@dataclass(frozen=True)
class Budget:
    """What a model may spend on a data set.

    Args:
        epochs: of the encoder; a method of two phases divides them.
        phase_one: those of the first phase of such a method.
        head_epochs: of a head on the frozen encoder.
        batch_size: samples per batch.
        encoder, embedding_dim, learning_rate: of the estimator.
        network: of :data:`ordinate.papers.tables.variants.NETWORKS`, instead of the encoder.
        weight_decay: of the optimizer; None: the model's own.
        patience: None trains all epochs.
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
    embedding_dim: int = 64
    network: str | None = None
    learning_rate: float = 1e-3
    weight_decay: float | None = None
    patience: int | None = None
    label_distance: str | None = None
    images: Mapping[str, Any] | None = None
    text: Mapping[str, Any] | None = None
    series: Mapping[str, Any] | None = None
    volumes: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return what makes it again, ready for JSON."""
        # the key of a run has no kinds that its data is not of
        return {name: value for name, value in asdict(self).items() if name not in OF_SOME or value is not None}


RECIPES = {
    "koa": "cloc-koa", "retinamnist": "cloc-retinamnist", "busi": "otd-busi", "fingers": "otd-fingers",
    "tuab": "supcr-tuab", "uk_biobank": "supremix-ukbiobank", "hcp_aging": "supremix-hcp_aging",
}  # fmt: skip
HEAD_EPOCHS_QUICK = 10

# small sets, on which the paper's budget is a CPU's: 300 epochs, or as many as 3000 batches make
CHEAP = {
    "airfoil": Budget(400, 133, 1000),  # of 5 batches each
    "imbalanced_ages": Budget(62, 21, 30),
    "car": Budget(300, 100),
    "nursery": Budget(83, 28),
    "hayes_roth": Budget(300, 100),
    "balance_scale": Budget(300, 100),
    "floodmodeling1": Budget(100, 33, batch_size=64, network="small_resnet1d"),
    "covid3month": Budget(100, 33, batch_size=64, network="small_resnet1d"),
}

# CLOC, Section 4.2: an ImageNet ResNet-50, Adam with 1e-3, 500 epochs a phase, phase two until 10 do not improve
_CLOC = Budget(1000, 500, batch_size=64, encoder="resnet50", weight_decay=0.0, patience=10)
# SupCR, Section 4: a ResNet-18 from scratch, 400 epochs and 100 for the head, batches of 256
_SUPCR = Budget(400, 200, encoder="resnet18", embedding_dim=512)
# OTD, Appendix B: FaceNet in the paper, whose weights no package here carries; 20 epochs, embeddings of 100 dimensions
_OTD = Budget(20, 7, batch_size=64, encoder="resnet50", embedding_dim=100, weight_decay=0.0)
# SupReMix, B.1.3 and Table 13, with the BiLSTM of STS-B-DIR's authors; 100 epochs of the head are the paper's, those of
# the encoder were chosen here
_SENTENCES = Budget(100, 33, 100, 128, "bilstm", 128, weight_decay=0.0, patience=10)
# what two cores train in minutes, as the quick recipes do
_QUICK = Budget(20, 5, HEAD_EPOCHS_QUICK, 64, encoder="test_resnet", weight_decay=0.05)

PAPER = {
    **{
        name: replace(_CLOC, images={"size": 224, "augmentation": name, "pretrained": True})
        for name in ("adience", "hid", "idrid", "bracs")
    },
    "clap2015": replace(_CLOC, encoder="vgg16", images={"size": 224, "augmentation": "adience", "pretrained": True}),
    **{
        name: replace(_SUPCR, images={"size": 224, "augmentation": "supcr"})
        for name in ("agedb_dir", "imdb_wiki_dir", "skyfinder")
    },
    "mpiifacegaze": replace(_SUPCR, images={"size": 224, "augmentation": "gaze"}, label_distance="angular"),
    "fgnet": replace(_OTD, images={"size": 150, "augmentation": "flip", "pretrained": True}),
}


def budget(name: str, *, quick: bool = False) -> Budget:
    """Return what a model gets on a data set; ``quick`` for two CPU cores: images take minutes and tables seconds.

    Example:
        >>> budget("airfoil").epochs, budget("airfoil", quick=True).epochs
        (400, 40)
    """
    name = dataset(name).name
    if name in RECIPES:
        return _of_recipe(RECIPES[name], quick=quick)
    if name in CHEAP:
        full = CHEAP[name]
        small = replace(full, epochs=full.epochs // 10, phase_one=full.phase_one // 10, head_epochs=HEAD_EPOCHS_QUICK)
        return small if quick else full
    if name == "stsb_dir":
        from ordinate.papers.datasets.reading import word_vectors  # imports all that reads data

        text = {"word_vectors": word_vectors(), "max_length": 40, "hidden": 128 if quick else 1500}
        small = replace(_SENTENCES, epochs=10, phase_one=3, head_epochs=5, patience=5)
        return replace(small if quick else _SENTENCES, text=text)
    paper = PAPER[name]
    images = {**(paper.images or {}), "size": 64, "pretrained": False}
    return replace(_QUICK, images=images, label_distance=paper.label_distance) if quick else paper


def _of_recipe(name: str, *, quick: bool) -> Budget:
    settings = read_recipe(name, quick=quick).settings
    phases = settings.get("phase_epochs")
    epochs = sum(phases) if phases else settings["epochs"]
    head_epochs = HEAD_EPOCHS_QUICK if quick else 100
    if isinstance(epochs, list):
        epochs, head_epochs = epochs
    return Budget(
        epochs,
        phases[0] if phases else max(1, epochs // 3),
        head_epochs,
        settings.get("batch_size", 64),
        settings["encoder"],
        settings.get("embedding_dim", 64),
        learning_rate=settings["learning_rate"],
        weight_decay=settings["weight_decay"],
        patience=settings.get("patience"),
        **{kind: settings[kind] for kind in ("images", *KINDS) if kind in settings},
    )
