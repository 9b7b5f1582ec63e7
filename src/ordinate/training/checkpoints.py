"""The file that keeps the state of a training, so that one that was killed can continue."""

import pickle
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from ordinate.errors import OrdinateError
from ordinate.functional.global_batch import all_processes, place_among, processes
from ordinate.option_group import Settings

CHECKPOINT = "last.ckpt"


def read_checkpoint(path: Path, run: str) -> Settings:
    """Return a checkpoint of this run, without running anything in it."""
    try:
        checkpoint: Settings = torch.load(path, map_location="cpu", weights_only=True)
        of_this_run = checkpoint["run"] == run
    except pickle.UnpicklingError as error:
        problem = f"{path} is damaged, or holds objects that cannot be read safely, such as the state of a callback"
        raise OrdinateError("checkpoint_dir", problem=problem, hint="remove it to start anew") from error
    except (OSError, EOFError, RuntimeError, KeyError, TypeError, ValueError) as error:
        raise OrdinateError("checkpoint_dir", problem=f"{path} is damaged", hint="remove it to start anew") from error
    if not of_this_run:
        problem = f"{path} is of a fit with other data or settings"
        raise OrdinateError("checkpoint_dir", problem=problem, expected="a folder of its own")
    return checkpoint


def write_checkpoint(path: Path, state: Settings, *, is_writer: bool) -> None:
    """Write a checkpoint whole or not at all; all processes wait for the one that does."""
    if is_writer:
        path.parent.mkdir(parents=True, exist_ok=True)
        pending = path.with_name(f"{path.name}.partial")
        torch.save(state, pending)
        pending.replace(path)
    if all_processes() is not None:
        dist.barrier()


def epoch_state(module: nn.Module, device: torch.device) -> Settings:
    """Return random numbers and what modules gather in training; all processes must call it together.

    Modules name the attributes that gather something in ``shared_state``, if they are the same in all processes, or in
    ``own_state``, if each process has its own.
    """
    own = {"random": _random_state(device), "attributes": attributes_of(module, "own_state")}
    group = all_processes()
    every = [own] * processes(group)
    if group is not None:
        dist.all_gather_object(every, own, group)
    return {"attributes": attributes_of(module, "shared_state"), "processes": every}


def restore_epoch_state(module: nn.Module, device: torch.device, state: Settings) -> None:
    """Take up a state of :func:`epoch_state`."""
    place = place_among(all_processes())
    if place >= len(state["processes"]):
        place = 0
    own = state["processes"][place]
    set_attributes(module, {**state["attributes"], **own["attributes"]})
    torch.set_rng_state(own["random"]["cpu"])
    if device.type == "cuda" and "cuda" in own["random"]:
        torch.cuda.set_rng_state(own["random"]["cuda"], device)


def attributes_of(module: nn.Module, kind: str) -> Settings:
    """Return the attributes that the parts of a module name in ``shared_state`` or ``own_state``."""
    return {
        f"{name}.{attribute}".removeprefix("."): getattr(part, attribute)
        for name, part in module.named_modules()
        for attribute in getattr(part, kind, ())
    }


def set_attributes(module: nn.Module, values: Settings) -> None:
    """Set attributes of the parts of a module that :func:`attributes_of` returned."""
    for name, value in values.items():
        owner, _, attribute = name.rpartition(".")
        setattr(module.get_submodule(owner), attribute, value)


def _random_state(device: torch.device) -> dict[str, torch.Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states
