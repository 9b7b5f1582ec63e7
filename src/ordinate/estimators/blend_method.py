"""How the parts of a blend train and how their weights are chosen, for ranks and for targets."""

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from joblib import parallel_config
from joblib.parallel import ThreadingBackend, get_active_backend
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
from torch import nn

from ordinate.blend.boosting import fit_boosting
from ordinate.blend.forest import fit_forest
from ordinate.blend.linear import fit_linear
from ordinate.blend.part import Part
from ordinate.blend.samples import FoldedSamples
from ordinate.blend.task import RankTask, Task
from ordinate.blend.weights import average, choose_shares
from ordinate.checks import check_flag, check_whole
from ordinate.data.modality import Modality, Reader
from ordinate.data.rows import random_part
from ordinate.data.samplers import ShuffledBatches
from ordinate.data.splits import assign_folds
from ordinate.data.tables.features import TableFeatures
from ordinate.data.training_batches import ArrayBatches
from ordinate.encoders.blend_head import BlendHead
from ordinate.encoders.fine_tuned import FineTunedNetworks
from ordinate.encoders.members import BlendEncoder, MemberEncoder, MemberLinear
from ordinate.encoders.network import PartlyTrained
from ordinate.encoders.pixels import FrozenImageEncoder, ImageComponents
from ordinate.errors import OrdinateError
from ordinate.estimators.fine_tuning import FOLDS, FineTuned, FineTuning
from ordinate.estimators.frozen_features import frozen_features
from ordinate.estimators.method import Batches, Facts, Fitted, Method, fewer_epochs
from ordinate.estimators.samples import CheckedSamples
from ordinate.methods.unseen_folds import FoldBatches
from ordinate.model.embedding import device_of
from ordinate.torchrun import joined_processes
from ordinate.training.optimization import Optimization
from ordinate.training.options import Training

SHARES = "weights in the blend"
MOST_OF_TREES = 64  # Trees read at most so many components of images.
FINE_TUNED_DIM = 64  # Dimension of the embedding of a fine-tuned network.
MOST_SAMPLES = 20_000  # Simple parts are fitted on at most so many samples, on which the members are validated.


