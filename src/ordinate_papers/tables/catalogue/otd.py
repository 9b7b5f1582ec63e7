"""The tables of OTD (Kamal and Bae, *Angular triangle distance for ordinal metric learning*), its Figs 4 to 13."""

from typing import Any

from ordinate_papers.tables.metric_names import KS
from ordinate_papers.tables.run import Settings
from ordinate_papers.tables.table import Column, Curve, Row, Table

IMAGE_SETS = {"BUSI": "busi", "Fingers": "fingers", "FG-Net": "fgnet", "Adience": "adience"}
NETWORKS = {
    "O-Net": "otd", "S-Net": "siamese", "T-Net": "triplet", "Q-Net": "quadruplet", "N-Net1": "n_pair",
        "N-Net2": "n_pair",
}  # fmt: skip
SIZES = (2, 4, 8, 16, 32, 64, 128, 256)
EQ_5 = {"by_rank": False}  # The loss is the plain mean over triplets.
BEST_EPOCH = {"validation_fraction": 0.2, "patience": 1000}  # All epochs run, and the best is chosen.
BEST = (
    "The weights are those of the best epoch on a fifth of the training samples: O-Net's by accuracy, as in the paper, "
    "the others' by their loss."
)


def _network(
    name: str, paper: tuple[float | None, ...] = (), deviations: tuple[float | None, ...] = (), **others: Any
) -> Row:
    settings: Settings = {}
    if name == "O-Net":
        settings = {**EQ_5, "monitored": "accuracy"}
    elif name == "N-Net2":
        settings = {"batch_size": 1000}
    return Row(name, paper, deviations, model=NETWORKS[name], settings=settings, **others)


def _every_network(**others: Any) -> tuple[Row, ...]:
    """A row for every network on every set of images, a group per set."""
    return tuple(
        _network(name, dataset=dataset, group=title, **others)
        for title, dataset in IMAGE_SETS.items()
        for name in NETWORKS
    )


