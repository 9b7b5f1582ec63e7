"""Words of a text, and vectors of words."""

import gzip
import re
from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ordinate.data.memory import check_npz
from ordinate.data.paths import reading
from ordinate.errors import OrdinateError

TOKEN = re.compile(
    r"""\w+?(?=n't\b)   # the verb before n't
      | n't\b
      | '(?:s|re|ve|ll|d|m)\b
      | \d+(?:[.,:]\d+)*
      | \w+
      | [^\w\s]""",
    re.VERBOSE,
)


def tokenize(text: str) -> list[str]:
    """Return the words of a text in lower case, as GloVe's vocabulary has them.

    Contractions are divided as in the Penn Treebank, numbers keep their points and commas, every other mark is a token.

    Example:
        >>> tokenize("The dogs don't run; it's 3.5 km!")
        ['the', 'dogs', 'do', "n't", 'run', ';', 'it', "'s", '3.5', 'km', '!']
    """
    return TOKEN.findall(text.lower().replace("\u2019", "'"))


def read_word_vectors(
    path: str | Path, needed: Collection[str] = (), most_frequent: int = 50_000
) -> tuple[list[str], NDArray[np.float32]]:
    """Read vectors of the first words of a file, which are the most frequent ones, and of those that are needed.

    Args:
        path: Path of a text file as GloVe's or word2vec's (plain or .gz): a line per word, the word and its d numbers,
            divided by spaces; or an npz with ``vectors`` (V, d) and ``words``, V strings or one string with one line
            per word.
        needed: Words that are read wherever they stand in the file.
        most_frequent: Number of first words that are read.

    Returns:
        The words, each once, and their vectors (v, d).

    Raises:
        OrdinateError: a file that cannot be read, with the line, or that has none of the words.
    """
    path, needed = Path(path), set(needed)
    vectors: dict[str, NDArray[np.float32]] = {}
    with reading("word_vectors", f"{path} could not be read"):
        rows = _npz_rows(path) if path.suffix == ".npz" else _text_rows(path)
        for place, (word, vector) in enumerate(rows):
            if (place < most_frequent or word in needed) and word not in vectors:
                vectors[word] = np.asarray(vector, dtype=np.float32)
    if not vectors:
        raise OrdinateError("word_vectors", problem=f"{path} holds no words", expected="one line per word")
    stacked = np.stack(list(vectors.values()))
    if not np.isfinite(stacked).all():
        raise OrdinateError("word_vectors", problem=f"{path} holds NaN or infinity", expected="finite numbers")
    return list(vectors), stacked


def _npz_rows(path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    check_npz(path)
    with np.load(path, allow_pickle=False) as arrays:
        words, vectors = arrays["words"], arrays["vectors"]
    if words.ndim == 0:
        words = str(words).split("\n")
    if vectors.ndim != 2:
        raise ValueError(f"vectors have shape {vectors.shape}, expected (words, d)")
    yield from zip(map(str, words), vectors, strict=True)


def _text_rows(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Words and vectors, the word being all before the last d numbers: GloVe has words with spaces."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        first = next(lines, "").split()
        if not first:
            return
        header = len(first) == 2
        if header:
            first = next(lines, "").split()
        dim = len(first) - 1
        for number, line in enumerate(chain([" ".join(first)], lines), start=1 + header):
            word, *numbers = line.rstrip().rsplit(" ", dim)
            if len(numbers) != dim or dim < 1:
                raise ValueError(f"line {number} does not hold a word and {dim} numbers")
            yield word, numbers
