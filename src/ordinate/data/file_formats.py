"""Files that hold data: their endings, and the packages that read them. Imports nothing heavy."""

from pathlib import Path

from ordinate.data.csv_format import CSV
from ordinate.errors import OrdinateError
from ordinate.optional import optional

PARQUET, ARROW, JSON = (".parquet",), (".feather", ".arrow"), (".json", ".jsonl", ".ndjson")
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
SPSS, PORTABLE, STATA, SAS, TRANSPORT = (".sav", ".zsav"), (".por",), (".dta",), (".sas7bdat",), (".xpt",)
STATISTICS = (*SPSS, *PORTABLE, *STATA, *SAS, *TRANSPORT)
ARFF, R = (".arff",), (".rds", ".rda", ".rdata")
NPZ, TS = (".npz",), (".ts",)
DICOM = (".dcm", ".dicom")
IMAGE_SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp", *DICOM)
LABELS = "labels.csv"
PATH_COLUMNS = ("path", "file", "filename", "image")
TABLES = (*CSV, *PARQUET, *ARROW, *JSON, *EXCEL, *STATISTICS, *ARFF, *R)


def ends_in(path: str | Path, endings: tuple[str, ...]) -> bool:
    """Return whether a path has one of these endings, in upper or lower case.

    Example:
        >>> ends_in("Knees.CSV", CSV), ends_in("knees", CSV)
        (True, False)
    """
    return str(path).lower().endswith(endings)


def require_ending(path: Path) -> None:
    """Raise an error if a file has an ending that nothing reads."""
    if not ends_in(path, (*TABLES, *NPZ, *TS, ".zip", *IMAGE_SUFFIXES)):
        expected = f"a table ({', '.join(TABLES)}), .npz, .ts or .zip"
        raise OrdinateError(path, problem="its ending names no known format", expected=expected)


def require_packages(path: str) -> None:
    """Raise an error if the package is not installed that reads files of this ending."""
    if ends_in(path, (*PARQUET, *ARROW)):
        optional("pyarrow", "parquet", path)
    elif ends_in(path, EXCEL):
        optional("python_calamine", "excel", path)
    elif ends_in(path, STATISTICS):
        optional("pyreadstat", "surveys", path)
    elif ends_in(path, R):
        optional("rdata", "surveys", path)
