"""How good a model is, in one sentence, compared with what is simpler."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from ordinate.encoders.blend_head import BlendHead
from ordinate.report.page.contents import Contents
from ordinate.report.page.measures import NETWORKS, OWN_PART, PARTS, Predictor, Score, gain
from ordinate.report.page.words import Caution, percent, rounded

WITH_ARTICLE = {"linear model": "a linear model", "random forest": "a random forest"}


@dataclass(frozen=True)
class Verdict:
    """How good a model is.

    Args:
        result: Its errors, such as "46% right, off by 0.66 grades on average".
        comparison: How they compare with those of the best simple predictor.
        kind: Whether the model is better than that one, by more than chance.
    """

    result: str
    comparison: str
    kind: Literal["better", "unclear", "worse"]

    def __str__(self) -> str:
        return f"{self.result}; {self.comparison}"


@dataclass(frozen=True)
class Compared:
    """A model and what it is compared with.

    Args:
        predictors: The model first; those of several targets have the name of the target before their own.
        verdicts: One for each target, by its name.
        cautions: What to be careful about.
    """

    predictors: list[Predictor]
    verdicts: dict[str, Verdict]
    cautions: Sequence[Caution] = ()

    @classmethod
    def of(cls, by_target: Sequence[Contents], scored: Sequence[list[Predictor]], targets: Sequence[str]) -> Self:
        """Return the comparison, given contents, predictors and names of all targets."""
        pairs = zip(by_target, scored, strict=True)
        verdicts = {target: find_verdict(*pair) for target, pair in zip(targets, pairs, strict=True)}
        if len(targets) == 1:
            return cls(scored[0], verdicts)
        named = [
            replace(each, name=f"{target}, {each.name}")
            for target, of_target in zip(targets, scored, strict=True)
            for each in of_target
        ]
        return cls(named, verdicts)


def find_verdict(contents: Contents, predictors: Sequence[Predictor]) -> Verdict:
    """Return how good predictions are, and whether they are better than those of the best simple predictor.

    A blend that is one of its simple parts says so.
    """
    verdict = _find(contents, predictors)
    head = contents.model.predictor
    if isinstance(head, BlendHead) and len(head.shares) == 1 and "members" not in head.shares:
        part = PARTS[next(iter(head.shares))]
        return replace(verdict, comparison=f"{verdict.comparison}; the blend is {part}")
    return verdict


def _find(contents: Contents, predictors: Sequence[Predictor]) -> Verdict:
    model, *others = (each for each in predictors if each.name not in NETWORKS)
    error = _error_of(model)
    result = f"off by {error:.3g} on average"
    if contents.names is not None:
        result = f"{percent(model.scores['accuracy'].value)} right, off by {rounded(error, 2)} grades on average"
    if contents.are_mostly_seen:
        return Verdict(result, "most of these samples are those that it was trained on", "unclear")
    best, *further = sorted(others, key=_error_of)
    further.sort(key=lambda each: each.name.startswith(OWN_PART))  # Others say more of its use.
    leads = {each.name: gain(contents, each.predicted) for each in others}
    lead = leads[best.name]
    if lead.low > 0:
        return Verdict(result, _better(best, lead), "better")
    constant = next((each for each in others if len(np.unique(each.predicted)) == 1), None)
    kind: Literal["unclear", "worse"] = "worse" if lead.high < 0 else "unclear"
    if constant is not None and leads[constant.name].low <= 0:  # Whatever else it is better than.
        said = f"{_not_better(leads[constant.name])} {_named(constant)}"
        if kind == "worse" and best is not constant:
            said += f", and worse than {_named(best)}"
        return Verdict(result, said, kind)
    own = [each for each in further if not each.name.startswith(OWN_PART)]
    equal = [_named(each) for each in (best, *own) if leads[each.name].low <= 0][:3]
    said = f"{_not_better(lead)} {', '.join(equal[:-1]) + ' or ' if equal[1:] else ''}{equal[-1]}"
    if kind == "worse":
        said = f"worse than {_named(best)}"
        if _error_of(best) > 0:
            said += f" by {_times(-lead.value / _error_of(best))}"
    beaten = next((each for each in further if leads[each.name].low > 0), None)
    if beaten is not None:
        said += f", {_better(beaten, leads[beaten.name])}"
    return Verdict(result, said, kind)


def _times(share: float) -> str:
    """Return by how much an error is larger, as a percentage or, from twice the error on, as a factor."""
    return percent(share) if share < 1 else f"a factor of {1 + share:.1f}"


def _not_better(lead: Score) -> str:
    return "not better than" if lead.value < 0 else "not clearly better than"


def _better(other: Predictor, lead: Score) -> str:
    name = _named(other)
    aside = "," if "," in name else ""  # As in "always 0, the commonest,".
    return f"better than {name}{aside} by {percent(lead.value / _error_of(other))}"


def _named(predictor: Predictor) -> str:
    return WITH_ARTICLE.get(predictor.name, predictor.name)


def _error_of(predictor: Predictor) -> float:
    """Return the mean error of a predictor, in ranks or in units of the target."""
    return predictor.scores["mae"].value
