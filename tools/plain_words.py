"""Find words of the project's old dialect in documents, docstrings, help texts, messages and comments.

    python tools/plain_words.py [FOLDER ...]

Checked are Markdown and reStructuredText outside code, templates of the report, TOML files of ``docs``, and docstrings,
string literals and comments of ``src``, of gallery scripts, ``benchmarks`` and ``tools``. Names in files of results
stay as they are. A comment must be a sentence that can be read without the code before it, so it must not begin with a
lowercase word; names of code are written in backticks. The exit code is 1 if anything is found.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
THINGS = (
    "anchor|batch|bin|boundary|class|column|command|core|dimension|epoch|file|fold|image|label|line|process|rank|row|"
    "run|sample|side|split|step|threshold"
)
RULES = {
    r"beside": "compared with, next to, in addition to",
    r"in place of": "instead of",
    r"but for": "except",
    r"likewise": "also, in the same way",
    r"alike": "similar, in the same way",
    r"(?:is|are|was|were|those) of before": "predates, earlier",
    r"trainings": "runs",
    r"hyper-parameters?": "hyperparameter",
    r"what (?:prints|speaks|tells|(?:came|comes|holds) of|follows from|lies behind|(?:is|was) measured)": "a noun",
    r"what (?:is|was|were|are) \w+(?:ed|n) (?:is|was|are|were|stands?)": "a noun",
    r"(?:has|had|have) (?:an )?\d+\.\d+": "reached",
    r"(?:speaks?|spoke) (?:for|of|against)": "chosen on, depends on",
    r"(?:has|had|have) no say": "was not used",
    r"told": "given, specified, printed",
    r"(?:papers?|PyTorch|they|it) ha(?:s|ve) it": "as in",
    r"stands? beside": "is given next to",
    rf"(?:one|two|three|an?|\d+) (?!of|in|with|for|is|which)[a-z]+ an? (?:{THINGS})": "per",
    r"mend(?:s|ed)?": "fix",
    r"judge[sd]?": "evaluate, measure",
    r"watched": "monitored",
    r"strangers?'?s?": "untrusted",
    r"by heart": "memorise, overfit",
    r"(?:goes|go) by": "uses, depends on",
    r"(?:is|are) owed to": "is due to",
    r"where to go on": "next steps",
    r"(?:take|takes|took) the place of": "replace",
    r"\d %": "no space before %",
}
ENTRY = re.compile(r"^ +\w+: (?P<hit>(?:of|by|with|from|at|beside|on)\b)", re.MULTILINE | re.IGNORECASE)
RULE = re.compile("|".join(rf"(?<![\w-]){rule}(?!\w)" for rule in RULES).replace(" ", r"\s+"), re.IGNORECASE)
CODE = re.compile(r"^ *(```+).*?^ *\1|``[^`]*``|`[^`\n]*`|\]\([^)]*\)|\{%.*?%\}", re.MULTILINE | re.DOTALL)
FRAGMENT = re.compile(r"[a-z]+(?:-[a-z]+)*(?=[ \n,;:.]|$)")
MARKER = re.compile(r"#[:!]?\s*(?:(?:noqa\b|type:|fmt:|pragma:)[^#]*#?\s*)?")
PATTERNS = (
    "*.md", "docs/**/*.md", "docs/**/*.rst", "docs/**/*.toml", "docs/*/make.py", "docs/**/plot_*.py", "src/**/*.html",
    "src/**/*.py", "benchmarks/**/*.py", "benchmarks/results/*.md", "tools/**/*.py",
)  # fmt: skip


def main(folders: list[str]) -> int:
    """Print what is found below the folders, by default in all of the project; return the exit code."""
    count = 0
    for path in sorted(files(folders)):
        name = path.relative_to(ROOT)
        for line, words in hits(path):
            print(f"{name.as_posix()}:{line}: {words!r}; write: {advice(words)}")
            count += 1
    print(f"{count} found")
    return int(count > 0)


def files(folders: list[str]) -> Iterator[Path]:
    """Yield the files that hold prose."""
    chosen = [ROOT / folder for folder in folders] or [ROOT]
    for pattern in PATTERNS:
        for path in ROOT.glob(pattern):
            generated = {"generated", "_build"} & set(path.parts)
            lists_the_words = path == Path(__file__).resolve()
            if not generated and not lists_the_words and any(path.is_relative_to(folder) for folder in chosen):
                yield path


def hits(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of every hit in a file."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        yield from _hits_in(text, 1)
        return
    for line, literal in literals(text):
        yield from _hits_in(literal, line)
    for line, comment in comments(text):
        if fragment := FRAGMENT.match(comment):
            yield line, fragment[0]
        yield from _hits_in(comment, line)


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Yield string literals with at least one space, and their first lines."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            continue
        if " " in node.value:
            yield node.lineno, node.value


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield comments without their markers, and their first lines; a block of comment lines is one comment."""
    lines = source.split("\n")
    block: list[str] = []
    start = 0
    end = 0  # The last line of the block; 0 after code, which no comment continues.
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, column = token.start
        stands_alone = not lines[line - 1][:column].strip()
        if not stands_alone or line != end + 1:
            if block:
                yield start, "\n".join(block)
            block = []
            start = line
        block.append(MARKER.sub("", token.string, count=1))
        end = line if stands_alone else 0
    if block:
        yield start, "\n".join(block)


def _hits_in(passage: str, start: int) -> Iterator[tuple[int, str]]:
    prose = CODE.sub(lambda code: re.sub(r"[^\n]", "_", code[0]), passage)
    for match in (*RULE.finditer(prose), *ENTRY.finditer(prose)):
        begin = match.start("hit") if match.re is ENTRY else match.start()
        yield start + prose.count("\n", 0, begin), " ".join(prose[begin : match.end()].split())


def advice(words: str) -> str:
    """Return what to write instead."""
    for rule, better in RULES.items():
        if re.fullmatch(rule, words, re.IGNORECASE):
            return better
    return "a sentence or a noun phrase that stands alone"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
