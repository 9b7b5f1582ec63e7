"""The tables of CLOC, the margins of its Section 4.5, its Figs. 4, 5 and 9.

Pitawela et al., *CLOC: Contrastive Learning for Ordinal Classification with Multi-Margin N-pair Loss*.
"""

from collections.abc import Sequence

from ordinate.counts import counted
from ordinate_papers.tables.table import Column, Curve, Row, Table

ACCURACY_AND_MAE = tuple(
    Column(f"{title} {measure}", dataset=title.lower(), metric=measure.lower())
    for measure in ("accuracy", "MAE")
    for title in ("Adience", "HID", "KOA", "IDRiD", "BRACS")
)
WIDE = 1.5  # The paper gives no value for a fixed margin; learned ones end near 0.5.
ACCURACY, MAE = Column("accuracy", metric="accuracy"), Column("MAE", metric="mae")
EQ_2 = {"reduction": "sum"}  # The loss is the sum over the pairs of an anchor.
PICTURES = (
    "The paper has pictures. The order is the rank correlation of distances between embeddings and between ranks, over "
    "all pairs of test samples."
)


def _models(**figures: tuple[float, ...]) -> tuple[Row, ...]:
    """A row for each model, by its name in the paper."""
    return tuple(
        Row(name, paper, model=name.lower(), settings=EQ_2 if name == "CLOC" else {}) for name, paper in figures.items()
    )


def _critical(*boundaries: str) -> dict[str, dict[str, float]]:
    return {"critical_margins": dict.fromkeys(boundaries, WIDE)}


def _margins(dataset: str, title: str, *paper: float) -> Row:
    """The margins of a data set in Section 4.5, from the lowest boundary on."""
    return Row(title, (*paper, *[None] * (7 - len(paper))), dataset=dataset)


def _controlled(dataset: str, title: str, boundaries: tuple[str, ...], learned: tuple[float, ...],
                controlled: tuple[float, ...]) -> tuple[Row, Row]:  # fmt: skip
    """The two rows of a data set in Table 2, whose rates end before the seventh boundary where it has fewer ranks."""
    figures = [(*values[:-1], *[None] * (8 - len(values)), values[-1]) for values in (learned, controlled)]
    return (
        Row("Learned", figures[0], dataset=dataset, group=title),
        Row(f"Controlled, {', '.join(boundaries)}", figures[1], dataset=dataset, group=title,
            settings=_critical(*boundaries)),
    )  # fmt: skip


def _margins_over_epochs(epochs: Sequence[int] = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 60, 80, 100)) -> Table:
    """Fig. 4, whose epochs are not given as numbers."""
    kinds = {"with all precautions": 3, "without the early stop": 2, "without any": 0}
    rows = [
        Row(f"{low}|{low + 1}", group=name, metric=f"margin_history[{low}]", settings={"precautions": kept})
        for name, kept in kinds.items()
        for low in range(4)
    ]
    return Table(
        "cloc-fig4", "Margins in phase one, with and without the precautions against collapse", "CLOC, Fig. 4",
        tuple(Column(str(epoch), better="higher", item=epoch - 1) for epoch in epochs), rows,
        dataset="idrid", model="cloc", settings={"epochs": (epochs[-1], 1), **EQ_2},
        curve=Curve("epoch", "margin, in cosine", epochs),
        note="The paper has a picture and no figures. Phase one takes 100 epochs here, with the early stop as many "
        "as 95 % training accuracy needs; without any precaution margins are behind a ReLU and start from 0 to 0.5.",
    )  # fmt: skip


