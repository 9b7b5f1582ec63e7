"""Shapes and dtypes in annotations, checked while tests run: jaxtyping's import hook with beartype.

A function that refuses an argument keeps its own error: a violation is raised only where the function itself finds
nothing wrong. Left out are what compilers read as source (Triton's and Numba's loops) and functions inside functions,
whose annotations would be compiled at every call, and calls with arguments of the shapes of an earlier one.
"""

import dataclasses
import functools
import random
from types import FunctionType

import jaxtyping
import torch
from beartype import BeartypeConf, BeartypeStrategy, beartype
from beartype._check.code import codemain  # its checks of sequences draw an item

PACKAGES = ("ordinate.functional", "ordinate.heads", "ordinate.kernels", "ordinate.losses", "ordinate.metrics")
COMPILED = ("ordinate.kernels.numba", "ordinate.kernels.triton")
CONF = BeartypeConf(is_pep484_tower=True, strategy=BeartypeStrategy.O1)

codemain.getrandbits = random.Random(0).getrandbits  # no number of the generator that users seed
typechecked = beartype(conf=CONF)
jaxtyped = jaxtyping.jaxtyped


def checked(function=None, *, typechecker):
    """Stand in for ``jaxtyping.jaxtyped`` in modules that the hook imports."""
    if function is None:
        return functools.partial(checked, typechecker=typechecker)
    if dataclasses.is_dataclass(function):
        function.__init__ = checked(function.__init__, typechecker=typechecker)
    if isinstance(function, type):
        return function
    if not isinstance(function, FunctionType):  # a property, or a class's or static method
        return jaxtyped(function, typechecker=typechecker)
    shaped = any("Tensor" in str(annotation) for annotation in function.__annotations__.values())
    if not shaped or "<locals>" in function.__qualname__ or function.__module__.startswith(COMPILED):
        return function
    strict = jaxtyped(function, typechecker=typechecker)
    checked_before = set()

    @functools.wraps(function)
    def call(*arguments, **options):
        if torch.compiler.is_compiling():
            return function(*arguments, **options)
        shapes = (*map(shape, arguments), *options, *map(shape, options.values()))
        if shapes in checked_before:
            return function(*arguments, **options)
        try:
            result = strict(*arguments, **options)
        except jaxtyping.TypeCheckError:
            function(*arguments, **options)
            raise
        checked_before.add(shapes)
        return result

    return call


def shape(value):
    """What annotations and branches see of an argument: of an object that is made anew for every batch, its parts."""
    if isinstance(value, torch.Tensor):
        return value.shape, value.dtype
    if isinstance(value, int | float | str | None):
        return value
    if type(value).__module__.startswith(("ordinate.functional", "ordinate.kernels")):
        return type(value), *map(shape, vars(value).values())
    return str(value) if isinstance(value, slice) else id(value)


def check_shapes() -> None:
    """Install the hook; modules that are imported already stay as they are."""
    jaxtyping.jaxtyped = checked
    jaxtyping.install_import_hook(PACKAGES, "tests.shapes.typechecked")
