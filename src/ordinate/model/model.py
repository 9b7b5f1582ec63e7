"""The fitted model: how samples are read, embedded and predicted, and what is known about the fit."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from torch import Tensor, nn

from ordinate.counts import counted
from ordinate.data.findings import collected, report_findings
from ordinate.data.labels_file import path_column
from ordinate.data.modality import Reader
from ordinate.data.options import DataOptions
from ordinate.data.other_containers import unpack
from ordinate.data.paths import lacks_columns
from ordinate.data.registry import check_kind, modality_of
from ordinate.data.rows import Labels
from ordinate.data.tables.parquet_table import ParquetTable
from ordinate.decisions import check_decision, predict_ranks
from ordinate.errors import OrdinateError
from ordinate.model.embedding import embed
from ordinate.model.labels import RankLabels, TargetLabels
from ordinate.model.novelty import Novelty
from ordinate.option_group import Settings
from ordinate.options import Similarity

Rule = str | NDArray[np.float64]


def accepting_all(tags: Tags) -> Tags:
    """Return the tags of scikit-learn for samples of any kind."""
    tags.input_tags.allow_nan = True
    tags.input_tags.sparse = True
    tags.input_tags.three_d_array = True
    return tags


@dataclass(frozen=True)
class Origin:
    """What a model was trained by.

    Args:
        estimator: Name of the estimator's class.
        params: Its parameters, as JSON can hold them.
        problem: Why it cannot be saved, such as a parameter that is code; None if it can.
    """

    estimator: str
    params: Settings
    problem: OrdinateError | None = None


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model.

    Args:
        name: Name of the method, as people call it.
        origin: What it was trained by.
        n_features_in: Columns of a table in training, channels, or texts per sample.
        feature_names_in: Names of the columns of the training samples; empty without any.
        data: Options of the kind of data; None for the defaults.
        reader: How samples are read.
        encoder: Trained network, from samples that were read to embeddings (n, d).
        predictor: Module from embeddings to the probabilities (n, C) of ranks, or to targets (n, p).
        labels: What the ranks or targets are in the user's terms.
        embedding_dim: Dimension d of the embeddings.
        similarity: Similarity of embeddings that the loss orders, by which samples are near each other.
        device: Device that encoders in float32 run on.
        rule: Decision that predicts a rank: ``"mode"``, ``"median"``, or costs (C, C); None for targets.
        facts: Other results of the fit by name, such as CLOC's ``margins_``.
        history: Values that each epoch logged.
        notes: What is worth knowing about the fit.

    Example:
        >>> from ordinate import CLOCClassifier
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = CLOCClassifier(epochs=(2, 2), random_state=0).fit(X, np.digitize(X[:, 0], [0.3, 0.7])).fitted
        >>> model.name, model.similarity, model.classes.tolist(), model.transform(X).shape
        ('CLOC', 'cosine', [0, 1, 2], (60, 64))
    """

    name: str
    origin: Origin
    n_features_in: int
    feature_names_in: tuple[str, ...]
    data: DataOptions | None
    reader: Reader
    encoder: nn.Module
    predictor: nn.Module
    labels: RankLabels | TargetLabels
    embedding_dim: int
    similarity: Similarity
    device: torch.device
    rule: Rule | None = None
    facts: Settings = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    # What it is.

    @property
    def is_of_ranks(self) -> bool:
        """Whether it predicts ranks, and not continuous targets."""
        return isinstance(self.labels, RankLabels)

    @property
    def classes(self) -> Labels | None:
        """The labels (C,) from the lowest rank to the highest; None for targets."""
        return self.labels.classes if isinstance(self.labels, RankLabels) else None

    @property
    def ranks(self) -> Labels:
        """The labels (C,) from the lowest rank to the highest, of a model of ranks."""
        if self.classes is None:
            raise OrdinateError("model", "a model of continuous targets", "a model of ranks")
        return self.classes

    # What scikit-learn compares new samples with.

    @property
    def n_features_in_(self) -> int:
        return self.n_features_in

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        if not self.feature_names_in:
            raise AttributeError("the training samples had no names of columns")
        return np.array(self.feature_names_in, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        return accepting_all(BaseEstimator().__sklearn_tags__())

    # Samples and embeddings.

    def read(self, X: object) -> Tensor:
        """Return samples as a batch of the encoder."""
        samples = self.unpacked(X)
        if isinstance(samples, pd.Series) and self.reader.kind == "table":
            raise OrdinateError("X", "a Series", "a table", "table.iloc[[0]] is a table of one row")
        samples = self.own_columns(samples)
        modality = modality_of(samples, self.data)
        check_kind(self.reader, modality)
        with collected() as findings:
            read = self.reader.read(modality.check(self, samples, reset=False))
        rows: Any = None
        if isinstance(samples, pd.DataFrame):
            rows = samples.index
        elif isinstance(samples, ParquetTable):
            rows = samples.in_files(np.arange(len(samples)))
        if rows is not None:
            findings = [finding.of_rows(rows) for finding in findings]
        report_findings(findings)
        return read

    def unpacked(self, X: object) -> Any:
        """Return samples that other libraries hold as arrays and tables; a list of dictionaries by its keys.

        Of a table that names images these are the samples.
        """
        samples, _ = unpack(X, ())
        names = list(self.feature_names_in)
        if isinstance(X, list) and isinstance(samples, pd.DataFrame) and names and set(names) <= set(samples.columns):
            return samples[names]
        if isinstance(samples, pd.DataFrame) and self.reader.kind == "images":
            column = path_column(samples)
            return samples if column is None else samples[column]
        return samples

    def own_columns(self, X: Any) -> Any:
        """Return the columns of a table that the model was trained on; other samples as they are.

        A model of ``ordinate.fit`` knows the column of its label. It accepts the table that it was fitted to, and
        ignores the label and the columns that training left out.
        """
        names = list(self.feature_names_in)
        if not names or self.target is None or not isinstance(X, pd.DataFrame):
            return X
        X = X.set_axis([str(name) for name in X.columns], axis=1)
        absent = [name for name in names if name not in X.columns]
        if absent:
            raise lacks_columns("X", absent, [name for name in X.columns if name not in names])
        return X[names]

    def embed(self, x: Tensor) -> Tensor:
        """Return embeddings (n, d) of samples that were read, in float64."""
        return embed(self.encoder, self.reader, self.device, x)

    def embed_new(self, X: object) -> Tensor:
        """Return embeddings (n, d) of new samples, and warn where many lie outside what training had seen."""
        with collected() as findings:
            embeddings = self.embed(self.read(X))
        if self.novelty is not None:
            findings += self.novelty.findings(self.predictor, embeddings)
        report_findings(findings)
        return embeddings

    def transform(self, X: object) -> NDArray[np.float64]:
        """Return the embeddings (n, d) of samples, float64."""
        return self.embed(self.read(X)).numpy()

    @property
    def novelty(self) -> Novelty | None:
        """How far embeddings of held-out samples lie from those of training, where it is known."""
        known = self.facts.get("novelty_")
        return None if known is None else Novelty(**known)

    # Predictions.

    def predicted(self, embeddings: Tensor) -> NDArray[np.float64]:
        """Return what embeddings (n, d) are predicted as: probabilities (n, C) of ranks, or targets in their units."""
        with torch.no_grad():
            outputs: NDArray[np.float64] = self.predictor(embeddings).double().numpy()
        if isinstance(self.labels, TargetLabels):
            return self.labels.decode(outputs)
        return outputs

    def predict_numbers(self, X: object) -> NDArray[np.float64]:
        """Return what new samples are predicted as: probabilities (n, C) by rank, or targets (n,) or (n, p)."""
        return self.predicted(self.embed_new(X))

    def predict(self, X: object) -> Labels:
        """Return the predicted labels (n,) of samples, or targets (n,) or (n, p)."""
        return self.as_labels(self.predict_numbers(X))

    def as_labels(self, predicted: NDArray[np.float64]) -> Labels:
        """Return the labels that :meth:`predict` returns for probabilities or targets."""
        if not self.is_of_ranks:
            return predicted
        decided: Labels = self.ranks[self.decide(predicted)]
        return decided

    def decide(self, probabilities: ArrayLike) -> NDArray[np.int64]:
        """Return the ranks (n,) that the model predicts from probabilities (n, C)."""
        if self.rule is None:
            raise OrdinateError("model", "a model of continuous targets", "a model of ranks")
        return predict_ranks(probabilities, self.rule)

    @property
    def target(self) -> str | list[str] | None:
        """The column of the label in tables of training, or several of targets; None where it is not known."""
        known = self.facts.get("target_")
        return known if known is None or isinstance(known, str) else list(known)

    # Changes.

    def of_column(self, target: str | list[str] | None) -> Self:
        """Return the model with the column or columns of the label; tables to predict may have them, too."""
        if target is None:
            return self
        return replace(self, facts={**self.facts, "target_": target})

    def deciding_by(self, decision: ArrayLike) -> Self:
        """Return the model of ranks with another decision, see :func:`~ordinate.decisions.predict_ranks`."""
        return replace(self, rule=check_decision(decision, len(self.ranks)))

    def with_novelty(self, held_out: Tensor) -> Self:
        """Return the model with how far embeddings (n, d) of held-out samples lie from those of training.

        The model as it is, if its predictor knows no samples of training.
        """
        novelty = Novelty.measure(self.predictor, held_out)
        if novelty is None:
            return self
        return replace(self, facts={**self.facts, "novelty_": novelty.state()})

    def check_outputs(self) -> None:
        """Raise an error if the predictor does not predict as many values as there are ranks or targets."""
        with torch.no_grad():
            outputs = self.predictor(torch.zeros(1, self.embedding_dim, dtype=torch.float64)).shape[1]
        if outputs != self.labels.outputs:
            expected = counted(self.labels.outputs, "rank or target", "ranks or targets")
            raise ValueError(f"it predicts {outputs} for {expected}")
