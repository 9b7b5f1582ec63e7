#!/usr/bin/env bash
# pyreadstat loses whole days of SPSS durations.
#
# SPSS stores a variable of format TIME or DTIME as a number of seconds, and both formats are intervals: a TIME of
# 30:00:00 and a DTIME of 1 03:46:40 are valid, and SPSS shows them so. pyreadstat reads both formats as
# `datetime.time`, which holds less than 24 hours, and drops the whole days without a warning:
#
#   30 hours (TIME8, 108000 s)        -> 06:00:00
#   100000 seconds (DTIME11)          -> 03:46:40
#
# `disable_datetime_conversion=True` gives the seconds as they are stored, so the file holds them.
# Seen with Python 3.11, pyreadstat 1.3.7, pandas 3.0.1. Exits with an error if the behaviour changes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet pyreadstat==1.3.7 pandas==3.0.1
cd "$work"
venv/bin/python - <<'PYTHON'
import datetime

import pandas as pd
import pyreadstat

seconds = [5.0, 30 * 3600.0, 100_000.0]
for form in ("TIME8", "DTIME11"):
    pyreadstat.write_sav(pd.DataFrame({"lasted": seconds}), "a.sav", variable_format={"lasted": form})
    stored = pyreadstat.read_sav("a.sav", disable_datetime_conversion=True)[0]["lasted"].tolist()
    assert stored == seconds, stored
    read = pyreadstat.read_sav("a.sav")[0]["lasted"].tolist()
    print(form, read)
    assert read == [datetime.time(0, 0, 5), datetime.time(6, 0), datetime.time(3, 46, 40)], read
print("durations of a day or more lose their days")
PYTHON
