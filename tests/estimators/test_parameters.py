"""Every estimator declares, documents and stores its parameters, most of which its bases declare."""

import inspect
import pydoc
import re
from dataclasses import field

import pytest

from ordinate import CLOCClassifier
from ordinate.errors import OrdinateError
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.estimator_dataclass import estimator_dataclass
from ordinate.estimators.registry import models
from ordinate.extensions import load_object

ESTIMATORS = {
    kind.__name__: kind
    for place in sorted({place for model in models().values() for place in model.estimators.values()})
    if issubclass(kind := load_object(place), EmbeddingEstimator)
}
every_estimator = pytest.mark.parametrize("kind", ESTIMATORS.values(), ids=ESTIMATORS)


def documented(kind, heading="Args"):
    section = inspect.getdoc(kind).partition(f"{heading}:\n")[2].partition("\n\n")[0]
    return re.findall(r"^    (\w+): ", section, flags=re.MULTILINE)


@every_estimator
def test_every_parameter_is_documented_once_and_no_other(kind):
    assert sorted(documented(kind)) == sorted(inspect.signature(kind).parameters)


@every_estimator
def test_help_shows_what_the_bases_say(kind):
    shown = pydoc.render_doc(kind, renderer=pydoc.plaintext)
    assert "training: Options of training: " in shown
    assert "history_: Values that each epoch logged" in shown
    assert shown.index("Args:") < shown.index("Attributes:") < shown.index("Example:")


@every_estimator
def test_the_encoder_alone_may_be_given_by_position(kind):
    kinds = {name: parameter.kind for name, parameter in inspect.signature(kind).parameters.items()}
    assert next(iter(kinds)) == "encoder"
    assert kinds.pop("encoder") == inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds.values()) == {inspect.Parameter.KEYWORD_ONLY}


@every_estimator
def test_defaults_are_stored_untouched_and_cannot_be_changed_in_place(kind):
    estimator = kind()
    for name, parameter in inspect.signature(kind).parameters.items():
        assert getattr(estimator, name) is parameter.default
        hash(parameter.default)  # A list, a dict or a group that is not frozen has none.


@estimator_dataclass
class Shared:
    """Do what all do.

    Args:
        size: of it,
            over two lines.
        colour: of it.
    """

    size: int = 1
    colour: str = "red"


@estimator_dataclass
class Special(Shared):
    """Do more.

    Args:
        weight: of it.
        size: of this one.

    Example:
        >>> Special().size
        2
    """

    weight: float = 3.0
    size: int = 2
    colour: str = field(default="blue", init=False)
    fitted_: int = field(init=False)


def test_a_misspelt_option_of_a_group_is_an_error_that_names_the_nearest():
    with pytest.raises(OrdinateError, match=r"training__learnin_rate: .* did you mean 'learning_rate'\?"):
        CLOCClassifier().set_params(training__learnin_rate=0.1)
