import gzip
import os
from pathlib import Path

import pytest

from ordinate import OrdinateError
from ordinate_papers.datasets.stsb_dir import read_stsb_dir

HEADER = "index\tgenre\tsentence1\tsentence2\tscore\n"
ROWS = {
    "train_new.tsv": '0\tnews\tHe said "no.\tnull\t0.143\n1\tnews\tA man\tA "man"\t5.000\n',
    "dev_new.tsv": "0\tnews\tA\tB\t2.5\n",
    "test_new.tsv": "0\tnews\tC\tD\t3\n",
}


def write(folder):
    for name, rows in ROWS.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress((HEADER + rows).encode()))


def test_bare_quotes_and_words_that_look_missing_are_text(tmp_path):
    write(tmp_path)
    assert read_stsb_dir(tmp_path).values.tolist() == [
        ['He said "no.', "null", 0.143, "train"],
        ["A man", 'A "man"', 5.0, "train"],
        ["A", "B", 2.5, "validation"],
        ["C", "D", 3.0, "test"],
    ]


def test_a_file_that_is_missing_is_an_error_that_says_where_to_get_it(tmp_path):
    write(tmp_path)
    (tmp_path / "dev_new.tsv.gz").unlink()
    with pytest.raises(OrdinateError, match=r"got no dev_new.tsv or dev_new.tsv.gz, expected .*imbalanced-regression"):
        read_stsb_dir(tmp_path)


@pytest.mark.skipif("ORDINATE_DATA" not in os.environ, reason="ORDINATE_DATA does not say where the real data is")
def test_the_authors_files_have_their_counts():
    pairs = read_stsb_dir(Path(os.environ["ORDINATE_DATA"]) / "stsb_dir")
    assert pairs["split"].value_counts().to_dict() == {"train": 5249, "validation": 1000, "test": 1000}
    assert (pairs["score"].min(), pairs["score"].max()) == (0, 5)
    assert pairs.notna().all(axis=None)
