"""The tables of SupCR (Zha et al., *Supervised Contrastive Regression*), its Figs 1, 3 and 4."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ordinate.counts import counted
from ordinate_papers.tables.run import Settings
from ordinate_papers.tables.table import Column, Curve, Row, Table

MAE, R2 = Column("MAE", metric="mae"), Column("R2", metric="r2")
A_YEAR_OR_DEGREE = {"bin_size": 1.0}  # One year of age, or one degree of temperature (Appendix D).
HALF_AND_WHOLE_DEGREES = {"bin_size": (0.00873, 0.01745)}  # Bins of pitch and yaw, in radians (Appendix D).
DATA = {
    "AgeDB": ("agedb_dir", "mae"), "TUAB": ("tuab", "mae"), "MPIIFaceGaze": ("mpiifacegaze", "angular_error"),
    "SkyFinder": ("skyfinder", "mae"),
}  # fmt: skip
SIZES = (2_000, 4_000, 8_000, 16_000, 32_000)


def _head_table(number: int, title: str, dataset: str, error: Column, end_to_end: tuple[tuple[float, float], ...],
                on_supcr: tuple[tuple[float, float], ...],
                bins: Settings = A_YEAR_OR_DEGREE) -> Table:  # fmt: skip
    """Tables 1 to 4: seven ways to predict, end to end and on the representation of SupCR."""
    names = ("L1", "MSE", "HUBER", "DEX", "DLDL-v2", "OR", "CORN")
    rows: list[Row] = []
    for name, plain, frozen in zip(names, end_to_end, on_supcr, strict=True):
        loss = name.lower().replace("-", "_")
        own = bins if loss in ("dex", "dldl_v2", "or", "corn") else {}
        rows += [
            Row(name, plain, model=loss, on_its_data=own),
            Row(f"SupCR({name})", frozen, model=f"supcr_{loss}", on_its_data=own),
        ]
    return Table(
        f"supcr-{number}", f"Seven regression losses, end to end and on SupCR: {title}", f"SupCR, Table {number}",
        (error, R2), rows, dataset=dataset,
    )  # fmt: skip


def _best(title: str, name: str, metric: str = "") -> Column:
    """A column of the best head on a data set."""
    best: Mapping[str, tuple[str, Settings]] = {
        "AgeDB": ("supcr_l1", {}), "TUAB": ("supcr_dldl_v2", A_YEAR_OR_DEGREE),
        "MPIIFaceGaze": ("supcr_or", HALF_AND_WHOLE_DEGREES), "SkyFinder": ("supcr_dldl_v2", A_YEAR_OR_DEGREE),
    }  # fmt: skip
    dataset, error = DATA[title]
    model, bins = best[title]
    return Column(f"{title} {name}", dataset=dataset, metric=metric or error, model=model, on_its_data=bins)


def _two(l1: tuple[float, ...] = (), supcr: tuple[float, ...] = (), **others: Any) -> tuple[Row, Row]:
    """The rows of plain regression and of SupCR."""
    return Row("L1", l1, model="l1", **others), Row("SupCR(L1)", supcr, model="supcr_l1", **others)


TABLES = (
    _head_table(
        1, "AgeDB", "agedb_dir", MAE,
        ((6.63, 0.828), (6.57, 0.828), (6.54, 0.828), (7.29, 0.787), (6.60, 0.827), (6.40, 0.830), (6.72, 0.811)),
        ((6.14, 0.850), (6.19, 0.849), (6.15, 0.850), (6.43, 0.836), (6.32, 0.844), (6.34, 0.843), (6.44, 0.838)),
    ),
    _head_table(
        2, "TUAB", "tuab", MAE,
        ((7.96, 0.599), (8.06, 0.585), (7.59, 0.637), (8.01, 0.537), (7.91, 0.560), (7.36, 0.646), (8.11, 0.597)),
        ((6.97, 0.697), (7.05, 0.692), (6.99, 0.696), (7.23, 0.646), (6.91, 0.697), (7.01, 0.688), (7.22, 0.663)),
    ),
    _head_table(
        3, "MPIIFaceGaze", "mpiifacegaze", Column("Angular", metric="angular_error"),
        ((5.97, 0.744), (6.02, 0.747), (6.34, 0.709), (5.72, 0.776), (5.47, 0.799), (5.86, 0.770), (5.88, 0.762)),
        ((5.27, 0.815), (5.35, 0.802), (5.15, 0.830), (5.14, 0.805), (5.16, 0.802), (5.13, 0.825), (5.18, 0.820)),
        HALF_AND_WHOLE_DEGREES,
    ),
    _head_table(
        4, "SkyFinder", "skyfinder", MAE,
        ((2.95, 0.860), (3.08, 0.851), (2.92, 0.860), (3.58, 0.778), (2.99, 0.856), (2.92, 0.861), (3.24, 0.819)),
        ((2.86, 0.869), (2.86, 0.869), (2.86, 0.869), (2.88, 0.865), (2.85, 0.869), (2.86, 0.867), (2.89, 0.862)),
    ),
    Table(
        "supcr-5", "An encoder taken over to another data set", "SupCR, Table 5",
        (
            *(Column(f"probe {c.name}", metric=c.metric, conditions={"scheme": "linear_probe"}) for c in (MAE, R2)),
            *(Column(f"fine-tuned {c.name}", metric=c.metric, conditions={"scheme": "fine_tune"}) for c in (MAE, R2)),
        ),
        (
            *_two((12.25, 0.496, 11.57, 0.528), (11.12, 0.556, 11.09, 0.546), group="AgeDB to IMDB-WIKI, 2k",
                  dataset="imdb_wiki_dir", conditions={"source": "agedb_dir", "samples": 2_000}),
            *_two((7.36, 0.801, 6.36, 0.848), (7.06, 0.812, 6.13, 0.850), group="IMDB-WIKI, 32k, to AgeDB",
                  dataset="agedb_dir", conditions={"source": "imdb_wiki_dir", "source_samples": 32_000}),
        ),
        protocol="transfer",
    ),
    Table(
        "supcr-6", "Targets that training has not seen", "SupCR, Table 6",
        tuple(Column(name, metric=f"mae_{name.lower()}") for name in ("All", "Seen", "Unseen")),
        (
            *_two((12.53, 10.82, 18.40), (11.69, 10.46, 15.92), group="two modes",
                  conditions={"ranges": ((0, 15), (45, 60), (85, 186)), "drawn": 3_781}),
            *_two((11.94, 10.43, 14.98), (10.88, 9.78, 13.08), group="three modes",
                  conditions={"ranges": ((0, 10), (25, 35), (55, 65), (85, 186)), "drawn": 3_662}),
        ),
        dataset="imdb_wiki_dir", protocol="unseen_targets", picture="targets",
        note="The paper shows its two training sets in a picture. Here they have as many samples as there, in Gaussian "
        "modes of the same size; their means lie between the ages left out, to which three deviations reach.",
    ),
    Table(
        "supcr-7", "Similarity and projection head", "SupCR, Table 7", (MAE, R2),
        (
            Row("SimCLR, cosine, projected", (9.59, 0.666), model="simclr", settings={"projection_dim": 128}),
            Row("SimCLR, cosine", (10.67, 0.600), model="simclr", settings={"projection_dim": None}),
            Row("SupCon, cosine, projected", (8.13, 0.753), model="supcon", settings={"projection_dim": 128}),
            Row("SupCon, cosine", (7.89, 0.760), model="supcon", settings={"projection_dim": None}),
            Row("SupCR, cosine, projected", (7.34, 0.793), model="supcr_l1",
                settings={"similarity": "cosine", "projection": 128}),
            Row("SupCR, cosine", (6.51, 0.836), model="supcr_l1", settings={"similarity": "cosine"}),
            Row("SupCR, negative L1 norm", (6.25, 0.842), model="supcr_l1", settings={"similarity": "neg_l1"}),
            Row("SupCR, negative L2 norm", (6.14, 0.850), model="supcr_l1"),
        ),
        dataset="agedb_dir",
    ),
    Table(
        "supcr-8", "Schemes of training", "SupCR, Table 8", (MAE, R2),
        (
            Row("linear probing", (6.14, 0.850), model="supcr_l1"),
            Row("fine-tuning", (6.36, 0.844), model="supcr_l1", settings={"scheme": "fine_tune"}),
            Row("regularisation", (6.42, 0.833), model="supcr_l1", settings={"scheme": "regularise"}),
            Row("L1", (6.63, 0.828), model="l1"),
        ),
        dataset="agedb_dir",
    ),
    Table(
        "supcr-9", "With a ResNet-50", "SupCR, Table 9",
        (
            Column("AgeDB MAE", dataset="agedb_dir", metric="mae"), replace(R2, dataset="agedb_dir"),
            Column("MPIIFaceGaze Angular", dataset="mpiifacegaze", metric="angular_error"),
            replace(R2, dataset="mpiifacegaze"),
            Column("SkyFinder MAE", dataset="skyfinder", metric="mae"), replace(R2, dataset="skyfinder"),
        ),
        _two((6.49, 0.830, 5.74, 0.748, 2.88, 0.863), (6.10, 0.851, 5.16, 0.819, 2.78, 0.877)),
        training={"encoder": "resnet50"},
    ),
    Table(
        "supcr-10", "Compared with the best published result of each data set", "SupCR, Table 10",
        (
            _best("AgeDB", "MAE"), _best("TUAB", "MAE"), _best("TUAB", "R2", "r2"), _best("MPIIFaceGaze", "Angular"),
            _best("SkyFinder", "MAE"), _best("SkyFinder", "RMSE", "rmse"),
        ),
        (
            Row(
                "SOTA", (6.58, 7.96, 0.599, 5.76, 2.97, 4.05),
                missing="systems of their own; AgeDB's is LDS and FDS, options of the regressors",
            ),
            Row("SupCR", (6.14, 6.91, 0.697, 5.13, 2.85, 3.84)),
        ),
    ),
    Table(
        "supcr-11", "Self-supervised learning, pre-trained elsewhere, here, or together with L1", "SupCR, Table 11",
        tuple(
            Column(f"{title} {head}", dataset=name, metric=metric, settings=settings,
                   training={} if name == "tuab" else {"encoder": "resnet50"})
            for title, (name, metric) in DATA.items()
            for head, settings in (("linear", {}), ("k-NN", {"head": "neighbours", "n_neighbors": 20}))
        ),
        (
            Row("L1", (6.49, None, 7.96, None, 5.74, None, 2.88, None), model="l1"),
            Row("L1 + SimCLR regularisation", (6.53, None, 8.02, None, 5.85, None, 2.93, None), model="simclr",
                settings={"scheme": "regularise"}),
            *(
                Row(name, errors, missing="no package here carries ImageNet weights of this pre-training")
                for name, errors in (
                    ("SimCLR, from ImageNet", (15.32, None, None, None, 16.11, None, 5.03, None)),
                    ("DINO, from ImageNet", (9.14, 11.82, None, None, 12.44, 12.84, 4.62, 3.64)))
            ),
            Row("SimCLR", (9.38, None, 11.01, None, 9.13, None, 4.55, None), model="simclr"),
            Row("DINO", (9.91, 12.03, 11.62, 12.32, 11.90, 12.50, 5.00, 4.20), model="dino"),
            Row("SupCR(L1)", (6.10, None, 6.97, None, 5.16, None, 2.78, None), model="supcr_l1"),
        ),
    ),
    Table(
        "supcr-12", "Deviations of the best results over five seeds", "SupCR, Table 12",
        (
            _best("AgeDB", "SupCR(L1)"), _best("TUAB", "SupCR(DLDL-v2)"), _best("MPIIFaceGaze", "SupCR(OR)"),
            _best("SkyFinder", "SupCR(DLDL-v2)"),
        ),
        (Row("error", (6.19, 7.00, 5.24, 2.87), (0.08, 0.10, 0.13, 0.04)),),
    ),
    Table(
        "supcr-13", "The number of positives", "SupCR, Table 13", (MAE,),
        tuple(
            Row(f"K = {count}", (mae,), settings={"num_positives": count})
            for count, mae in ((128, 6.46), (256, 6.43), (384, 6.29), (511, 6.14))
        ),
        dataset="agedb_dir", model="supcr_l1", note="511 are all positives of two views of 256 samples.",
    ),
    Table(
        "supcr-14", "Seconds of a training epoch compared with SupCon", "SupCR, Table 14",
        tuple(Column(title, dataset=name) for title, (name, _) in DATA.items()),
        (
            Row("SupCon", (23.1, 25.3, 69.1, 55.6), metric="seconds_supcon"),
            Row("SupCR", (26.2, 27.3, 75.4, 61.8), metric="seconds_supcr"),
            Row("ratio", (1.13, 1.08, 1.09, 1.11), metric="ratio_supcr"),
        ),
        model="supcr", protocol="epoch_time", conditions={"beside": ("supcon",)},
        note="The paper's machine has 8 TITAN RTX; the ratio is what can be compared.",
    ),
    Table(
        "supcr-fig1", "Embeddings of three losses by UMAP", "SupCR, Fig. 1", (Column("order", metric="order"),),
        (
            Row("L1", model="l1"),
            Row("SupCon", model="supcon", settings=A_YEAR_OR_DEGREE),
            Row("SupCR", model="supcr_l1"),
        ),
        dataset="skyfinder", protocol="embedding_map", picture="maps",
        note="The paper has pictures. The order is the rank correlation of distances between embeddings and between "
        "temperatures, over all pairs of at most 1000 test samples.",
    ),
    Table(
        "supcr-fig3", "Error under corruptions of the images", "SupCR, Fig. 3",
        tuple(Column(f"severity {level}", metric=f"corrupted_mae[{level - 1}]") for level in range(1, 6)),
        _two(), dataset="agedb_dir",
        protocol="corruption_robustness",
        curve=Curve("severity of the corruption", "MAE, mean over 19 corruptions", (1, 2, 3, 4, 5)),
        note="The paper has a picture and no figures.",
    ),
    Table(
        "supcr-fig4", "Error with ever fewer training samples", "SupCR, Fig. 4",
        tuple(Column(counted(size, "sample"), conditions={"samples": size}) for size in SIZES),
        _two(), dataset="imdb_wiki_dir", metric="mae",
        protocol="reduced_data", curve=Curve("training samples", "MAE", SIZES),
        note="The paper has a picture and no figures; the sizes are chosen here.",
    ),
)  # fmt: skip
