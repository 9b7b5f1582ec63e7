"""Training on a Ray cluster ends with the weights of one process, whatever is lost on the way."""

import os
import sys
import threading
import time
from types import SimpleNamespace

import lightning.pytorch as lightning
import pytest
import torch

from ordinate import RayCluster
from ordinate.errors import OrdinateError
from ordinate.training import ray_cluster
from ordinate.training.time_budget import TimeBudget, TrainingEnd, training_until
from tests.estimators.examples import cloc, draw_table, ranks_of, supcr

X, TARGET = draw_table()
PLAIN = {"accelerator": "cpu", "optimizer": "sgd", "learning_rate": 0.01}


class Slow(lightning.Callback):
    """Leaves time for a kill, and writes down which epoch each process started from."""

    def __init__(self, folder):
        self.folder = folder

    def on_train_start(self, trainer, pl_module):
        (self.folder / f"{time.time_ns()}-{trainer.global_rank}").write_text(str(trainer.current_epoch))

    def on_train_batch_end(self, trainer, *_):
        time.sleep(0.2)


@pytest.mark.thorough
def test_a_machine_that_is_lost_changes_nothing(tmp_path):
    from ray.cluster_utils import Cluster

    kept, starts = tmp_path / "kept", tmp_path / "starts"
    starts.mkdir()
    machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    second = machines.add_node(num_cpus=2)

    def lose_second():
        while not (kept / "last.ckpt").exists():
            time.sleep(0.05)
        machines.remove_node(second, allow_graceful=False)

    watch = threading.Thread(target=lose_second, daemon=True)
    watch.start()
    try:
        cluster = RayCluster(machines.address, workers=2)
        trained = supcr(**PLAIN, cluster=cluster, checkpoint_dir=kept, callbacks=[Slow(starts)]).fit(X, TARGET)
    finally:
        machines.shutdown()
    began = [int(path.read_text()) for path in sorted(starts.iterdir())]
    assert began[:2] == [0, 0]
    assert len(began) == 4
    assert 1 <= began[2] == began[3] < 6
    assert [path.name for path in kept.iterdir()] == ["last.ckpt"]
    alone = supcr(**PLAIN).fit(X, TARGET)
    for name, value in alone.method_.state_dict().items():
        torch.testing.assert_close(trained.method_.state_dict()[name], value, rtol=1e-6, atol=1e-6)
    assert [epoch.keys() for epoch in trained.history_] == [epoch.keys() for epoch in alone.history_]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster": "auto"}, r"cluster: got 'auto', expected RayCluster\(address, workers\) or None"),
        ({"cluster": RayCluster("auto", 2)}, "checkpoint_dir: got None, expected a folder that all machines"),
        ({"cluster": RayCluster("auto", 2), "devices": 2}, "devices: got 2, expected None with a cluster"),
        ({"cluster": RayCluster("auto", 2), "strategy": "ddp"}, "strategy: got 'ddp', expected None with a cluster"),
    ],
)
def test_what_a_cluster_cannot_have_is_refused_before_training(options, message):
    with pytest.raises(OrdinateError, match=message):
        cloc(**options).fit(X, ranks_of(TARGET))


def test_batches_too_small_for_the_workers_are_refused_before_ray_is_started(tmp_path):
    with pytest.raises(OrdinateError, match="batch_size: got 24, expected at least 26 samples to contrast"):
        cloc(cluster=RayCluster("nowhere", 13), checkpoint_dir=tmp_path).fit(X, ranks_of(TARGET))


def test_a_limit_of_time_is_for_one_machine(tmp_path):
    model = cloc(cluster=RayCluster("auto", 2), checkpoint_dir=tmp_path)
    with training_until(TrainingEnd(TimeBudget(9), 1.0)), pytest.raises(OrdinateError, match="time_limit: is for one"):
        model.fit(X, ranks_of(TARGET))


@pytest.mark.parametrize("arguments", [("", 2), (None, 2), ("auto", 0), ("auto", "8")])
def test_a_cluster_has_an_address_and_workers(arguments):
    with pytest.raises(OrdinateError, match=r"^(ray|workers): got "):
        RayCluster(*arguments)


class LostError(Exception):
    """As Ray Train tells of workers that failed."""

    def __init__(self, *failures):
        self.worker_failures = dict(enumerate(failures))


def run(monkeypatch, folder, *outcomes):
    """Run workers that end so, one start after the other; return how often they were started."""
    starts = []

    class Trainer:
        def __init__(self, work, **options):
            assert options["train_loop_config"]["work"] == (
                "work",
                {"accelerator": "cpu", "devices": 1, "num_nodes": 1},
            )

        def fit(self):
            outcome = outcomes[len(starts)]
            starts.append(outcome)
            if outcome == "progress":
                os.utime(folder / "last.ckpt", (len(starts), len(starts)))
            if outcome is not None:
                raise LostError(ConnectionError("gone")) if isinstance(outcome, str) else LostError(outcome)

    (folder / "last.ckpt").touch()
    os.utime(folder / "last.ckpt", (0, 0))
    ray = SimpleNamespace(put=lambda data: data, cluster_resources=dict)
    train = SimpleNamespace(
        ScalingConfig=dict, RunConfig=dict, TrainingFailedError=LostError, TorchTrainer=Trainer,
    )  # fmt: skip
    monkeypatch.setattr(ray_cluster, "connect", lambda *_, **__: (ray, False))
    monkeypatch.setattr(ray_cluster, "optional", lambda *_: train)
    try:
        RayCluster("auto", 2).run("work", folder, {"accelerator": "cpu"})
    finally:
        assert [path.name for path in folder.iterdir()] == ["last.ckpt"]
    return len(starts)


def test_workers_that_are_lost_start_again_as_long_as_there_are_new_checkpoints(tmp_path, monkeypatch):
    assert run(monkeypatch, tmp_path, *["idle", "progress"] * 3, None) == 7
    with pytest.raises(OrdinateError, match=r"^ray: the workers failed 3 times without .*, by ConnectionError: gone$"):
        run(monkeypatch, tmp_path, "progress", "idle", "idle")


def test_what_a_worker_refuses_is_raised_at_once(tmp_path, monkeypatch):
    with pytest.raises(OrdinateError, match=r"^labels: got NaN$"):
        run(monkeypatch, tmp_path, OrdinateError("labels", "NaN"))


def test_without_ray_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OrdinateError, match=r'^ray: .*pip install "ordinate\[cluster\]"'):
        cloc(cluster=RayCluster("auto", 2), checkpoint_dir=tmp_path).fit(X, ranks_of(TARGET))