TABLES = (
    Table(
        "cloc-1", "CLOC compared with ordinal classifiers and contrastive methods", "CLOC, Table 1", ACCURACY_AND_MAE,
        _models(
            ORCNN=(0.5670, 0.3870, 0.4597, 0.5833, 0.4677, 0.5400, 0.9500, 0.8335, 0.5972, 0.8732),
            POE=(0.6050, 0.5468, 0.6410, 0.5730, 0.5160, 0.4700, 0.7600, 0.4440, 0.6770, 0.8280),
            GOL=(0.6250, 0.5620, 0.6439, 0.6311, 0.5754, 0.4300, 0.5500, 0.4330, 0.6890, 0.7060),
            MWR=(0.6260, 0.5780, 0.6380, 0.6408, 0.5649, 0.4500, 0.5800, 0.5800, 0.6752, 0.8121),
            RnC=(0.4679, 0.5664, 0.5886, 0.5825, 0.4632, 0.8600, 0.7288, 0.5396, 0.6152, 0.8491),
            SimCLR=(0.3053, 0.3988, 0.5286, 0.4563, 0.3544, 1.5303, 1.0880, 0.6964, 1.0679, 1.4859),
            SupCon=(0.5774, 0.4812, 0.5955, 0.5243, 0.5667, 0.5131, 0.8040, 0.4896, 0.7476, 0.7877),
            DINO=(0.4691, 0.5004, 0.5069, 0.5437, 0.5263, 0.8230, 0.8564, 0.7555, 0.7476, 1.0719),
            CLOC=(0.6302, 0.6208, 0.6673, 0.7379, 0.6035, 0.4100, 0.5534, 0.4167, 0.4078, 0.7054),
        ),
    ),
    Table(
        "cloc-2", "Margins learned, and fixed at critical boundaries", "CLOC, Table 2",
        (
            *(Column(f"C{h + 1} - C{h + 2}", metric=f"adjacent_error_rates[{h}]") for h in range(7)),
            ACCURACY,
        ),
        (
            *_controlled("idrid", "IDRiD", ("1|2",), (0.1282, 0.0270, 0.0980, 0.0937, 0.7379),
                         (0.1025, 0.0000, 0.1176, 0.1562, 0.6990)),
            *_controlled("koa", "KOA", ("1|2",), (0.2220, 0.1700, 0.0985, 0.0620, 0.6673),
                         (0.2480, 0.0900, 0.1160, 0.0620, 0.6431)),
            *_controlled("hid", "HID", ("2|3",), (0.0300, 0.1300, 0.1500, 0.2500, 0.6280),
                         (0.0200, 0.1700, 0.0800, 0.2700, 0.5640)),
            *_controlled("bracs", "BRACS", ("2|3", "4|5"), (0.1750, 0.0931, 0.0545, 0.0555, 0.1950, 0.0602, 0.6035),
                         (0.2560, 0.0740, 0.0420, 0.0490, 0.0850, 0.0180, 0.4281)),
            *_controlled("adience", "Adience", ("2|3",),
                         (0.8410, 0.0955, 0.1096, 0.1899, 0.2991, 0.1522, 0.2968, 0.6134),
                         (0.8600, 0.1210, 0.0640, 0.2382, 0.3247, 0.1294, 0.1718, 0.5591)),
        ),
        model="cloc", settings=EQ_2, note=f"Fixed margins are {WIDE}: the paper does not give their values.",
    ),
    Table(
        "cloc-3", "Training labels biased at a critical boundary", "CLOC, Table 3",
        (ACCURACY, MAE),
        (
            *_models(
                SimCLR=(0.4661, 1.0583), SupCon=(0.4660, 0.9029), DINO=(0.3883, 1.1262), ORCNN=(0.3786, 1.0970),
                POE=(0.5240, 0.7210), GOL=(0.6117, 0.6700), MWR=(0.4039, 0.9420), RnC=(0.5437, 0.8544),
            ),
            Row("CLOC (learned)", (0.6602, 0.5340), model="cloc", settings=EQ_2),
            Row("CLOC (fixed)", (0.7087, 0.4272), model="cloc", settings=EQ_2 | _critical("1|2")),
        ),
        dataset="idrid", protocol="label_bias", conditions={"boundary": (1, 2), "up": 0.6, "down": 0.3},
        note=f"The fixed margin is {WIDE}: the paper does not give its value.",
    ),
    Table(
        "cloc-4", "Margins fixed to one, one learned for all boundaries, one for each", "CLOC, Table 4",
        ACCURACY_AND_MAE,
        (
            Row("all 1, phase 2", (0.6306, 0.6492, 0.6612, 0.7184, 0.5912, 0.4000, 0.5432, 0.4257, 0.4272, 0.8228),
                settings={"margins": 1.0}),
            Row("shared, phase 1", (0.5803, 0.5916, 0.6413, 0.6893, 0.5544, 0.5500, 0.6436, 0.4644, 0.5437, 0.8649),
                settings={"shared_margins": True, "stages": 1}),
            Row("shared, phase 2", (0.5939, 0.5944, 0.6594, 0.7184, 0.5860, 0.5100, 0.6396, 0.4457, 0.4078, 0.7860),
                settings={"shared_margins": True}),
            Row("each its own, phase 1",
                (0.5852, 0.6028, 0.6600, 0.7282, 0.5930, 0.5500, 0.6292, 0.4426, 0.4078, 0.7333),
                settings={"stages": 1}),
            Row("each its own, phase 2 (CLOC)",
                (0.6302, 0.6208, 0.6673, 0.7379, 0.6035, 0.4100, 0.5534, 0.4167, 0.4078, 0.7054)),
        ),
        model="cloc", settings=EQ_2,
    ),
    Table(
        "cloc-5", "CLOC with bins of ever more years", "CLOC, Table 5", (MAE,),
        tuple(
            Row(f"{counted(classes, 'rank')}, bins of {size}", (figure,), data={"bin_size": size})
            for size, classes, figure in (
                (1, 79, 6.094), (2, 42, 3.134), (3, 28, 2.018), (4, 22, 1.471), (5, 18, 1.121))
        ),
        dataset="clap2015", model="cloc", settings=EQ_2,
    ),
    Table(
        "cloc-6", "Ages in bins of three years, 28 ranks", "CLOC, Table 6", (MAE,),
        _models(POE=(2.41,), GOL=(2.33,), MWR=(2.25,), CLOC=(2.02,)),
        dataset="clap2015", data={"bin_size": 3},
    ),
    Table(
        "cloc-7", "Training time of 100 epochs", "CLOC, Table 7", (Column("hours", scale=100 / 3600),),
        tuple(
            Row(name, (hours,), metric=f"seconds_{name.lower()}")
            for name, hours in {
                "SimCLR": 1.21, "SupCon": 0.89, "DINO": 1.01, "ORCNN": 3.28, "POE": 0.97, "GOL": 1.25, "MWR": 2.22,
                "RnC": 0.51,
            }.items()
        )
        + tuple(
            Row(name, (hours,), metric=metric)
            for name, hours, metric in (
                ("CLOC", 1.19, "all_stages_cloc"), ("CLOC, phase one", 0.65, "stages_cloc[0]"),
                ("CLOC, phase two", 0.54, "stages_cloc[1]"))
        ),
        dataset="idrid", model="cloc", protocol="epoch_time", settings=EQ_2,
        conditions={"beside": ("rnc", "supcon", "simclr", "dino", "orcnn", "poe", "gol", "mwr"), "rounds": 1},
        note="Hours are 100 times the median epoch of a few: 2 of phase one, 3 of phase two, 5 of the others.",
    ),
    Table(
        "cloc-8", "CLOC with other encoders", "CLOC, Table 8",
        (ACCURACY, MAE),
        (
            Row("DenseNet121", (0.6990, 0.4854), settings={"encoder": "densenet121"}),
            Row("ResNet50", (0.7379, 0.4078), settings={"encoder": "resnet50"}),
            Row("VGG16", (0.7476, 0.4351), settings={"encoder": "vgg16"}),
        ),
        dataset="idrid", model="cloc", settings=EQ_2,
    ),
    Table(
        "cloc-margins", "The margins that CLOC learns", "CLOC, Section 4.5",
        tuple(Column(f"C{h + 1} - C{h + 2}", metric=f"margins[{h}]") for h in range(7)),
        (
            _margins("idrid", "IDRiD", 0.35, 0.41, 0.23, 0.30),
            _margins("adience", "Adience", 0.11, 0.08, 0.20, 0.12, 0.13, 0.09, 0.12),
        ),
        model="cloc", settings=EQ_2,
    ),
    Table(
        "cloc-fig5", "Embeddings of four losses by UMAP", "CLOC, Fig. 5", (Column("order", metric="order"),),
        (Row("CE", model="cross_entropy"), *_models(SupCon=(), RnC=(), CLOC=())),
        dataset="idrid", protocol="embedding_map", picture="maps", note=PICTURES,
    ),
    Table(
        "cloc-fig9", "Embeddings of GOL and POE by UMAP", "CLOC, Fig. 9", (Column("order", metric="order"),),
        _models(GOL=(), POE=()), dataset="idrid", protocol="embedding_map", picture="maps", note=PICTURES,
    ),
    _margins_over_epochs(),
)  # fmt: skip
