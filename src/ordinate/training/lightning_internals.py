"""Private attributes of Lightning that training needs, in one place, each with a test.

They keep what an epoch has gathered, which a checkpoint in the middle of the epoch holds. A module names the attributes
that gather something over an epoch in ``shared_in_epoch``, if they are the same in all processes, or in
``own_in_epoch``, if each process has its own.
"""

from typing import Any

import lightning.pytorch as lightning
import torch
import torch.distributed as dist
from lightning.pytorch.strategies import DDPStrategy

from ordinate.functional.global_batch import all_processes, place_among, processes
from ordinate.option_group import Settings

Means = dict[str, tuple[torch.Tensor, torch.Tensor]]


def epoch_state(method: lightning.LightningModule) -> Settings:
    """Return random numbers, logged means and attributes of modules; all processes must call it together."""
    own = {
        "random": _random_state(method.device),
        "means": logged_means(method.trainer),
        "attributes": _attributes(method, "own_in_epoch"),
    }
    group = all_processes()
    every = [own] * processes(group)
    if group is not None:
        dist.all_gather_object(every, own, group)
    return {"attributes": _attributes(method, "shared_in_epoch"), "processes": every}


def restore_epoch_state(method: lightning.LightningModule, state: Settings) -> Means:
    """Take up a state of :func:`epoch_state`; return its means, for :func:`continue_means`."""
    place = place_among(all_processes())
    if place >= len(state["processes"]):
        place = 0
    own = state["processes"][place]
    for name, value in {**state["attributes"], **own["attributes"]}.items():
        module, _, attribute = name.rpartition(".")
        setattr(method.get_submodule(module), attribute, value)
    torch.set_rng_state(own["random"]["cpu"])
    if method.device.type == "cuda" and "cuda" in own["random"]:
        torch.cuda.set_rng_state(own["random"]["cuda"], method.device)
    return own["means"]


def logged_means(trainer: lightning.Trainer) -> Means:
    """Return the sums and the numbers of samples of which Lightning will log the means at the end of the epoch."""
    return {key: (metric.value, metric.cumulated_batch_size) for key, metric in _mean_metrics(trainer).items()}


def continue_means(trainer: lightning.Trainer, means: Means) -> None:
    """Add sums and numbers from before to those of the batches since; a first batch since then must be logged."""
    for key, metric in _mean_metrics(trainer).items():
        if key in means:
            value, samples = means[key]
            metric.value = value.to(metric.value) + metric.value
            metric.cumulated_batch_size = samples.to(metric.cumulated_batch_size) + metric.cumulated_batch_size


def running_mean(trainer: lightning.Trainer, name: str, device: torch.device) -> Any:
    """Return the mean over the present epoch that ``training_step`` logs by this name; None before its first batch."""
    metric = _logged(trainer).get(f"training_step.{name}")
    if metric is None or metric.has_reset or metric.value.device != device:
        return None
    return metric


def _logged(trainer: lightning.Trainer) -> Settings:
    # Lightning keeps them out of its checkpoints, and has no public name for them.
    return trainer.fit_loop.epoch_loop._results


def _mean_metrics(trainer: lightning.Trainer) -> Settings:
    return {
        key: metric
        for key, metric in _logged(trainer).items()
        if metric.is_tensor and metric.meta.on_epoch and metric.meta.is_mean_reduction and not metric.has_reset
    }


def _attributes(method: lightning.LightningModule, kind: str) -> Settings:
    return {
        f"{name}.{attribute}".removeprefix("."): getattr(module, attribute)
        for name, module in method.named_modules()
        for attribute in getattr(module, kind, ())
    }


def _random_state(device: torch.device) -> dict[str, torch.Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def forget_trainer(module: lightning.LightningModule) -> None:
    """Take the Trainer from a trained module, so that it can be pickled and copied."""
    module._trainer = None
    module._fabric_optimizers = []


def optimize_new_parameters(trainer: lightning.Trainer, module: lightning.LightningModule) -> None:
    """Let the Trainer optimize other parameters of the module than those that required gradients before."""
    strategy = trainer.strategy
    if isinstance(strategy, DDPStrategy):  # It knows the parameters that required gradients when it was made.
        strategy.model = module
        strategy.configure_ddp()
    strategy.setup_optimizers(trainer)
