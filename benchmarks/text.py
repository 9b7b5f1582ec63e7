"""Similarity of sentences: STS-B-DIR by a BiLSTM over GloVe vectors (SupReMix's Table 2) and by a MiniLM.

    ORDINATE_DATA=DIR python benchmarks/text.py [--seeds 3] [--jobs 2]

The split is the authors' 5249/1000/1000; the validation part chooses the head and the epoch. The paper's word vectors
have 300 dimensions, and its BiLSTM follows STS-B-DIR's authors, who have 1500 units each way; at hand are 100
dimensions, and 128 units keep a run on one core within a few minutes. Temperature 1, window 1, 128 dimensions, batches
of 128 and a linear probe are the paper's (Table 13). MiniLM is all-MiniLM-L6-v2.
"""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ordinate import Head, SupCRRegressor, SupReMixRegressor, Training
from ordinate.data.text.options import TextOptions
from ordinate.estimators.target_regressor import TargetRegressor
from ordinate.metrics import shot_report
from ordinate.report.text import table
from ordinate_papers.datasets.stsb_dir import read_stsb_dir
from ordinate_papers.estimators import EndToEndRegressor, RepresentationRegressor
from runs import Run, complete, parser_of, spread, where

DATA = Path(os.environ.get("ORDINATE_DATA", "data"))
TEXTS, SCORE = ["sentence1", "sentence2"], "score"
REGIONS = ("many", "medium", "few")  # Regions differ in the number of training pairs per bin of 0.1.
METRICS = {"mse": "MSE", "pearson": "Pearson", "mae": "MAE"} | {
    f"mse, {region}": f"MSE, {region}" for region in REGIONS
}
PAPER = {
    "BiLSTM, vanilla": "0.974 / 0.744 / 0.794",
    "BiLSTM, SupCon": "0.954 / 0.745 / 0.786",
    "BiLSTM, SupReMix": "0.893 / 0.760 / 0.759",
}

GLOVE = TextOptions(word_vectors=DATA / "glove100_subset" / "glove100_stsb_vocab_fp16.npz", hidden=128, max_length=40)
SHARED: dict[str, Any] = {"embedding_dim": 128, "batch_size": 128, "head_loss": "mse", "validation_fraction": 0.0}
SUPREMIX: dict[str, Any] = {"temperature": 1.0, "window": 1.0}
LAST_BLOCKS: dict[str, Any] = {
    "text": TextOptions(max_length=40), "train_encoder": 2, "encoder_learning_rate": 5e-5, "batch_size": 64,
}  # fmt: skip

VARIANTS: dict[str, Callable[[int], TargetRegressor]] = {
    "BiLSTM, vanilla": lambda seed: EndToEndRegressor(
        "bilstm", data=GLOVE, epochs=10, random_state=seed, training=Training(patience=5), **SHARED
    ),
    "BiLSTM, SupCon": lambda seed: RepresentationRegressor(
        "bilstm", data=GLOVE, temperature=1.0, epochs=(10, 5), random_state=seed, head=Head(bin_size=0.1), **SHARED
    ),
    "BiLSTM, SupReMix": lambda seed: SupReMixRegressor(
        "bilstm", data=GLOVE, epochs=(10, 5), random_state=seed, **SHARED, **SUPREMIX
    ),
    "BiLSTM, SupReMix added to the regression": lambda seed: SupReMixRegressor(
        "bilstm",
        data=GLOVE,
        scheme="regularise",
        epochs=(10, 1),
        random_state=seed,
        training=Training(patience=5),
        **SHARED,
        **SUPREMIX,
    ),
    "MiniLM frozen, vanilla": lambda seed: EndToEndRegressor(
        "minilm", data=TextOptions(), epochs=40, random_state=seed, training=Training(patience=10), **SHARED
    ),
    "MiniLM frozen, vanilla for longer": lambda seed: EndToEndRegressor(
        "minilm", data=TextOptions(), epochs=400, random_state=seed, training=Training(patience=40), **SHARED
    ),
    "MiniLM frozen, SupReMix": lambda seed: SupReMixRegressor(
        "minilm", data=TextOptions(), epochs=(40, 20), random_state=seed, **SHARED, **SUPREMIX
    ),
    "MiniLM frozen, SupCR": lambda seed: SupCRRegressor(
        "minilm", data=TextOptions(), epochs=(40, 20), random_state=seed, **SHARED
    ),
    "MiniLM's last two blocks, vanilla": lambda seed: EndToEndRegressor(
        "minilm", epochs=8, random_state=seed, **SHARED | LAST_BLOCKS
    ),
    "MiniLM's last two blocks, SupReMix added to the regression": lambda seed: SupReMixRegressor(
        "minilm", scheme="regularise", epochs=(8, 1), random_state=seed, **SHARED | LAST_BLOCKS, **SUPREMIX
    ),
    "MiniLM's last two blocks, SupCR added to the regression": lambda seed: SupCRRegressor(
        "minilm", scheme="regularise", epochs=(8, 1), random_state=seed, **SHARED | LAST_BLOCKS
    ),
}


def measure(variant: str, seed: int) -> Run:
    """Return the errors of one variant on the test part."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    pairs = read_stsb_dir(DATA / "stsb_dir")
    train, validation, measured = (pairs[pairs["split"] == split] for split in ("train", "validation", "test"))
    model = VARIANTS[variant](seed).fit(train[TEXTS], train[SCORE], validation=(validation[TEXTS], validation[SCORE]))
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
