"""How the parts of a blend train and how their weights are chosen, for ranks and for targets."""

import hashlib
import time
import warnings
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from ordinate.blend.shares import assign_folds, best_share, blend, choose_shares
from ordinate.blend.simple_models import (
    FEWEST_TREES,
    SHARE_OF_TREES,
    SimpleModels,
    arrays,
    fewer_folds,
    filled_in,
    grow,
    leaves_time,
    new_boosting,
    new_forest,
    unseen_by_fold,
)
from ordinate.checks import check_flag, check_whole
from ordinate.data.modality import Modality, Reader
from ordinate.data.rows import random_part
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.tables.features import TableFeatures
from ordinate.data.training_batches import ArrayBatches
from ordinate.encoders.blend_head import BlendHead
from ordinate.encoders.members import BlendEncoder, MemberEncoder, MemberLinear
from ordinate.encoders.pixels import FrozenImageEncoder, ImageComponents
from ordinate.encoders.trees import BoostedTrees, Trees
from ordinate.errors import OrdinateError
from ordinate.estimators.frozen_features import frozen_features
from ordinate.estimators.method import Batches, Facts, Fitted, Method, fewer_epochs
from ordinate.estimators.samples import CheckedSamples
from ordinate.heads.cumulative_link import CumulativeLink
from ordinate.methods.unseen_folds import FoldBatches
from ordinate.model.embedding import device_of
from ordinate.torchrun import joined_processes
from ordinate.training.optimization import Optimization
from ordinate.training.options import Training
from ordinate.training.time_budget import training_end, training_until


