"""Similarity of sentences: STS-B-DIR by a BiLSTM over GloVe vectors (SupReMix's Table 2) and by a MiniLM.

    ORDINATE_DATA=DIR python benchmarks/text.py [--seeds 3] [--jobs 2]

The split is the authors' 5249/1000/1000; the validation part chooses the heads, and the epoch of regression. The
paper's word vectors have 300 dimensions, and its BiLSTM follows STS-B-DIR's authors, who have 1500 units each way; at
hand are 100 dimensions, and 128 units keep a run on one core within a few minutes. Temperature 1, window 1, 128
dimensions, batches of 128 and a linear probe are the paper's (Table 13). MiniLM is all-MiniLM-L6-v2.
"""

import os
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ordinate import Head, SupCRRegressor, SupReMixRegressor, Training
from ordinate.data.text.options import TextOptions
from ordinate.estimators.target_regressor import TargetRegressor
from ordinate.report.text import table
from ordinate_papers.datasets.stsb_dir import read_stsb_dir
from ordinate_papers.estimators import EndToEndRegressor, RepresentationRegressor
from ordinate_papers.protocols.shots import shot_report
from runs import Run, complete, parser_of, spread, where

Variant = Callable[..., TargetRegressor]
DATA = Path(os.environ.get("ORDINATE_DATA", "data"))
TEXTS, SCORE = ["sentence1", "sentence2"], "score"
REGIONS = ("many", "medium", "few")  # Regions differ in the number of training pairs per bin of 0.1.
METRICS = {"mse": "MSE", "pearson": "Pearson", "mae": "MAE"} | {
    f"mse, {region}": f"MSE, {region}" for region in REGIONS
}
PAPER = {
    "BiLSTM, vanilla": "0.974 / 0.744 / 0.794",
    "BiLSTM, SupCon": "0.954 / 0.745 / 0.786",
    "BiLSTM, SimCSE": "0.935 / 0.756 / 0.776",
    "BiLSTM, SupReMix": "0.893 / 0.760 / 0.759",
}

GLOVE = TextOptions(word_vectors=DATA / "glove100_subset" / "glove100_stsb_vocab_fp16.npz", hidden=128, max_length=40)
MINILM, LAST_BLOCKS = TextOptions(), TextOptions(max_length=40)
SUPREMIX: dict[str, Any] = {"temperature": 1.0, "window": 1.0}
BY_HEAD: dict[str, Any] = {"embedding_dim": 128, "batch_size": 128, "head": Head(loss="mse")}
END_TO_END: dict[str, Any] = {"embedding_dim": 128, "batch_size": 128, "loss": "mse"}
TUNED: dict[str, Any] = {"training": Training(train_encoder=2, encoder_learning_rate=5e-5), "batch_size": 64}
MIXTURES: dict[str, dict[str, Any]] = {  # SupReMix, Tables 10 and 11; elsewhere a window of 1 and Beta(2, 8).
    "window 0.2": {"window": 0.2},
    "window 2": {"window": 2.0},
    "no window": {"window": 5.0},  # Scores are 0 to 5.
    "Beta(5, 5)": {"beta": (5.0, 5.0)},
    "Beta(8, 2)": {"beta": (8.0, 2.0)},
}


def _contrastive(model: type[SupReMixRegressor] | type[SupCRRegressor], *arguments: Any, **settings: Any) -> Variant:
    method = SUPREMIX if model is SupReMixRegressor else {}
    return partial(model, *arguments, **{**BY_HEAD, **method, **settings})


def _vanilla(*arguments: Any, **settings: Any) -> Variant:
    return partial(EndToEndRegressor, *arguments, **{**END_TO_END, **settings})


