"""Scripts of benchmarks import each other as they do when one of them is started."""

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))
