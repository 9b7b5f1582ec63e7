"""What a command makes of its time: the plan of a training on images, and the end of everything by a limit."""

import json
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from ordinate.commands.division import TEST_FRACTION
from ordinate.commands.fit_options import FitOptions
from ordinate.commands.image_plan import ImagePlan, plan_images
from ordinate.commands.labels import understand_label
from ordinate.commands.workspace import read_record, write_record
from ordinate.data.images.pixels import Preprocessing
from ordinate.estimators.choice import LEAST_TRAINING
from ordinate.report.page.projections import MOST_FOR_TSNE
from ordinate.torchrun import by_the_first, is_first_process
from ordinate.training.time_budget import TimeBudget, TrainingEnd

# Time of what follows the training, over that of the start, which tells how busy the machine is
MEASURES, REPORT, PICTURES = 0.5, 0.4, 1.2
LEAST_START = 3.0  # seconds
MOST_RESERVED = 0.4  # of the limit
TSNE = 0.02  # seconds of t-SNE per sample on a quiet core, generously
LONG = 600.0  # seconds that a training without a limit is announced beyond
PLAN, SPENT = "plan.json", "spent.json"
MOST_READING = 0.5  # share of the limit that reading may take without a note
OF_CONTINUOUS = 2.2  # passes per epoch: two views, and a head after the encoder


@dataclass
class TimePlan:
    """The time of ``ordinate fit``: what is there, what is planned, and what is left.

    The folder keeps the plan and the time spent, so that a run that was stopped continues with both. Trainings have to
    end ``until`` so many seconds are spent; ``start`` seconds were spent on starting.
    """

    options: FitOptions
    folder: Path
    budget: TimeBudget | None
    images: ImagePlan | None = None
    until: float = math.inf
    start: float = LEAST_START

    @classmethod
    def of(cls, options: FitOptions, folder: Path, started: float) -> "TimePlan":
        """Return the plan of a command that started at a time of ``time.monotonic``, or the one it had begun with."""
        budget = None
        if options.time_limit is not None:
            budget = TimeBudget(60 * options.time_limit, start=started)
            if is_first_process():  # by whose clock all go
                budget.continue_from(folder / SPENT)
        plan = cls(options, folder, budget, start=max(LEAST_START, time.monotonic() - started))
        kept: dict[str, Any] | None = by_the_first(lambda: read_record(folder / PLAN))
        if kept is not None and kept["options"] == json.loads(json.dumps(options.determining)):
            plan.images = _image_plan(kept["images"])
        return plan

    def plan_for(
        self, images: Preprocessing, labels: pd.Series, reading: float = 0.0, *, fixed_size: bool = False
    ) -> tuple[int, int]:
        """Plan a training on images that take ``reading`` seconds to decode; return the size that they are to have."""
        if self.images is None:
            if self.budget is not None and reading > MOST_READING * self.budget.seconds:
                print(
                    f"note: reading {len(labels)} images takes about {_minutes(reading)}, and cannot be cut short; "
                    "smaller files, or a longer --time-limit, leave more for the training"
                )
            options = self.options
            ranks = understand_label(labels, options.task, options.order, f"label {labels.name!r}").is_ranks
            alone = options.method != "auto" or options.margin or options.critical or options.costs
            counts = (1,) if alone else (2, 1)
            if self.budget is not None and counts != (1,):
                counts = (5, *counts)
            planned = partial(
                plan_images,
                images.size,
                images.channels,
                math.ceil(len(labels) * (1 - (options.test_fraction or TEST_FRACTION))),
                options,
                seconds=None if self.budget is None else self.budget.left - self._reserve - reading,
                candidates=counts,
                cost=1.0 if ranks else OF_CONTINUOUS,
                fixed_size=fixed_size,
                gpu=options.accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available(),
            )
            self.images = _image_plan(by_the_first(lambda: asdict(planned())))
        return self.images.size

    def keep(self) -> None:
        """Write the plan to the folder, and the time spent from now on, in the first process."""
        if not is_first_process():
            return
        if self.budget is not None:
            self.budget.keep_in(self.folder / SPENT)
        if self.images is not None:
            write_record(self.folder / PLAN, {"options": self.options.determining, "images": asdict(self.images)})

    @property
    def filled(self) -> FitOptions:
        """The options with what was planned in the place of what was left open."""
        return self.options if self.images is None else self.images.fill(self.options)

    def begin_training(self) -> None:
        """Set when the trainings have to end, so that time is left for what follows."""
        if self.budget is not None:
            after = 0.0 if self.images is None else min(self.images.after, MOST_RESERVED * self.budget.seconds)
            self.until = self.budget.seconds - self._reserve - after

    @property
    def left_to_train(self) -> float:
        """Seconds until the trainings have to end."""
        return math.inf if self.budget is None else self.until - self.budget.spent

    @property
    def end(self) -> TrainingEnd | None:
        if self.budget is None:
            return None
        return TrainingEnd(self.budget, self.until, LEAST_TRAINING * self.budget.seconds)

    def projections(self, samples: int) -> tuple[str, ...]:
        """Return the projections that the report of so many held-out samples has time for."""
        seconds = TSNE * min(samples, MOST_FOR_TSNE)
        in_time = self.budget is None or seconds < self.budget.left - (REPORT + PICTURES) * self.start
        return ("pca", "tsne") if in_time else ("pca",)

    def announce(self, methods: Sequence[str]) -> None:
        """Say what is trained, how long it takes, and what to type for better."""
        plan = self.images
        if plan is None:
            return
        weights = ", from ImageNet weights" if plan.pretrained else ""
        weights += " that stay as they are," if plan.frozen else "," if plan.pretrained else ""
        tried = f"{', '.join(methods)}: the best on a part is trained on all" if len(methods) > 1 else methods[0]
        print(
            f"plan: {plan.network}{weights} at {plan.size[0]} x {plan.size[1]} pixels, {plan.epochs} epochs; {tried}; "
            f"about {_minutes(plan.seconds)} on this machine"
        )
        if self.filled.mirror and self.options.mirror is None:
            print("predictions are the mean of an image and its mirror image; --no-mirror halves their time")
        if self.budget is not None and plan.seconds > self.budget.left:
            print("note: more than the limit leaves; reading and features cannot be cut short, so it may be passed")
        elif self.budget is None and plan.seconds > LONG:
            print("note: --time-limit 10 keeps to ten minutes")
        elif self.options.encoder is None and self.options.epochs is None and (self.options.time_limit or 0) < 60:
            print("for better: --time-limit 60, or --encoder resnet18 --epochs 100, or a --recipe")

    def has_time_for(self, part: float) -> bool:
        """Return whether time is left for ``REPORT`` or ``PICTURES``."""
        return self.budget is None or self.budget.left > part * self.start

    @property
    def _reserve(self) -> float:
        """Seconds for what follows the training."""
        if self.budget is None:
            return 0.0
        return min((MEASURES + REPORT + PICTURES) * self.start, MOST_RESERVED * self.budget.seconds)


def _image_plan(fields: dict[str, Any]) -> ImagePlan:
    return ImagePlan(**{**fields, "size": tuple(fields["size"])})


def _minutes(seconds: float) -> str:
    return f"{max(1, round(seconds))} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
