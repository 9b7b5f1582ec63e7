"""The client of the Hugging Face hub: downloads of files, and its errors as ours."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ordinate import __version__
from ordinate.errors import OrdinateError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

SCHEME = "hf://"


def download(
    repo_id: str, files: Sequence[str], revision: str | None = None, token: str | None = None, **options: Any
) -> Path:
    """Return the folder of a repository's files, downloaded unless they are in the cache.

    Args:
        repo_id: Name of the repository, see :func:`~ordinate.estimators.hub.load_from_hub`, like all that follows but
            ``files``.
        files: their names.
        revision: branch, tag or commit.
        token: Token of the hub.
        options: Options of the hub's ``snapshot_download``.
    """
    name, _, pinned = repo_id.removeprefix(SCHEME).partition("@")
    if pinned and revision is not None:
        raise OrdinateError("revision", f"{revision!r} beside the one in {repo_id!r}", "one of them")
    api = client(token)
    with named_failures(f"{repo_id} cannot be loaded"):
        return Path(
            api.snapshot_download(name, revision=revision or pinned or None, allow_patterns=list(files), **options)
        )


def hub() -> ModuleType:
    """Return the package of the hub's client."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise OrdinateError("hub", "no huggingface_hub", 'it: pip install "ordinate[hub]"') from error
    return huggingface_hub


def client(token: str | None) -> "HfApi":
    """Return the hub's client."""
    return hub().HfApi(token=token, library_name="ordinate", library_version=__version__)


@contextmanager
def named_failures(failure: str) -> Iterator[None]:
    """Turn the errors of the hub's client about a name, access or a connection into an :class:`OrdinateError`."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    try:
        yield
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise OrdinateError(
            "repo_id", problem=f"{failure}: {type(error).__name__}: {lines[0] if lines else ''}"
        ) from error
