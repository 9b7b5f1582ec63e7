"""The wheel and the sdist that `make dist` builds are complete, and the wheel works by itself."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
USE = """
import sys
import ordinate, torch
from ordinate.cli import main
from ordinate.losses import SupCRLoss

assert ordinate.__file__.startswith(sys.argv[1]), ordinate.__file__
assert SupCRLoss()(torch.randn(8, 4), torch.arange(8.0)) > 0
rows = "".join(f"{a},{(7 * a) % 11},{a // 14}\\n" for a in range(42))
open("grades.csv", "w").write("a,b,grade\\n" + rows)
assert main(["fit", "grades.csv", "--target", "grade", "--method", "cloc", "--epochs", "2", "--out", "model"]) == 0
assert main(["report", "model", "grades.csv", "--out", "report.html"]) == 0
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("build", reason="build is not installed")
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-P", "-m", "build", "--no-isolation", "--outdir", out, ROOT)
    return out


def test_a_package_index_would_accept_them(built):
    scripts = Path(sys.executable).parent
    assert len([*built.iterdir()]) == 2
    run(scripts / "twine", "check", "--strict", *built.iterdir())
    run(scripts / "check-wheel-contents", *built.glob("*.whl"), cwd=ROOT)


def test_the_wheel_has_every_file_of_both_packages_and_nothing_else(built):
    tracked = run("git", "ls-files", "src/ordinate", "src/ordinate_papers", cwd=ROOT).splitlines()
    with zipfile.ZipFile(*built.glob("*.whl")) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == {name.removeprefix("src/") for name in tracked}


def test_the_sdist_builds_the_same_wheel(built, tmp_path):
    with tarfile.open(*built.glob("*.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    run(sys.executable, "-P", "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "again", source)
    wheels = [zipfile.ZipFile(path) for path in (*built.glob("*.whl"), *(tmp_path / "again").iterdir())]
    first, second = ({item.filename: item.CRC for item in wheel.infolist()} for wheel in wheels)
    assert first == second


def test_the_wheel_alone_fits_and_reports(built, tmp_path):
    site = tmp_path / "site"
    with zipfile.ZipFile(*built.glob("*.whl")) as wheel:
        wheel.extractall(site)
    run(sys.executable, "-P", "-c", USE, site, cwd=tmp_path, env={"PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"})