TABLES = (
    Table(
        "otd-1", "How well a support vector machine separates the embeddings", "OTD, Table 1",
        tuple(Column(title, dataset=name) for title, name in IMAGE_SETS.items()),
        (
            _network("O-Net", (0.950, 1.000, 0.961, 0.578), (0.026, 0.000, 0.010, 0.153)),
            _network("S-Net", (0.903, 1.000, 0.957, 0.547), (0.040, 0.000, 0.015, 0.161)),
            _network("T-Net", (0.564, 1.000, 0.864, 0.578), (0.023, 0.000, 0.029, 0.178)),
            _network("Q-Net", (0.879, 1.000, 0.905, 0.545), (0.027, 0.000, 0.016, 0.051)),
            _network("N-Net1", (0.558, 1.000, 0.961, 0.570), (0.009, 0.000, 0.026, 0.159)),
            _network("N-Net2", (0.923, 1.000, 0.919, 0.458), (0.024, 0.000, 0.008, 0.157)),
        ),
        protocol="embedding_order", metric="svm_accuracy", settings=BEST_EPOCH, note=BEST,
    ),
    Table(
        "otd-2", "Error of the 3 nearest neighbours, percent", "OTD, Table 2",
        (
            Column("Car", 100, dataset="car"), Column("Nursery", 100, dataset="nursery"),
            Column("Hayes-Roth", 100, dataset="hayes_roth"), Column("Balance", 100, dataset="balance_scale"),
        ),
        (
            Row("Real-Eucl", (11.4, 8.6, 38.5, 15.2), (0.7, 0.1, 3.1, 1.1), model="knn_raw"),
            Row("Real-LMNN", (5.0, 2.4, 23.1, 17.6), (0.3, 0.1, 1.6, 0.9), model="lmnn_raw"),
            Row("Binary-Eucl", (24.0, 24.0, 50.0, 32.7), (1.4, 0.2, 2.9, 1.9), model="knn_one_hot"),
            Row("Binary-LMNN", (4.1, 2.3, 16.0, 17.8), (0.3, 0.1, 1.0, 1.2), model="lmnn_one_hot"),
            Row("Binary-Ord-Eucl", (12.3, 8.7, 45.5, 16.7), (0.4, 0.1, 3.3, 0.8), model="knn_thermometer"),
            Row("Binary-Ord-LMNN", (4.1, 1.9, 15.4, 13.4), (0.2, 0.1, 1.2, 0.8), model="lmnn_thermometer"),
            Row("Ex-Gower", (12.1, 8.8, 37.2, 32.8), (0.7, 0.1, 1.9, 1.3), model="knn_gower"),
            Row("Thresh-Eucl", (4.5, 2.3, 22.3, 14.5), (0.4, 0.1, 1.9, 0.7), model="knn_intervals"),
            Row("Ord-LMNN-Uni", (3.8, 1.8, 20.5, 6.8), (0.3, 0.1, 1.3, 0.5), model="lmnn_uniform"),
            Row("Ord-LMNN-Beta", (3.7, 1.6, 18.6, 6.1), (0.3, 0.1, 1.0, 0.5), model="lmnn_beta"),
            Row("Ord-LMNN-RecBeta", (3.4, 1.6, 18.6, 6.4), (0.3, 0.1, 1.0, 0.5), model="lmnn_beta_rectangular"),
            Row("O-Net", (3.1, 0.8, 16.0, 6.1), (0.4, 0.1, 1.5, 0.6), model="otd", settings=EQ_5),
        ),
        metric="knn_error",
        note="Random 70/30 splits, one per seed. Guessed of Thresh-Eucl and Ord-LMNN, whose paper is reference [8]: "
        "that all thresholds are free, targets the nearest by Real-Eucl, then twice by the distance learned, Beta's "
        "two parameters and the share of the uniform part learned per feature; all at once, by L-BFGS-B.",
    ),
    Table(
        "otd-5", "Seconds of computation on BUSI", "OTD, Table 5",
        tuple(
            Column(name, metric=f"seconds_{model}", better="lower")
            for name, model in (NETWORKS | {"N-Net2": "n_pair_1000"}).items()
        ),
        (
            Row("Pairing process", (0.767, 0.511, 0.400, 0.531, 0.401, 0.401), (0.014, 0.009, 0.007, 0.007, 0.009,
                0.009), protocol="pairing_time"),
            Row("Network training, an epoch", (21.010, 13.796, 11.529, 14.095, 2.876, 30.167),
                (0.170, 0.118, 0.085, 0.175, 0.018, 0.264), protocol="epoch_time"),
        ),
        dataset="busi", model="otd", settings=EQ_5,
        conditions={"beside": ("siamese", "triplet", "quadruplet", "n_pair"), "rounds": 1,
                    "also": {"n_pair_1000": {"model": "n_pair", "batch_size": 1000}}},
        note="Pairing is the drawing of an epoch's batches of indices: pairs and triplets are read from the Gram "
        "matrix of a batch, and none are listed.",
    ),
    Table(
        "otd-fig4", "Share of the K nearest neighbours of the same rank", "OTD, Fig. 4",
        tuple(Column(f"K = {k}", metric=f"knn_accuracy[{place}]") for place, k in enumerate(KS)),
        _every_network(),
        protocol="embedding_order", curve=Curve("neighbours, K", "K-NN accuracy", KS), settings=BEST_EPOCH,
        note=f"The paper has a picture and no figures. {BEST}",
    ),
    Table(
        "otd-fig5", "Cosine distances between all test samples", "OTD, Figs. 5 to 8",
        (Column("order", metric="order"),), _every_network(), protocol="embedding_order", picture="cosines",
        settings=BEST_EPOCH,
        note="The paper has pictures. The order is the rank correlation of cosine distances with rank distances, over "
        f"all pairs of up to 1000 test samples; the paper compares all samples. {BEST}",
    ),
    Table(
        "otd-fig9", "Image search: the 15 nearest neighbours", "OTD, Figs. 9 to 12",
        (Column("neighbours of the same rank", metric="neighbour_accuracy"),), _every_network(),
        protocol="embedding_order", picture="searches", settings=BEST_EPOCH,
        note=f"The paper has pictures. Here a query is the first test sample of each rank. {BEST}",
    ),
    Table(
        "otd-fig13", "Separability by the size of the embedding", "OTD, Fig. 13",
        tuple(Column(f"|Z| = {size}", settings={"embedding_dim": size}) for size in SIZES),
        tuple(Row(title, dataset=name) for title, name in IMAGE_SETS.items()), model="otd", metric="svm_accuracy",
        settings={**EQ_5, **BEST_EPOCH, "monitored": "accuracy"},
        curve=Curve("dimensions of the embedding", "SVM accuracy", SIZES),
        note="The paper has a picture and no figures.",
    ),
)  # fmt: skip