class Blend(Method):
    """How the parts of a blend train, and how their weights are chosen."""

    name = "Blend"
    has_unseen_folds = True
    checkpoint_seconds = 2.0  # Fewer would cost more than the work that a kill loses.
    images: ImageComponents | None = None
    tuned: FineTuned | None = None  # While it trains on images.
    learning_rate: float  # Of the members, by default.

    # What differs between ranks and targets.

    @property
    @abstractmethod
    def task(self) -> Task:
        """What the parts predict."""

    @abstractmethod
    def absolute_errors(self, predictions: NDArray[np.float64], y: NDArray[Any], module: Any) -> NDArray[np.float64]:
        """Return the absolute error (n,) of predictions, in ranks or in the target's units."""

    @abstractmethod
    def members_class(self) -> Any:
        """Return the class of the module."""

    def num_classes(self) -> int | None:
        """Return the number of ranks C, None for targets."""
        return self.task.outputs if isinstance(self.task, RankTask) else None

    # What they have in common.

    def check(self) -> None:
        settings = self.settings
        if not isinstance(settings.encoder, str):
            expected = "'auto' or a name of timm: a blend has networks of its own"
            raise OrdinateError("encoder", type(settings.encoder).__name__, expected)
        check_whole(settings.embedding_dim, "embedding_dim")
        check_whole(settings.members, "members", least=2)
        check_whole(settings.folds, "folds", least=2)
        if settings.epochs is not None:
            check_whole(settings.epochs, "epochs")
        for name in ("linear", "trees"):
            check_flag(getattr(settings, name), name)
        if check_whole(settings.fine_tuned, "fine_tuned", least=0) > FOLDS:
            raise OrdinateError(
                "fine_tuned", settings.fine_tuned, f"at most {FOLDS}, each without one of so many parts"
            )
        check_whole(settings.fine_tuned_side, "fine_tuned_side", least=16)
        if joined_processes() > 1:
            raise OrdinateError("processes", joined_processes(), "1: a table's members train in seconds")

    def weight_decay(self, reader: Reader) -> float:
        return 0.1

    def validation_share(self, samples: CheckedSamples) -> float:
        share = self.training.validation_fraction
        return 0.0 if share == "auto" else share

    def batch_size(self, reader: Reader, samples: int, least: int = 128, most: int = 1024) -> int:
        return self.settings.batch_size or min(most, max(least, samples // 64))

    def batches(self, targets: NDArray[Any], batch_size: int, seed: int) -> ShuffledBatches:
        count, argument, codes = len(targets), "y", None
        if self.units is not None:
            count, argument, codes = self.units.count(), "groups", self.units.codes
        if count < 4:
            hint = "another method, such as cloc or supcr, takes fewer"
            raise OrdinateError(argument, count, "at least 4 in training for the blend", hint)
        folds, self.seed = min(self.settings.folds, self.settings.members, count // 2), seed
        self.fold = assign_folds(targets.reshape(len(targets), -1)[:, 0], folds, seed, codes)
        return ShuffledBatches(len(targets), batch_size, seed)

    def encoder(self, reader: Reader, options: Any, saved: dict[str, Any] | None = None) -> BlendEncoder:
        settings = self.settings
        if isinstance(reader, TableFeatures):
            if settings.encoder != "auto":
                raise OrdinateError("encoder", repr(settings.encoder), "'auto' for a table")
            (width,), numeric = reader.sample_shape, plain_numbers(reader)
            self.tree_columns = np.array(reader.plain_positions, dtype=np.int64)
        elif reader.kind == "images":
            self.images = self._image_components(reader, options, saved)
            width, numeric = self.images.axes.shape[1], []
            self.tree_columns = np.arange(min(width, MOST_OF_TREES))
        else:
            expected = "a table, or images with ImageOptions(pretrained=True)"
            raise OrdinateError("X", reader.kind, expected, "CLOCClassifier and SupCRRegressor support others")
        members = MemberEncoder(width, int(settings.embedding_dim), settings.members, numeric=numeric)
        encoder = BlendEncoder(members)
        if saved is not None:
            encoder.add_parts(saved, width)
            encoder.images = self.images
            if saved.get("fine_tuned") is not None:
                tuned = saved["fine_tuned"]
                networks = [self._new_network(for_saved_weights=True) for _ in range(tuned["count"])]
                encoder.fine_tuned = FineTunedNetworks(networks, tuple(tuned["size"]))
        return encoder

    @property
    def _network_name(self) -> str:
        return "efficientnet_lite0" if self.settings.encoder == "auto" else self.settings.encoder

    def _new_network(self, *, for_saved_weights: bool = False) -> nn.Module:
        """Return a pretrained network to fine-tune."""
        options, part = replace(self.options, frozen=False), self.training.train_encoder
        network = self.reader_of_images.new_encoder(
            self._network_name, FINE_TUNED_DIM, options, for_saved_weights=for_saved_weights
        )
        if for_saved_weights or part in (None, "all") or not isinstance(network, PartlyTrained):
            return network
        return network.train_only(part)

    def _image_components(
        self, reader: Reader, options: Any, saved: dict[str, Any] | None, most: int = 256
    ) -> ImageComponents:
        """Return the components of images, for a new model as many as ``most``, the samples and the features allow."""
        self.options, self.reader_of_images = options, reader
        built = reader.new_encoder(
            self._network_name, None, options, for_saved_weights=saved is not None, by_stages=True
        )
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
        mirror = options.mirror
        if mirror is None:
            mirror = options.augmentation != "none"
        return replace(options, frozen=True, mirror=mirror)

    def module(self, encoder: nn.Module, facts: Facts) -> Any:
        encoder = cast(BlendEncoder, encoder)
        last = MemberLinear(self.settings.members, int(self.settings.embedding_dim), self.num_classes() or 1)
        epochs, training = self.settings.epochs, self.training
        optimization = Optimization(
            learning_rate=self.learning_rate if training.learning_rate is None else training.learning_rate,
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
        module.validate_on(of_folds, self.rows, self.samples.x)
        accelerator = device_of(options.accelerator).type  # The networks need float64 for labels.
        options = replace(options, accelerator=accelerator)
        with self._fitting_simple_parts():
            history = super().train(module.float(), of_folds, batches, None, options=options, **run)
        module.forget_samples()
        return history

    def run_name(self) -> str:
        return hashlib.sha256(self.fold.tobytes()).hexdigest()

    def prepare(
        self, training: Batches, validation: ArrayBatches | None, run: str
    ) -> tuple[Batches, ArrayBatches | None]:
        if self.images is not None:
            self.tuned = self._fine_tuned(training, run)
            features = frozen_features(
                self.images.network, training, self.options, device_of(self.training.accelerator),
                progress=bool(self.settings.verbose),
            )  # fmt: skip
            some = torch.from_numpy(random_part(len(features.x), 2000))  # They determine the components.
            self.images.fit(features.x[some])
            training = ArrayBatches(self.images.of_features(features.x), features.y, features.weights)
        self.rows = torch.from_numpy(random_part(len(training.x), MOST_SAMPLES))
        weights = None if training.weights is None else training.weights[self.rows].double()
        self.samples = FoldedSamples(
            training.x[self.rows].float(), self.built.standardised_labels(training.y[self.rows]), weights,
            self.fold[self.rows], self.tree_columns, grouped=self.units is not None,
        )  # fmt: skip
        if self.images is not None:
            count = self._best_count_of_components(self.samples)
            self.images.keep(count)
            training.x[:, count:] = self.samples.x[:, count:] = 0
        return training, validation

    def _fine_tuned(self, images: Batches, run: str) -> FineTuned | None:
        """Return the networks that are fine-tuned on images; None without any."""
        groups, codes = len(images), None
        if self.units is not None:
            groups, codes = self.units.count(), self.units.codes
        folds = min(FOLDS, groups)
        count = min(self.settings.fine_tuned, folds)
        keeps_network = self.training.train_encoder == "none" or bool(getattr(self.settings.data, "frozen", False))
        if count == 0 or keeps_network:
            return None
        fold = assign_folds(images.y.numpy().reshape(len(images), -1)[:, 0], folds, self.seed, codes)
        height, width = images.x.shape[-2:]
        scale = min(1.0, self.settings.fine_tuned_side / max(height, width))
        size = max(1, round(height * scale)), max(1, round(width * scale))
        tuning = FineTuning(
            self._new_network, FINE_TUNED_DIM, size, self.num_classes(), self.options, self.training, self.seed, run,
            progress=bool(self.settings.verbose),
        )  # fmt: skip
        return tuning.fit(count, images, self.built.standardised_labels(images.y), fold)

    def _best_count_of_components(self, samples: FoldedSamples, fewest: int = 16) -> int:
        """Return how many components predict best, by a linear model and samples that it has not seen."""
        total, y = samples.x.shape[1], samples.y.numpy()
        weights = None if samples.weights is None else samples.weights.numpy()
        losses = {}
        for count in sorted({min(fewest << doublings, total) for doublings in range(total.bit_length())}):
            part = fit_linear(self.task, replace(samples, x=samples.x[:, :count]))
            losses[count] = float(np.average(self.task.losses(part.unseen, y), weights=weights))
        return min(losses, key=losses.__getitem__)

    @contextmanager
    def _fitting_simple_parts(self) -> Iterator[None]:
        """Fit the parts that are no networks in threads of their own, while the networks train."""
        backend, n_jobs = get_active_backend(prefer="threads")  # A thread does not inherit joblib's configuration.
        is_usual = isinstance(backend, ThreadingBackend) and n_jobs in (None, 1)
        threads = 1  # Two must not give jobs to one backend at the same time.
        if is_usual and len(self.samples.x) >= 500:  # With fewer they wait for each other longer than they work.
            threads = 2

        def fitted(fit: Callable[[Task, FoldedSamples], Part | None]) -> Part | None:
            with parallel_config(backend, n_jobs=n_jobs):
                return fit(self.task, self.samples)

        fits: dict[str, Callable[[Task, FoldedSamples], Part | None]] = {}
        if self.settings.linear:
            fits["linear"] = fit_linear
        if self.settings.trees:
            fits |= {"trees": fit_forest, "boosting": fit_boosting}
        # The library of linear algebra is shared: its threads would wait for those of the networks.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
            parts = {name: pool.submit(copy_context().run, fitted, fit) for name, fit in fits.items()}
            yield
            found = {name: part.result() for name, part in parts.items()}
        self.parts = {name: part for name, part in found.items() if part is not None}

    def finish(self, fitted: Fitted) -> nn.Module:
        """Choose the weights of the parts by their predictions of samples that they have not seen."""
        task, module, y = self.task, fitted.module, self.samples.y.numpy()
        weights = None if self.samples.weights is None else self.samples.weights.numpy()
        predictions = {"members": module.unseen.double().numpy()}
        predictions |= {name: part.unseen for name, part in self.parts.items()}
        shares = choose_shares({name: task.residuals(each, y) for name, each in predictions.items()}, weights)
        predictions["blend"] = average(predictions, shares)
        known = np.ones(len(y), dtype=bool)
        if self.tuned is not None:
            shares, known = self._with_fine_tuned(predictions, shares, y, weights)
        measured = np.flatnonzero(known)
        counted = None if weights is None else weights[measured]
        unseen_losses, errors = {}, {}
        for name, predicted in predictions.items():
            losses = task.losses(predicted[measured], y[measured])
            unseen_losses[name] = float(np.average(losses, weights=counted))
        fitted.facts |= {"shares_": shares, "unseen_losses_": unseen_losses}
        fitted.notes.append(self._note(unseen_losses, shares))
        head = self._add_parts(module, shares)
        fitted.embedding_dim = module.encoder.out_features
        self.note_unseen(predictions["blend"][measured], y[measured], counted, fitted)
        rows = self.rows.numpy()
        for name, predicted in predictions.items():
            errors[name] = np.full(len(fitted.training.x), np.nan)
            errors[name][rows[measured]] = self.absolute_errors(predicted[measured], y[measured], module)
        fitted.module.unseen_errors = errors
        del self.samples, self.parts  # The model keeps its method.
        self.tuned = None
        return head

    def _with_fine_tuned(
        self,
        predictions: dict[str, NDArray[np.float64]],
        shares: dict[str, float],
        y: NDArray[Any],
        weights: NDArray[np.float64] | None,
    ) -> tuple[dict[str, float], NDArray[np.bool_]]:
        """Blend the other parts with the fine-tuned networks, and return the shares and where both are known."""
        tuned = cast(FineTuned, self.tuned).unseen[self.rows.numpy()]
        known = np.isfinite(tuned).all(1)
        residuals = {
            name: self.task.residuals(each[known], y[known])
            for name, each in (("others", predictions.pop("blend")), ("fine_tuned", tuned))
        }
        of_both = choose_shares(residuals, None if weights is None else weights[known])
        shares = {name: share * of_both.get("others", 0.0) for name, share in shares.items()}
        shares = {
            name: share for name, share in {**shares, "fine_tuned": of_both.get("fine_tuned", 0.0)}.items() if share
        }
        predictions["fine_tuned"] = tuned
        predictions["blend"] = average(predictions, shares)
        return shares, known

    def note_unseen(
        self, predictions: NDArray[np.float64], y: NDArray[Any], weights: NDArray[np.float64] | None, fitted: Fitted
    ) -> None:
        """Measure the blend on samples that its parts have not seen."""

    def _note(self, unseen_losses: dict[str, float], shares: dict[str, float]) -> str:
        """Return the loss of each part alone and its weight in the blend."""
        losses = ", ".join(f"{name} {loss:z.3f}" for name, loss in unseen_losses.items())
        weights = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
        return f"{self.task.loss_name} on samples that were not seen: {losses}; {SHARES}: {weights}"

    def _add_parts(self, module: Any, shares: dict[str, float]) -> BlendHead:
        """Add the parts that have a weight to the encoder and the head, rounded as a saved model holds them."""
        last = MemberLinear(self.settings.members, int(self.settings.embedding_dim), self.num_classes() or 1)
        tuned = self.tuned if "fine_tuned" in shares else None
        layer = None if tuned is None else tuned.layer
        head = BlendHead(last, self.num_classes(), shares, layer, has_distance=self.images is not None).double()
        head.load_state_dict(module.head.state_dict(), strict=False)
        for name, part in self.parts.items():
            if name in shares:
                setattr(module.encoder, name, part.encoder)
                if part.link is not None:
                    head.links[name] = part.link
        module.head = head
        module.float().double().eval()
        if self.images is not None:
            module.encoder.images = self.images.cpu()
            module.encoder.fine_tuned = None if tuned is None else tuned.encoder
            module.encoder.float().eval()  # The network would take far longer in float64.
        return head


def plain_numbers(reader: TableFeatures, most: int = 100) -> list[int]:
    """Return the positions of columns that are numbers, not their normal scores, for a periodic embedding.

    It takes memory and time for each, so that very many columns get none.
    """
    found = sorted(set(reader.numeric_positions) & set(reader.plain_positions))
    return found if len(found) <= most else []
