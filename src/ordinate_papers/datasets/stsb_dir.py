"""STS-B-DIR: pairs of sentences with a similarity from 0 to 5, in the imbalanced split of Yang et al. (2021)."""

import csv
from pathlib import Path

import pandas as pd

from ordinate.errors import OrdinateError

FILES = {"train": "train_new.tsv", "validation": "dev_new.tsv", "test": "test_new.tsv"}
COLUMNS = ["sentence1", "sentence2", "score"]


def read_stsb_dir(folder: str | Path) -> pd.DataFrame:
    """Return the columns sentence1, sentence2, score and split (5249, 1000 and 1000 rows in the authors' files).

    Raises:
        OrdinateError: a file that is missing, or one that lacks a column or a value.
    """
    parts = []
    for split, name in FILES.items():
        found = [path for path in (Path(folder) / name, Path(folder) / f"{name}.gz") if path.is_file()]
        if not found:
            source = "https://github.com/YyzHarry/imbalanced-regression (sts-b-dir/glue_data/STS-B)"
            raise OrdinateError(folder, f"no {name} or {name}.gz", f"{', '.join(FILES.values())} of {source}")
        try:  # Some sentences hold bare quotes, and one may be the word null.
            part = pd.read_csv(
                found[0], sep="\t", usecols=COLUMNS, index_col=False, quoting=csv.QUOTE_NONE, keep_default_na=False,
                dtype={"score": float},
            )  # fmt: skip
        except (ValueError, OSError, EOFError) as error:
            raise OrdinateError(found[0], problem=f"could not be read: {error}") from error
        parts.append(part[COLUMNS].assign(split=split))
    return pd.concat(parts, ignore_index=True)
