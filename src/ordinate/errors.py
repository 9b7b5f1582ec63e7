"""The one exception that Ordinate raises for input it cannot use."""


class OrdinateError(ValueError):
    """Input that cannot be used: the message names the argument, what it got and what it takes."""
