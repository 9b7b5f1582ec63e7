import numpy as np
import pandas as pd
import pytest

from ordinate.data.labels_file import Columns
from ordinate.errors import OrdinateError
from ordinate_papers.datasets.ukbiobank import read_ukbiobank
from tests.data import scans

AGES = [44.0, 51.5, 63.0, 80.0]
DRAWN = scans.draw(AGES, side=6)


@pytest.mark.parametrize("column", ["subject", "eid"])
def test_uk_biobanks_layout_is_read_with_or_without_the_names_of_its_zips(tmp_path, column):
    subjects = [1000011, 1000022, 1000033, 1000044]
    names = ["1000011_20252_2_0", "1000022", "1000033_20252_2_0", "1000044"]
    scans.write(tmp_path, DRAWN, [f"{name}/T1/T1_brain_to_MNI.nii.gz" for name in names])
    pd.DataFrame({column: subjects, "age": AGES, "sex": [0, 1, 0, 1]}).to_csv(tmp_path / "labels.csv", index=False)
    read = read_ukbiobank(tmp_path)
    assert [path.removeprefix(f"{tmp_path}/") for path in read.samples.paths] == [
        "1000011_20252_2_0/T1/T1_brain_to_MNI.nii.gz", "1000022/T1/T1_brain_to_MNI.nii.gz",
        "1000033_20252_2_0/T1/T1_brain_to_MNI.nii.gz", "1000044/T1/T1_brain_to_MNI.nii.gz",
    ]  # fmt: skip
    assert read.labels.tolist() == AGES
    assert read.groups.tolist() == [str(subject) for subject in subjects]
    assert read.splits is None
    np.testing.assert_array_equal(read.samples.read(1), DRAWN[1])
    assert read_ukbiobank(tmp_path, Columns("sex")).labels.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("name,age\n1,4\n", "expected a column of subjects, 'subject' or 'eid'"),
        ("subject,years\n1,4\n", "no column 'age'"),
        ("subject,age\n1,\n", "no row has a label in 'age'"),
        ("subject,age\n", "names no volume"),
        ("subject,age\n../../x,1\n", "the subject '../../x'"),
        ("subject,age\n..,1\n", "the subject '..'"),
    ],
)
def test_what_is_wrong_with_labels_csv_is_said(tmp_path, table, message):
    (tmp_path / "labels.csv").write_text(table)
    with pytest.raises(OrdinateError, match=message):
        read_ukbiobank(tmp_path)
