"""Fitted estimators on the Hugging Face hub: the folder that ``save`` writes, and a model card.

What is uploaded tells of the training data: category names, up to 200 sorted values of every column of numbers, and,
where the nearest training samples predict, their embeddings.
"""

import copy
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ordinate import __version__
from ordinate.checks import HUGGING_FACE
from ordinate.encoders.given import describe_encoder
from ordinate.estimators.embedding_estimator import EmbeddingEstimator
from ordinate.estimators.encoder_setting import GivenEncoder
from ordinate.estimators.hub_client import client, download, hub, named_failures
from ordinate.estimators.persistence import FILES, load, save_estimator
from ordinate.estimators.rank_classifier import RankClassifier

CARD = "README.md"

CARD_TEXT = """\
# {name}

{kind} by {method}, trained with Ordinate {version} on {data}.
It predicts {predicted} and gives embeddings of {dim} dimensions that follow the order of the labels.

```python
from ordinate.estimators.hub import load_from_hub

model = load_from_hub("{name}"{encoder})  # revision="..." pins a version
model.predict(X), model.transform(X)
```
{metrics}
The folder holds JSON and safetensors alone: loading it runs no code from it.
"""


def push_to_hub(
    estimator: EmbeddingEstimator,
    repo_id: str,
    *,
    license: str | None = None,  # noqa: A002  # its name on the hub
    metrics: Mapping[str, float] | None = None,
    private: bool | None = None,
    revision: str | None = None,
    token: str | None = None,
    commit_message: str | None = None,
) -> str:
    """Upload a fitted estimator as a model repository of the hub, with a card; return the commit's identifier.

    The repository is made if it is not there, and the identifier pins this version in :func:`load_from_hub`.

    Args:
        estimator: fitted.
        repo_id: ``"user/name"``.
        license: identifier such as ``"apache-2.0"``, for the card.
        metrics: the model's performance on held-out samples, from name to value, for the card.
        private: whether a new repository is; None leaves it to the hub.
        revision: branch to commit to, by default main.
        token: Token of the hub; by default the one that ``hf auth login`` stored.
        commit_message: None says what was uploaded.

    Raises:
        OrdinateError: an invalid name, no access, or a hub out of reach.

    Example:
        >>> commit = push_to_hub(model, "user/knees", license="mit", metrics={"accuracy": 0.59})  # doctest: +SKIP
    """
    check_is_fitted(estimator)
    with tempfile.TemporaryDirectory(prefix="ordinate-hub-") as folder:
        write_hub_folder(estimator, Path(folder) / "model", repo_id=repo_id, license=license, metrics=metrics)
        message = commit_message or f"{type(estimator).__name__} by ordinate {__version__}"
        api = client(token)
        with named_failures(f"{repo_id} cannot be uploaded to"):
            api.create_repo(repo_id, private=private, exist_ok=True)
            commit = api.upload_folder(
                repo_id=repo_id, folder_path=Path(folder) / "model", revision=revision, commit_message=message
            )
    return commit.oid


def load_from_hub(
    repo_id: str,
    *,
    revision: str | None = None,
    token: str | None = None,
    cache_dir: str | Path | None = None,
    local_files_only: bool = False,
    encoder: GivenEncoder | None = None,
) -> Any:
    """Return the estimator in a model repository of the hub, downloading it unless it is in the cache.

    Nothing but the three files of a saved model is fetched, and :func:`ordinate.load` reads them: checksums are
    verified and no code of the repository is run.

    Args:
        repo_id: ``"user/name"``; ``"hf://user/name"`` and ``"hf://user/name@revision"`` are understood too.
        revision: branch, tag or commit; a full commit identifier pins what is loaded. By default main.
        token: Token of the hub; by default the one that ``hf auth login`` stored.
        cache_dir: Folder of downloads, by default the hub's.
        local_files_only: load from the cache or fail, without a connection.
        encoder: Encoder, see :func:`ordinate.load`.

    Raises:
        OrdinateError: no such repository or revision, a hub out of reach, or what is there is no saved model.

    Example:
        >>> model = load_from_hub("user/knees", revision="v1")  # doctest: +SKIP
    """
    folder = download(repo_id, FILES, revision, token, cache_dir=cache_dir, local_files_only=local_files_only)
    return load(folder, encoder=encoder)


def write_hub_folder(
    estimator: EmbeddingEstimator,
    folder: str | Path,
    *,
    repo_id: str | None = None,
    license: str | None = None,  # noqa: A002  # its name on the hub
    metrics: Mapping[str, float] | None = None,
) -> None:
    """Write what :func:`push_to_hub` uploads: a saved model, without paths of this machine, and its card.

    Args:
        estimator: fitted.
        folder: new or empty; :func:`ordinate.load` reads it.
        repo_id: ``"user/name"``, for the card, by default the folder's name.
        license: Licence, see :func:`push_to_hub`.
        metrics: Metrics, see :func:`push_to_hub`.

    Example:
        >>> import numpy as np
        >>> from ordinate import OTDClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = OTDClassifier(epochs=2, random_state=0).fit(X, np.digitize(X[:, 0], [0.3, 0.7]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_hub_folder(model, folder, license="apache-2.0", metrics={"accuracy": 0.95})
        ...     sorted(path.name for path in Path(folder).iterdir())
        ['README.md', 'config.json', 'history.json', 'weights.safetensors']
    """
    check_is_fitted(estimator)
    public = copy.copy(estimator)
    public.training = replace(public.training, checkpoint_dir=None)
    if public.data is not None:
        public.data = public.data.without_paths()
    if isinstance(public.encoder, str) and Path(public.encoder.removeprefix(HUGGING_FACE)).is_absolute():
        public.encoder = f"{HUGGING_FACE}{Path(public.encoder).name}"
    card = _card(estimator, repo_id or Path(folder).resolve().name, license, dict(metrics or {}))
    save_estimator(public, Path(folder))
    (Path(folder) / CARD).write_text(card, encoding="utf-8")


def _card(estimator: EmbeddingEstimator, name: str, license: str | None, metrics: dict[str, float]) -> str:  # noqa: A002  # its name on the hub
    """Return the card: YAML that the hub reads, and text."""
    method = estimator.method_name
    classifies = isinstance(estimator, RankClassifier)
    reader = estimator.reader_
    kind = "ordinal-classification" if classifies else "regression"
    tags = ["ordinate", method.lower().replace(" ", "-"), kind, *reader.hub_tags]
    task = reader.hub_tasks[0 if classifies else 1]
    head = hub().ModelCardData(
        library_name="ordinate", license=license, tags=tags, pipeline_tag=task, metrics=list(metrics) or None
    )
    lines = "".join(f"| {metric} | {value:.4g} |\n" for metric, value in metrics.items())
    predicted = f"the ranks {' < '.join(map(str, estimator.ordered_classes_))}" if classifies else "a continuous target"
    text = CARD_TEXT.format(
        name=name,
        encoder="" if isinstance(estimator.encoder, str) else f", encoder={describe_encoder(estimator.encoder)}",
        kind="Ordinal classification" if classifies else "Regression",
        method=method,
        version=__version__,
        data=reader.summary(),
        predicted=predicted,
        dim=estimator.embedding_dim_,
        metrics=f"\n| on held-out samples | |\n|---|---|\n{lines}" if metrics else "",
    )
    return f"---\n{head.to_yaml()}\n---\n\n{text}"