class Blend(Method):
    """How the parts of a blend train, and how their weights are chosen."""

    name = "Blend"
    checkpoint_seconds = 2.0  # Fewer would cost more than the work that a kill loses.
    loss_name: str
    # The parts in the order in which their weights are chosen, and the standard errors by which each must gain; trees
    # of ranks often do by chance.
    errors_to_gain: ClassVar[dict[str, float]]
    images: ImageComponents | None = None

    # What differs between ranks and targets.

    @abstractmethod
    def num_classes(self) -> int | None:
        """Return the number of ranks C, None for targets."""

    @abstractmethod
    def losses(self, predictions: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
        """Return the loss (n,) of each sample, of probabilities or of standardised targets."""

    @abstractmethod
    def absolute_errors(self, predictions: NDArray[np.float64], y: NDArray[Any], module: Any) -> NDArray[np.float64]:
        """Return the absolute error (n,) of predictions, in ranks or in the target's units."""

    @abstractmethod
    def fit_linear(
        self, x: Tensor, y: Tensor, weights: Tensor | None, start: nn.Sequential | None = None
    ) -> nn.Sequential:
        """Return a linear layer to one column, and what the head makes of that; ``start`` is that of most samples."""

    def bags(self, samples: int) -> bool:
        """Return whether each tree of a forest sees a bag of the samples, and is measured on the others."""
        return True

    @abstractmethod
    def out_of_bag(self, forest: Any) -> NDArray[np.float64]:
        """Return predictions of a fitted forest for samples that are not in the bags of its trees."""

    @abstractmethod
    def predict_boosting(self, model: Any, x: NDArray[Any]) -> NDArray[np.float64]:
        """Return what boosted trees of scikit-learn predict of samples."""

    # What they have in common.

    def check(self) -> None:
        settings = self.settings
        if not isinstance(settings.encoder, str):
            raise OrdinateError("encoder", repr(settings.encoder), "a name for a blend")
        check_whole(settings.embedding_dim, "embedding_dim")
        check_whole(settings.members, "members", least=2)
        if check_whole(settings.folds, "folds", least=2) > settings.members:
            raise OrdinateError("folds", settings.folds, f"at most the members, {settings.members}")
        if settings.epochs is not None:
            check_whole(settings.epochs, "epochs")
        for name in ("linear", "trees"):
            check_flag(getattr(settings, name), name)
        training = self.training
        if training.devices not in (None, 1) or joined_processes() > 1:
            raise OrdinateError("devices", "several", "one: a table's members train in seconds")

    def weight_decay(self, reader: Reader) -> float:
        return 0.1

    def validation_share(self, samples: CheckedSamples) -> float:
        share = self.training.validation_fraction
        return 0.0 if share == "auto" else share

    def batch_size(self, reader: Reader, samples: int, least: int = 64, most: int = 1024) -> int:
        return self.settings.batch_size or min(most, max(least, samples // least))

    def batches(self, targets: NDArray[Any], batch_size: int, seed: int) -> ShuffledBatches:
        count, argument, codes = len(targets), "y", None
        if self.units is not None:
            count, argument, codes = self.units.count(), "groups", self.units.codes
        if count < 4:
            raise OrdinateError(argument, count, "at least 4 for the blend, some of which are held out")
        folds = min(self.settings.folds, count // 2)
        self.fold = assign_folds(targets.reshape(len(targets), -1)[:, 0], folds, seed, codes)
        return ShuffledBatches(len(targets), batch_size, seed)

    def encoder(self, reader: Reader, options: Any, saved: dict[str, Any] | None = None) -> BlendEncoder:
        settings = self.settings
        if isinstance(reader, TableFeatures):
            if settings.encoder != "auto":
                raise OrdinateError("encoder", repr(settings.encoder), "'auto' for a table")
            (width,), numeric = reader.sample_shape, plain_numbers(reader)
        elif reader.kind == "images":
            self.images = self._image_components(reader, options, saved)
            width = self.images.axes.shape[1]
            numeric = list(range(width))
        else:
            expected = "a table, or images with ImageOptions(pretrained=True)"
            raise OrdinateError("X", reader.kind, expected, "CLOCClassifier and SupCRRegressor support others")
        members = MemberEncoder(width, int(settings.embedding_dim), settings.members, numeric=numeric)
        encoder = BlendEncoder(members)
        if saved is not None:
            encoder.add_parts(saved, width)
            encoder.images = self.images
        return encoder

    def _image_components(
        self, reader: Reader, options: Any, saved: dict[str, Any] | None, most: int = 64
    ) -> ImageComponents:
        """Return the components of images, for a new model as many as ``most``, the samples and the features allow."""
        name = "efficientnet_lite0" if self.settings.encoder == "auto" else self.settings.encoder
        self.options = options
        pooling = {"global_pool": "catavgmax"}  # The mean and the maximum of each map of features.
        built = reader.new_encoder(name, None, options, for_saved_weights=saved is not None, **pooling)
        network = cast(FrozenImageEncoder, built)
        if saved is not None:
            return ImageComponents(network, saved["components"])
        return ImageComponents(network, min(most, len(self.fold) - 1, network.out_channels))

    def data_options(self, modality: Modality) -> Any:
        options = super().data_options(modality)
        if modality.name != "images":
            return options
        if not options.pretrained:
            hint = "the blend is trained on the features of a pretrained network"
            raise OrdinateError("data", "images without pretrained weights", "ImageOptions(pretrained=True)", hint)
        return replace(options, frozen=True)

    def module(self, encoder: nn.Module, facts: Facts) -> Any:
        encoder = cast(BlendEncoder, encoder)
        last = MemberLinear(self.settings.members, int(self.settings.embedding_dim), self.num_classes() or 1)
        epochs, training = self.settings.epochs, self.training
        optimization = Optimization(
            learning_rate=2e-3 if training.learning_rate is None else training.learning_rate,
            weight_decay=self.weight_decay(facts.reader) if training.weight_decay is None else training.weight_decay,
            schedule="constant",
            warmup=0.0,
        )
        self.built = self.members_class()(
            encoder,
            BlendHead(last, self.num_classes()),
            epochs=fewer_epochs(1000, 6000, facts.n_batches) if epochs is None else int(epochs),
            patience=training.patience,
            refit=float(training.refit),
            chunk_size=training.chunk_size,
            optimization=optimization,
        )
        return self.built

    def train(self, module: Any, *data: Any, options: Training, **run: Any) -> list[dict[str, float]]:
        training, batches, _ = data
        of_folds = FoldBatches(training.x, training.y, training.weights, self.fold, self.settings.members)
        module.validate_on(of_folds, self.simple.rows, self.simple.x.float())
        options = replace(
            options, accelerator=device_of(options.accelerator).type
        )  # The networks need float64 for labels.
        end = training_end()
        if end is not None and self.settings.trees:  # Boosted trees are fitted after the networks.
            end = replace(end, until=end.until - SHARE_OF_TREES * (end.until - end.now))
        with training_until(end):
            history = super().train(module.float(), of_folds, batches, None, options=options, **run)
        module.forget_samples()
        return history

    @abstractmethod
    def members_class(self) -> Any:
        """Return the class of the module."""

    def run_name(self) -> str:
        return hashlib.sha256(self.fold.tobytes()).hexdigest()

    def prepare(self, training: Batches, validation: ArrayBatches | None) -> tuple[Batches, ArrayBatches | None]:
        if self.images is not None:
            features = frozen_features(
                self.images.network, training, self.options, device_of(self.training.accelerator),
                progress=bool(self.settings.verbose),
            )  # fmt: skip
            some = torch.from_numpy(random_part(len(features.x), 2000))  # They determine the components.
            self.images.fit(features.x[some])
            training = ArrayBatches(self.images.of_features(features.x), features.y, features.weights)
        self.simple = self._fit_simple(training)  # First, so that a training with an end has the time that is left.
        return training, validation

    def _fit_simple(self, training: Batches, most: int = 20_000) -> SimpleModels:
        """Fit the simple models, on ``most`` of very many samples, and predict samples that they have not seen.

        The members of the blend are validated on the same samples.
        """
        rows = torch.from_numpy(random_part(len(training.x), most))
        weights = None if training.weights is None else training.weights[rows].double()
        x, y = training.x[rows], self.built.standardised_labels(training.y[rows])
        simple = SimpleModels(rows, x, y.numpy(), None if weights is None else weights.numpy())
        fold, outputs = self.fold[rows], self.num_classes() or 1
        if self.settings.linear:
            simple.linear = self.fit_linear(x.double(), y, weights)
            fit = partial(self.fit_linear, start=simple.linear)
            of_linear = fewer_folds(fold, x.shape[1], 8)
            simple.unseen["linear"] = unseen_by_fold(fit, x.double(), y, weights, of_linear, outputs)
        if self.settings.trees:
            self._fit_forest(simple, x, y, weights, fold)
        return simple

    def _fit_forest(
        self, simple: SimpleModels, x: Tensor, y: Tensor, weights: Tensor | None, fold: NDArray[np.int64]
    ) -> None:
        start = time.perf_counter()
        is_bagged = self.units is None and self.bags(len(x))  # Bags take no heed of what stays together.
        forest = self._grow(x, y, weights, oob_score=is_bagged)
        fold = fewer_folds(fold, x.shape[1], 4)
        in_time = leaves_time((fold.max() + 1) * (time.perf_counter() - start))
        simple.trees = Trees.of_forest(forest, self.num_classes())
        # Bags are drawn by the weights: the heaviest samples are in all of them.
        if is_bagged and (weights is None or not in_time):
            simple.unseen["trees"] = filled_in(self.out_of_bag(forest), forest)
            return
        count = len(forest.estimators_) if in_time else FEWEST_TREES
        fit = partial(self._fit_trees, count=count)
        simple.unseen["trees"] = unseen_by_fold(fit, x, y, weights, fold, self.num_classes() or 1)

    def _boosting_unseen(
        self,
        x: Tensor,
        y: Tensor,
        weights: Tensor | None,
        blended: NDArray[np.float64],
        most_columns: int = 1000,
    ) -> NDArray[np.float64] | None:
        """Return what boosted trees predict of samples that they have not seen.

        They are trained fold by fold, and given up (None) as soon as the blend gains too little from them on the folds
        so far: in proportion to the square root of their samples, as a gain of all samples would be in standard errors.
        They are also left out where there is no time for all folds, of more than ``most_columns``, and where a part of
        the samples has a single rank.

        Args:
            x: Samples (n, f).
            y: Labels of the samples.
            weights: Weights (n,); None for equal ones.
            blended: Predictions of the blend of the parts before them.
            most_columns: Largest number of columns.
        """
        if x.shape[1] > most_columns:
            return None
        folds = fewer_folds(self.fold[self.simple.rows], x.shape[1], 4)
        count = int(folds.max()) + 1
        is_ranks = self.num_classes() is not None
        if is_ranks and any(len(y[folds != number].unique()) < 2 for number in range(count)):
            return None
        unseen = np.empty((len(x), self.num_classes() or 1))
        for number in range(count):
            start = time.perf_counter()
            seen = torch.from_numpy(folds != number)
            model = self._fit_boosting(x[seen], y[seen], None if weights is None else weights[seen])
            unseen[folds == number] = self.predict_boosting(model, x[~seen].numpy())
            still_needed = count - number  # The other folds and all samples remain.
            if not leaves_time(still_needed * (time.perf_counter() - start), 1.0):
                return None
            known = folds <= number
            share = best_share(
                blended[known], unseen[known], partial(self.losses, y=self.simple.y[known]),
                None if self.simple.weights is None else self.simple.weights[known],
                self.errors_to_gain["boosting"] * np.sqrt(known.mean()),
            )  # fmt: skip
            if share == 0:
                return None
        return unseen

    def _fit_boosting(self, x: Tensor, y: Tensor, weights: Tensor | None) -> Any:
        with threadpool_limits(1):  # Even on 20,000 rows threads wait for each other longer than they work.
            return new_boosting(self.num_classes()).fit(*arrays(x, y, weights))

    def _grow(
        self, x: Tensor, y: Tensor, weights: Tensor | None, *, oob_score: bool = False, count: int | None = None
    ) -> Any:
        bags = self.bags(len(x))
        forest = new_forest(self.num_classes(), x.shape[1], bootstrap=bags, oob_score=oob_score)
        with warnings.catch_warnings():  # Samples that all trees saw are filled in.
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores", UserWarning)
            return grow(forest, x, y, weights, count)

    def _fit_trees(self, x: Tensor, y: Tensor, weights: Tensor | None, *, count: int) -> Trees:
        return Trees.of_forest(self._grow(x, y, weights, count=count), self.num_classes())

    def finish(self, fitted: Fitted) -> nn.Module:
        """Choose the weights of the parts by their predictions of samples that they have not seen."""
        simple, module = self.simple, fitted.module
        found = {"members": module.unseen.double().numpy(), **simple.unseen}
        if self.settings.trees:
            x, y = simple.x, torch.from_numpy(simple.y)
            weights = None if simple.weights is None else torch.from_numpy(simple.weights)
            unseen = self._boosting_unseen(x, y, weights, blend(found, self._shares_before_boosting(found)))
            if unseen is not None:
                found["boosting"] = unseen
        predictions = {name: found[name] for name in self.errors_to_gain if name in found}
        losses = partial(self.losses, y=simple.y)
        shares = self._choose_shares(predictions)
        if "boosting" in shares:
            simple.boosting = BoostedTrees.of_boosting(self._fit_boosting(x, y, weights), self.num_classes())
        predictions["blend"] = blend(predictions, shares)
        unseen_losses = {}
        for name, predicted in predictions.items():
            unseen_losses[name] = float(np.average(losses(predicted), weights=simple.weights))
        fitted.facts |= {"shares_": shares, "unseen_losses_": unseen_losses}
        fitted.notes.append(self._note(unseen_losses, shares))
        head = self._add_parts(module, simple, shares)
        fitted.embedding_dim = module.encoder.out_features
        self.note_unseen(predictions["blend"], fitted)
        errors = {}
        for name, predicted in predictions.items():
            errors[name] = np.full(len(fitted.training.x), np.nan)
            errors[name][simple.rows.numpy()] = self.absolute_errors(predicted, simple.y, module)
        fitted.module.unseen_errors = errors
        del self.simple  # The model keeps its method.
        return head

    def _shares_before_boosting(self, predictions: dict[str, NDArray[np.float64]]) -> dict[str, float]:
        """Return the shares of the parts whose weights are chosen before that of boosted trees."""
        names = list(self.errors_to_gain)
        before = names[: names.index("boosting")]
        return self._choose_shares({name: predictions[name] for name in before if name in predictions})

    def _choose_shares(self, predictions: dict[str, NDArray[np.float64]]) -> dict[str, float]:
        """Return the shares of the parts, in the order of their predictions."""
        start = [name for name in ("members", "linear") if name in predictions]
        equal: dict[str, float] = dict.fromkeys(start, 1 / len(start))
        losses = partial(self.losses, y=self.simple.y)
        return choose_shares(predictions, losses, equal, self.simple.weights, self.errors_to_gain)

    def note_unseen(self, predictions: NDArray[np.float64], fitted: Fitted) -> None:
        """Measure the blend on samples that its parts have not seen."""

    def _note(self, unseen_losses: dict[str, float], shares: dict[str, float]) -> str:
        """Return the loss of each part alone and its weight in the blend."""
        losses = ", ".join(f"{name} {loss:z.3f}" for name, loss in unseen_losses.items())
        weights = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
        return f"{self.loss_name} on samples that were not seen: {losses}; weights in the blend: {weights}"

    def _add_parts(self, module: Any, simple: SimpleModels, shares: dict[str, float]) -> BlendHead:
        """Add the simple models that have a weight to the encoder and the head, rounded as a saved model holds them."""
        last = MemberLinear(self.settings.members, int(self.settings.embedding_dim), self.num_classes() or 1)
        head = BlendHead(last, self.num_classes(), shares).double()
        head.load_state_dict(module.head.state_dict(), strict=False)
        if simple.linear is not None and "linear" in shares:
            module.encoder.linear = cast(nn.Linear, simple.linear[0])
            if head.link is not None:
                head.link = cast(CumulativeLink, simple.linear[1])
        module.encoder.trees = simple.trees if "trees" in shares else None
        module.encoder.boosting = simple.boosting if "boosting" in shares else None
        module.head = head
        module.float().double().eval()
        if self.images is not None:
            module.encoder.images = self.images.cpu()
            module.encoder.float().eval()  # The network would take far longer in float64.
        return head


def plain_numbers(reader: TableFeatures, most: int = 100) -> list[int]:
    """Return the positions of columns that are numbers, not their normal scores, for a periodic embedding.

    It takes memory and time for each, so that very many columns get none.
    """
    found = sorted(set(reader.numeric_positions) & set(reader.plain_positions))
    return found if len(found) <= most else []