VARIANTS: dict[str, Variant] = {
    "BiLSTM, vanilla": _vanilla("bilstm", data=GLOVE, epochs=10, training=Training(patience=5)),
    "BiLSTM, SupCon": partial(
        RepresentationRegressor,
        "bilstm",
        data=GLOVE,
        temperature=1.0,
        epochs=(10, 5),
        **{**BY_HEAD, "head": Head(loss="mse", bin_size=0.1)},
    ),
    "BiLSTM, SimCSE": partial(
        RepresentationRegressor,
        "bilstm",
        data=GLOVE,
        loss="simcse",
        positives_above=2.0,
        epochs=(10, 5),
        **{**BY_HEAD, "embedding_dim": None},
    ),
    "BiLSTM, SupReMix": _contrastive(SupReMixRegressor, "bilstm", data=GLOVE, epochs=(10, 5)),
    **{
        f"BiLSTM, SupReMix, {name}": _contrastive(SupReMixRegressor, "bilstm", data=GLOVE, epochs=(10, 5), **settings)
        for name, settings in MIXTURES.items()
    },
    "BiLSTM, SupReMix added to the regression": _contrastive(
        SupReMixRegressor,
        "bilstm",
        data=GLOVE,
        scheme="regularise",
        epochs=(10, 1),
        training=Training(patience=5),
    ),
    "MiniLM frozen, vanilla": _vanilla("minilm", data=MINILM, epochs=40, training=Training(patience=10)),
    "MiniLM frozen, vanilla for longer": _vanilla("minilm", data=MINILM, epochs=400, training=Training(patience=40)),
    "MiniLM frozen, SupReMix": _contrastive(SupReMixRegressor, "minilm", data=MINILM, epochs=(40, 20)),
    "MiniLM frozen, SupCR": _contrastive(SupCRRegressor, "minilm", data=MINILM, epochs=(40, 20)),
    **{
        f"MiniLM frozen, {name}, linear head": _contrastive(
            model, "minilm", data=MINILM, epochs=(40, 20), head=Head("linear", loss="mse")
        )
        for name, model in (("SupReMix", SupReMixRegressor), ("SupCR", SupCRRegressor))
    },
    "MiniLM's last two blocks, vanilla": _vanilla("minilm", data=LAST_BLOCKS, epochs=8, **TUNED),
    "MiniLM's last two blocks, SupReMix added to the regression": _contrastive(
        SupReMixRegressor, "minilm", data=LAST_BLOCKS, scheme="regularise", epochs=(8, 1), **TUNED
    ),
    "MiniLM's last two blocks, SupCR added to the regression": _contrastive(
        SupCRRegressor, "minilm", data=LAST_BLOCKS, scheme="regularise", epochs=(8, 1), **TUNED
    ),
}


def measure(variant: str, seed: int) -> Run:
    """Return the errors of one variant on the test part."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    pairs = read_stsb_dir(DATA / "stsb_dir")
    train, validation, measured = (pairs[pairs["split"] == split] for split in ("train", "validation", "test"))
    model = VARIANTS[variant](random_state=seed).fit(
        train[TEXTS], train[SCORE], validation=(validation[TEXTS], validation[SCORE])
    )
    regions: Any = shot_report(train[SCORE], measured[SCORE], model.predict(measured[TEXTS]), bin_size=0.1)
    run = {"head": model.head_name_, "mse": regions["all"]["rmse"] ** 2}
    run |= {key: regions["all"][key] for key in ("pearson", "mae")}
    return run | {f"mse, {region}": regions[region]["rmse"] ** 2 for region in REGIONS}


def show(runs: list[Run]) -> None:
    """Print mean and deviation of every variant, and the paper's figures."""
    rows = []
    for variant in VARIANTS:
        own = where(runs, variant=variant)
        if own:
            figures = [spread(own, key, ".3f") for key in METRICS]
            minutes = np.mean([run["seconds"] for run in own]) / 60
            rows.append([variant, *figures, PAPER.get(variant, ""), str(len(own)), f"{minutes:.1f}"])
    print("\n" + table(["STS-B-DIR", *METRICS.values(), "paper", "seeds", "minutes"], rows))


def main() -> None:
    """Measure what is not in the results yet, and show all."""
    parser = parser_of(__file__, __doc__, seeds=3)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=list(VARIANTS), metavar="VARIANT")
    options = parser.parse_args()
    wanted = [(variant, seed) for seed in range(options.seeds) for variant in options.variants]
    show(complete(measure, wanted, ("variant", "seed"), options))


if __name__ == "__main__":
    main()
