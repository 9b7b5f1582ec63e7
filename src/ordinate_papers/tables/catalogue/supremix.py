"""The tables of SupReMix (*Supervised Contrastive Learning for Regression with Mixup*), its Figs 2 to 5."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ordinate.counts import counted
from ordinate_papers.tables.metric_names import SHARES
from ordinate_papers.tables.run import Settings
from ordinate_papers.tables.table import Column, Curve, Row, Table, Value

NAMES = {"mae": "MAE", "mse": "MSE", "geometric_mean_error": "GM", "pearson": "Pearson"}
MAE_GM = ("mae", "geometric_mean_error")

# The paper's hyperparameters (Table 13), in addition to those of its recipes, which every model has.
WINDOW = {"window": 5.0}
AIRFOIL = {"temperature": 1.0, "window": 7.0}
LDS, FDS = {"lds": "sqrt_inverse"}, {"fds": True}
SIZES = (4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 191_509)
# The metric is squared as well; SupReMix does not specify the loss of its heads.
SENTENCES = {"temperature": 1.0, "window": 1.0, "head_loss": "mse"}
PAIRS = "Logits are of at most 2000 training samples, without augmentation, behind the projection head."


AIRFOIL_SUPCON = Row(
    "SupCon", model="supcon", settings={"temperature": 1.0, "projection_dim": 128},
    on_its_data={"bin_size": 1e-3},  # A bin holds one target of airfoil, which is a class of SupCon.
)  # fmt: skip


def _columns(*metrics: str) -> tuple[Column, ...]:
    return tuple(Column(NAMES[metric], metric=metric) for metric in metrics)


def _over_training() -> tuple[Column, ...]:
    return tuple(Column(f"{share:.0%} of the epochs", item=place) for place, share in enumerate(SHARES))


def _supremix(name: str, paper: Sequence[Value], temperature: float, window: float = 5.0, **settings: Any) -> Row:
    return Row(name, paper, model="supremix_l1", settings={"temperature": temperature, **settings},
               on_its_data={"window": window})  # fmt: skip


def _transferred(
    group: str, source: str, target: str, temperature: float, figures: Sequence[Sequence[Value]]
) -> tuple[Row, ...]:
    """The rows of a direction of Table 8, trained as Table 13 has it for the source."""
    rows: tuple[dict[str, Any], ...] = (
        {"name": "Vanilla", "model": "l1"},
        {"name": "SupCR", "model": "supcr_l1", "training": {"batch_size": 256}},
        {"name": "SupReMix", "model": "supremix_l1", "settings": {"temperature": temperature}, "on_its_data": WINDOW},
    )
    return tuple(
        Row(**row, paper=paper, group=group, dataset=target, conditions={"source": source})
        for row, paper in zip(rows, figures, strict=True)
    )


def _without(name: str, paper: Sequence[Value], *parts: str) -> Row:
    return Row(name, paper, settings={"loss": dict.fromkeys(parts, False)})


def _methods(
    figures: Mapping[str, Sequence[Value]],
    temperature: float,
    window: float,
    *,
    supcon: Settings | None = None,
    simcse: Settings | None = None,
    contrastive: Settings | None = None,
    batch_size: int = 256,
) -> tuple[Row, ...]:
    """The rows of Tables 1 to 6 and 15: vanilla regression, its baselines, SupReMix.

    SupCon and SupReMix have the temperature of the table's data (Table 13). The others are settings for that data: of
    SupCon, of SimCSE, and of all rows but vanilla regression; and the batch size of SupCR, which keeps its own (C.1).
    """
    shared = contrastive or {}
    rows: dict[str, dict[str, Any]] = {
        "Vanilla": {"model": "l1"},
        "SupCon": {"model": "supcon", "settings": {"temperature": temperature},
                   "on_its_data": {**shared, **(supcon or {})}},
        "SupCR": {"model": "supcr_l1", "on_its_data": shared, "training": {"batch_size": batch_size}},
        "SimCSE": {"model": "simcse", "on_its_data": simcse or {}},
        "SupReMix": {"model": "supremix_l1", "settings": {"temperature": temperature},
                     "on_its_data": {**shared, "window": window}},
    }  # fmt: skip
    return tuple(Row(name, paper, **rows[name]) for name, paper in figures.items())


TABLES = (
    Table(
        "supremix-1", "SupReMix on AgeDB-DIR", "SupReMix, Table 1", _columns("mae", "mse", "geometric_mean_error"),
        _methods(
            {"Vanilla": (7.77, 101.60, 5.05), "SupCon": (8.23, 113.01, 5.31), "SupCR": (7.86, 102.84, 5.15),
             "SupReMix": (7.12, 87.65, 4.58)}, 0.5, 5.0,
        ),
        dataset="agedb_dir",
    ),
    Table(
        "supremix-2", "SupReMix on STS-B-DIR", "SupReMix, Table 2", _columns("pearson", "mse", "mae"),
        _methods(
            {"Vanilla": (0.744, 0.974, 0.794), "SupCon": (0.745, 0.954, 0.786), "SimCSE": (0.756, 0.935, 0.776),
             "SupReMix": (0.760, 0.893, 0.759)}, 1.0, 1.0,
            supcon={"bin_size": 0.1, "head": "linear"},
            simcse={"positives_above": 2.0, "embedding_dim": None, "head": "linear"},
        ),
        dataset="stsb_dir", on_its_data={"head_loss": "mse"},
        note="Heads are trained on squared errors, as they are measured; the paper does not say. SimCSE "
        "contrasts the two sentences of a pair, positives above a score of 2; its head sees the features of the pair.",
    ),
    Table(
        "supremix-3", "SupReMix on IMDB-WIKI", "SupReMix, Table 3", _columns("mae", "mse", "geometric_mean_error"),
        _methods(
            {"Vanilla": (5.55, 65.24, 3.30), "SupCon": (6.06, 71.92, 3.67), "SupCR": (5.70, 66.00, 3.45),
             "SupReMix": (5.38, 62.40, 3.15)}, 0.3, 5.0, supcon={"bin_size": 1.0},
        ),
        dataset="imdb_wiki_dir",
    ),
    Table(
        "supremix-4", "SupReMix on UK Biobank", "SupReMix, Table 4", _columns("pearson", "mae", "mse"),
        _methods(
            {"Vanilla": (0.834, 3.11, 15.31), "SupCon": (0.844, 3.14, 15.78), "SupCR": (0.856, 3.03, 14.69),
             "SupReMix": (0.863, 2.97, 14.37)}, 0.5, 3.0,
            supcon={"bin_size": 1.0}, contrastive={"scheme": "fine_tune"}, batch_size=128,
        ),
        dataset="uk_biobank",
    ),
    Table(
        "supremix-5", "SupReMix on UCI airfoil, with the paper's small network", "SupReMix, Table 5",
        _columns("mae", "mse", "geometric_mean_error"),
        (
            Row("Vanilla", (6.56, 69.32, 8.33), model="l1"),
            replace(AIRFOIL_SUPCON, paper=(5.68, 48.90, 6.99)),
            Row("SupReMix", (4.88, 39.70, 6.30), model="supremix_l1", on_its_data=AIRFOIL),
        ),
        dataset="airfoil",
        note="A network of 20, 30 and 10 units on the numbers of the file; 100 epochs of the encoder, which the paper "
        "does not give. Its geometric mean errors are above its mean errors, which none can be.",
    ),
    Table(
        "supremix-6", "SupReMix on HCP-Aging", "SupReMix, Table 6", _columns("pearson", "mae", "mse"),
        _methods(
            {"Vanilla": (0.654, 8.99, 126.43), "SupCon": (0.592, 9.81, 160.93), "SupReMix": (0.744, 8.43, 116.11)},
            0.5, 5.0, supcon={"bin_size": 1.0}, contrastive={"scheme": "fine_tune"},
        ),
        dataset="hcp_aging",
    ),
    Table(
        "supremix-7", "Imbalanced regression: where training samples are many and where they are few",
        "SupReMix, Table 7",
        tuple(
            Column(f"{NAMES[metric]} {shots}", metric=f"{metric}_{shots}")
            for metric in MAE_GM
            for shots in ("all", "many", "medium", "few")
        ),
        (
            Row("Vanilla", (7.77, 6.62, 9.55, 13.67, 5.05, 4.23, 7.01, 10.75), model="l1"),
            Row("LDS + FDS", (7.55, 7.01, 8.24, 10.79, 4.72, 4.36, 5.45, 6.79), model="l1",
                settings={"imbalance": LDS | FDS}),
            _supremix("SupReMix + LDS", (6.78, 5.97, 8.08, 10.80, 4.27, 3.69, 5.70, 7.78), 0.5, imbalance=LDS),
            _supremix("SupReMix + FDS", (6.75, 6.04, 7.86, 10.42, 4.29, 3.78, 5.33, 7.78), 0.5, imbalance=FDS),
            _supremix("SupReMix + LDS + FDS", (6.73, 6.03, 7.71, 10.65, 4.27, 3.77, 5.27, 7.61), 0.5,
                imbalance=LDS | FDS),
        ),
        dataset="agedb_dir", protocol="imbalance",
    ),
    Table(
        "supremix-8", "An encoder taken over to another data set", "SupReMix, Table 8", _columns(*MAE_GM),
        (
            *_transferred("IMDB to AgeDB", "imdb_wiki_dir", "agedb_dir", 0.3,
                          ((7.89, 5.01), (6.60, 4.37), (6.11, 3.86))),
            *_transferred("AgeDB to IMDB", "agedb_dir", "imdb_wiki_dir", 0.5,
                          ((8.48, 5.46), (8.40, 5.44), (8.14, 5.19))),
        ),
        protocol="transfer", conditions={"scheme": "linear_probe"},
        note="The paper has its two directions side by side. Temperature and batch size are those of the source.",
    ),
    Table(
        "supremix-9", "The parts of SupReMix", "SupReMix, Table 9", _columns("mae", "mse", "geometric_mean_error"),
        (
            _without("SupCon", (8.23, 113.01, 5.31), "mix_negatives", "mix_positives", "distance_magnifying"),
            _without("SupCon + Weight", (8.06, 108.82, 5.23), "mix_negatives", "mix_positives"),
            _without("SupCon + Mix-neg", (7.98, 105.23, 5.25), "mix_positives", "distance_magnifying"),
            _without("SupCon + Mix-neg + Weight", (7.45, 93.08, 4.88), "mix_positives"),
            Row("SupReMix", (7.12, 87.65, 4.58)),
        ),
        dataset="agedb_dir", model="supremix_l1", settings={"temperature": 0.5}, on_its_data=WINDOW,
    ),
    Table(
        "supremix-10", "The window gamma", "SupReMix, Table 10", _columns("mae"),
        tuple(
            Row(f"gamma = {name}", (mae,), group=group, dataset=dataset, settings={"window": window}, on_its_data=own)
            for group, dataset, own, figures in (
                ("AgeDB", "agedb_dir", {"temperature": 0.5, **WINDOW},
                 (("1", 1.0, 7.36), ("3", 3.0, 7.28), ("5", 5.0, 7.12), ("10", 10.0, 7.55),
                  ("infinity", 1_000.0, 8.00))),
                ("STS-B", "stsb_dir", SENTENCES,
                 (("0.2", 0.2, 0.78), ("0.5", 0.5, 0.76), ("1.0", 1.0, 0.76), ("2.0", 2.0, 0.79),
                  ("infinity", 1_000.0, 0.79))),
            )
            for name, window, mae in figures  # A window of 1,000 holds all labels, as an infinite gamma would.
        ),
        model="supremix_l1",
    ),
    Table(
        "supremix-11", "The distribution of the mixtures of negatives", "SupReMix, Table 11",
        tuple(
            Column(f"{title} {NAMES[metric]}", dataset=name, metric=metric, on_its_data=settings)
            for title, name, settings, metrics in (
                ("AgeDB", "agedb_dir", {"temperature": 0.5, **WINDOW}, MAE_GM),
                ("STS-B", "stsb_dir", SENTENCES, ("mse", "pearson")),
                ("IMDB-WIKI", "imdb_wiki_dir", {"temperature": 0.3, **WINDOW}, MAE_GM),
                ("UK Biobank", "uk_biobank", {"temperature": 0.5, "window": 3.0, "scheme": "fine_tune"},
                 ("mae", "mse")),
                ("UCI", "airfoil", AIRFOIL, MAE_GM),
                ("HCP", "hcp_aging", {"temperature": 0.5, "window": 5.0, "scheme": "fine_tune"}, MAE_GM),
            )
            for metric in metrics
        ),
        (
            Row("Beta(2, 8)", (7.12, 4.58, 0.89, 0.76, 5.38, 3.15, 2.98, 14.37, 4.88, 6.30, 8.43, 5.47),
                settings={"beta": (2.0, 8.0)}),
            Row("Beta(5, 5)", (7.65, 4.82, 0.93, 0.75, 5.43, 3.18, 3.07, 15.26, 5.15, 6.41, 8.57, 5.57),
                settings={"beta": (5.0, 5.0)}),
            Row("Beta(8, 2)", (7.56, 4.86, 0.90, 0.76, 5.51, 3.26, 3.08, 15.33, 5.22, 6.47, 8.77, 5.47),
                settings={"beta": (8.0, 2.0)}),
        ),
        model="supremix_l1",
        note="The paper names its rows by pictures. The first is Beta(2, 8), its figures being those of the paper's "
        "other tables (except 2.98 on UK Biobank, 2.97 in Table 4); the last is taken for Beta(8, 2), which the text "
        "calls the hardest: it is the worse of the two "
        "in 8 of 12 figures. The text itself lists Beta(2, 8), Beta(8, 2), Beta(5, 5).",
    ),
    Table(
        "supremix-12", "The data sets of the paper", "SupReMix, Table 12",
        tuple(Column(name) for name in ("target", "range", "bin", "train", "validation", "test")),
        (
            Row("IMDB-WIKI", ("Age", "0-186", 1, 191_509, 11_022, 11_022)),
            Row("AgeDB-DIR", ("Age", "0-101", 1, 12_208, 2_140, 2_140)),
            Row("STS-B-DIR", ("Text similarity score", "0-5", 0.1, 5_249, 1_000, 1_000)),
            Row("UK Biobank", ("Brain age", "42-82", 1, 19_509, 2_434, 2_431)),
            Row("HCP-Aging", ("Brain age", "36-100", 1, 456, 100, 100)),
            Row("UCI-airfoil", ("Scaled Sound Pressure Level", "103-141", 1, 1_203, 150, 150)),
        ),
        missing="a fact; nothing to run",
    ),
    Table(
        "supremix-13", "The hyperparameters of the paper", "SupReMix, Table 13",
        tuple(map(Column, ("IMDB-WIKI", "AgeDB-DIR", "STS-B-DIR", "UK Biobank", "HCP-Aging", "UCI-airfoil"))),
        (
            Row("temperature", (0.3, 0.5, 1.0, 0.5, 0.5, 1.0)),
            Row("augmentation", ("CJ + RC", "CJ + RC", "N/A", "N/A", "N/A", "N/A")),
            Row("evaluation", ("LP", "LP", "LP", "FT", "FT", "LP")),
            Row("beta", ("Beta(2, 8)",) * 6),
            Row("window, gamma", (5, 5, 1.0, 3, 5, 7)),
            Row("encoder", ("ResNet-50", "ResNet-50", "BiLSTM", "3D ResNet-18", "1D ResNet-18", "3layer MLP")),
            Row("projection head", ("2layer MLP",) * 6),
            Row("dimensions", (128,) * 6),
            Row("learning rate", (1e-3,) * 6),
            Row("batch size", (64, 128, 128, 64, 64, 32)),
        ),
        missing="a setting; nothing to run",
    ),
    Table(
        "supremix-14", "The batch size", "SupReMix, Table 14",
        tuple(
            Column(f"{name} {NAMES[metric]}", metric=metric, model=model, settings=settings)
            for metric in MAE_GM
            for name, model, settings in (
                ("SupCon", "supcon", {"temperature": 0.5}), ("SupReMix", "supremix_l1", {"temperature": 0.5, **WINDOW}))
        ),
        tuple(
            Row(f"{size}", figures, settings={"batch_size": size})
            for size, figures in (
                (64, (8.23, 7.19, 5.31, 4.60)), (128, (8.07, 7.12, 5.07, 4.58)), (256, (8.72, 7.23, 5.71, 4.60)),
                (512, (8.00, 7.09, 5.16, 4.56)),
            )
        ),
        dataset="agedb_dir",
    ),
    Table(
        "supremix-15", "Targets that training has not seen", "SupReMix, Table 15",
        tuple(
            Column(f"{NAMES[metric]} {name}", metric=f"{metric}_{group}")
            for metric in MAE_GM
            for name, group in (("overall", "all"), ("missing", "unseen"))
        ),
        _methods(
            {"Vanilla": (5.81, 7.54, 3.49, 5.99), "SupCon": (5.72, 6.86, 3.41, 4.52), "SupCR": (6.00, 7.36, 3.69, 5.18),
             "SupReMix": (5.52, 6.14, 3.23, 3.80)}, 0.3, 5.0, supcon={"bin_size": 1.0},
        ),
        dataset="imdb_wiki_dir", protocol="unseen_targets",
        conditions={"ranges": ((20, 25), (50, 55), (75, 80))},
    ),
    Table(
        "supremix-16", "The bins of SupCon", "SupReMix, Table 16", _columns(*MAE_GM),
        tuple(
            Row(f"{size}", figures, settings={"bin_size": float(size)})
            for size, figures in ((1, (8.23, 5.31)), (5, (8.29, 5.39)), (10, (8.50, 5.52)), (20, (9.07, 5.93)))
        ),
        dataset="agedb_dir", model="supcon", settings={"temperature": 0.5},
    ),
    Table(
        "supremix-fig2", "Embeddings of genuine and of permuted labels", "SupReMix, Fig. 2",
        (
            Column("MAE genuine", metric="mae_genuine"), Column("MAE permuted", metric="mae_permuted"),
            Column("order genuine", metric="order_genuine"), Column("order permuted", metric="genuine_order_permuted"),
        ),
        (
            AIRFOIL_SUPCON,
            Row("SupReMix", model="supremix_l1", on_its_data=AIRFOIL),
        ),
        dataset="airfoil", protocol="label_permutation", picture="embeddings",
        note="The paper has pictures. Network and epochs are those of Table 5. The order is the rank correlation of "
        "distances between embeddings and between genuine labels, over all pairs of test samples.",
    ),
    Table(
        "supremix-fig3", "Logits of positive and of hard negative pairs over the training", "SupReMix, Fig. 3",
        _over_training(),
        (
            Row("positive pairs, mean", metric="positive_logits"),
            Row("1000 hardest negative pairs, mean", metric="hard_negative_logits"),
        ),
        dataset="agedb_dir", model="supcon", protocol="logits", settings={"temperature": 0.5},
        picture="logits",
        note=f"The paper has pictures of one training, which it does not name; here it is SupCon. {PAIRS}",
    ),
    Table(
        "supremix-fig5", "Gap between the mean logits of positive and of negative pairs", "SupReMix, Fig. 5",
        _over_training(),
        (
            Row("SupCon", model="supcon", settings={"temperature": 0.5}),
            Row("SupReMix", model="supremix_l1", settings={"temperature": 0.5}, on_its_data=WINDOW),
        ),
        dataset="agedb_dir", metric="logit_gap", protocol="logits",
        curve=Curve("share of the encoder's epochs", "mean positive less mean negative logit", SHARES),
        note=f"The paper has a picture and no figures. {PAIRS}",
    ),
    Table(
        "supremix-fig4", "Error with ever fewer training samples", "SupReMix, Fig. 4",
        tuple(Column(counted(size, "sample"), conditions={"samples": size}) for size in SIZES),
        (
            Row("Vanilla", (*[None] * 6, 5.55), model="l1"),
            Row("SupReMix", (*[None] * 6, 5.38), model="supremix_l1", settings={"temperature": 0.3},
                on_its_data=WINDOW),
        ),
        dataset="imdb_wiki_dir", metric="mae", protocol="reduced_data",
        curve=Curve("training samples", "MAE", SIZES),
        note="The paper has a picture; figures of all samples are those of its Table 3. It says that the gap grows "
        "from 0.17 to 1.24 at 4k.",
    ),
)  # fmt: skip
