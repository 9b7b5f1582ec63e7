"""Columns of free text among other columns, as a few numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ordinate.data.findings import Finding
from ordinate.data.rows import random_part
from ordinate.data.tables.columns import missing_values

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

HASHES = 2**13
ROWS_AT_ONCE = 2**14


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Free text as a few numbers: its words and pairs of words, weighted by their rarity, in a truncated SVD.

    This is latent semantic analysis on hashed words. A missing text becomes zeros, the mean of the training texts.

    Args:
        name: Name of the column.
        means: Means (k,) of the components over the training texts.
        weights: Inverse document frequencies of the hashed words, and the components (1 + k, hashes).
    """

    name: str
    means: tuple[float, ...]
    weights: NDArray[np.float32] = field(repr=False)

    @property
    def width(self) -> int:
        return len(self.means)

    @property
    def features(self) -> list[str]:
        """Names of the columns that it becomes."""
        return [f"{self.name}, component {number}" for number in range(self.width)]

    def fill(self, values: pd.Series, out: NDArray[np.float32]) -> set[str]:
        """Write the columns (n, width) of texts."""
        missing = values.isna().to_numpy()
        texts = values.astype(object).where(~missing, "").astype(str).tolist()
        for start in range(0, len(texts), ROWS_AT_ONCE):
            part = texts[start : start + ROWS_AT_ONCE]
            weighted = _weighted(_counts(part), self.weights[0])
            out[start : start + len(part)] = weighted @ self.weights[1:].T - np.array(self.means)
        out[missing] = 0
        return set()

    def findings(self, values: pd.Series, coded: NDArray[np.float32], unseen: set[str]) -> list[Finding]:
        """Return how many texts are missing."""
        return [missing_values(self.name, values)]


def is_free_text(texts: Sequence[str], least_words: int = 3) -> bool:
    """Return whether different values of a column are sentences, of ``least_words`` words on average, not names.

    Example:
        >>> is_free_text(["no pain at all", "some pain when walking"]), is_free_text(["mild", "very severe"])
        (True, False)
    """
    return len(texts) > 0 and sum(len(text.split()) for text in texts) >= least_words * len(texts)


def fit_text(
    name: str, values: pd.Series, max_components: int = 32, max_learned_from: int = 2**16, least_spread: float = 0.05
) -> TextColumn:
    """Learn the components of a column of texts (n,).

    Args:
        name: Name of the column.
        values: Texts (n,).
        max_components: Largest number of components.
        max_learned_from: Largest number of texts that decide the components.
        least_spread: Smallest standard deviation of a component, as a share of the largest.
    """
    from sklearn.decomposition import TruncatedSVD  # Most tables have no texts.

    texts = values.dropna().astype(str).iloc[random_part(int(values.notna().sum()), max_learned_from)]
    counts = _counts(texts.tolist())
    frequency = np.log((1 + counts.shape[0]) / (1 + counts.getnnz(axis=0))) + 1
    weighted = _weighted(counts, frequency)
    decomposition = TruncatedSVD(min(max_components, len(texts)), random_state=0)
    found = decomposition.fit_transform(weighted)
    spread = found.std(axis=0)
    kept = spread > least_spread * spread.max()  # Similar texts span few directions; the others are rounding errors.
    components = decomposition.components_[kept] / spread[kept, None]
    means = found.mean(axis=0)[kept] / spread[kept]
    return TextColumn(name, tuple(means.tolist()), np.vstack([frequency, components]).astype(np.float32))


def _counts(texts: list[str]) -> "csr_matrix":
    """Return how often words and pairs of words occur (n, hashes), as 1 plus the logarithm."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        n_features=HASHES,
        ngram_range=(1, 2),
        token_pattern=r"\b\w+\b",  # noqa: S106  # Words of one letter or digit count.
        alternate_sign=False,
        norm=None,
    )
    counts = hashing.transform(texts)
    counts.data = 1 + np.log(counts.data)
    return counts


def _weighted(counts: "csr_matrix", frequency: NDArray[np.floating]) -> "csr_matrix":
    """Return counts (n, hashes) weighted by the rarity of their words, in rows of norm 1."""
    from scipy.sparse import diags_array
    from sklearn.preprocessing import normalize

    return normalize(counts @ diags_array(frequency))
