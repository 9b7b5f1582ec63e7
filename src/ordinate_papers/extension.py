"""What the papers add to the core: baselines, data sets, recipes and commands."""

from importlib.resources import files
from typing import get_args

from ordinate.extensions import Extension, NamedModel, Task, of_ranks, of_targets
from ordinate.options import LinearLoss

ESTIMATORS = "ordinate_papers.estimators"
METRIC_LEARNING = "pytorch_metric_learning"


def _representation(loss: str, *packages: str, **settings: str) -> NamedModel:
    module = f"{ESTIMATORS}.representation"
    estimators: dict[Task, str] = {"ranks": f"{module}:RepresentationClassifier"}
    if loss in ("supcon", "simclr", "dino"):
        estimators["continuous"] = f"{module}:RepresentationRegressor"
    return NamedModel(estimators, {"loss": loss, **settings}, packages)


def _neighbours(metric: str, **settings: str) -> NamedModel:
    estimator = f"{ESTIMATORS}.codes:NeighbourClassifier"
    return NamedModel({"ranks": estimator}, {"metric": metric, **settings}, embeds=False)


# SupCR and SupReMix with a linear head that is trained with each loss of targets, as their papers compare them.
OF_TARGETS = {
    "supcr": "ordinate.estimators.supcr:SupCRRegressor",
    "supremix": "ordinate.estimators.supremix:SupReMixRegressor",
}
ON_BINS = {"dex": "DEXHead", "dldl_v2": "DLDLv2Head", "or": "ORHead", "corn": "CORNHead"}
WITH_HEADS = {
    f"{name}_{loss}": of_targets(estimator, head__kind="linear", head__loss=loss)
    for name, estimator in OF_TARGETS.items()
    for loss in (*get_args(LinearLoss), *ON_BINS)
}

EXTENSION = Extension(
    models={
        **WITH_HEADS,
        **{loss: of_targets("ordinate.estimators.plain:EndToEndRegressor", loss=loss) for loss in ON_BINS},
        "orcnn": of_ranks(f"{ESTIMATORS}.ordinal:OrdinalClassifier", loss="or"),
        "corn_ranks": of_ranks(f"{ESTIMATORS}.ordinal:OrdinalClassifier", loss="corn"),
        "coral": of_ranks(f"{ESTIMATORS}.ordinal:OrdinalClassifier", loss="coral"),
        "supcon": _representation("supcon", METRIC_LEARNING),
        "simclr": _representation("simclr", METRIC_LEARNING),
        "dino": _representation("dino"),
        "simcse": of_targets(f"{ESTIMATORS}.representation:RepresentationRegressor", METRIC_LEARNING, loss="simcse"),
        "rnc": _representation("supcr"),
        "siamese": _representation("siamese", METRIC_LEARNING, head="neighbours"),
        **{name: _representation(name, head="neighbours") for name in ("triplet", "quadruplet", "n_pair")},
        "poe": of_ranks(f"{ESTIMATORS}.poe:POEClassifier"),
        "gol": of_ranks(f"{ESTIMATORS}.gol:GOLClassifier"),
        "mwr": of_ranks(f"{ESTIMATORS}.mwr:MWRClassifier"),
        **{
            name: of_ranks(f"{ESTIMATORS}.rank_losses:RankLossClassifier", loss=name)
            for name in ("sord", "squared_emd", "weighted_kappa", "binomial", "poisson")
        },
        "balanced_mse": of_targets(f"{ESTIMATORS}.rare_targets:BalancedMSERegressor"),
        "conr": of_targets(f"{ESTIMATORS}.rare_targets:ConRRegressor"),
        **{
            f"{name}_{code}": _neighbours(metric, code=code)
            for name, metric in (("knn", "euclidean"), ("lmnn", "lmnn"))
            for code in ("raw", "one_hot", "thermometer")
        },
        "knn_gower": _neighbours("gower"),
        "knn_intervals": _neighbours("intervals"),
        **{
            f"lmnn_{name}": _neighbours("lmnn_intervals", distribution=name)
            for name in ("uniform", "beta", "beta_rectangular")
        },
    },
    encoders={
        **{name: f"ordinate_papers.networks:{name}" for name in ("airfoil", "airfoil_standardised", "small_resnet1d")},
        "otd_convnet": "ordinate_papers.otd_convnet:otd_convnet",
    },
    recipes=files("ordinate_papers").joinpath("recipes"),
    data_sets="ordinate_papers.datasets.named",
    names_of_sets="ordinate_papers.datasets.catalogue:DATA_SETS",
    augmentations={
        name: f"ordinate_papers.augmentations:{name}"
        for name in ("supcr", "gaze", "adience", "hid", "idrid", "koa", "bracs")
    },
    heads={loss: f"ordinate_papers.heads.binned:{name}" for loss, name in ON_BINS.items()},
    text_readers=dict.fromkeys(("bilstm", "own"), "ordinate_papers.words.reader:WordReader"),
    option_groups={"imbalance": "ordinate_papers.methods.imbalance:Imbalance"},
    predictors={
        **{name: f"ordinate_papers.heads.binned:{name}" for name in ON_BINS.values()},
        "BalancedMSEHead": "ordinate_papers.losses.balanced_mse:BalancedMSEHead",
        "MeanRankVote": f"{ESTIMATORS}.gol:MeanRankVote",
        "MovingWindow": "ordinate_papers.methods.mwr:MovingWindow",
        "RepresentationHead": f"{ESTIMATORS}.representation:RepresentationHead",
        "ThresholdProbabilities": "ordinate_papers.heads.thresholds:ThresholdProbabilities",
        "UnimodalProbabilities": "ordinate_papers.losses.unimodal:UnimodalProbabilities",
    },
    commands="ordinate_papers.commands.catalogue:COMMANDS",
)
