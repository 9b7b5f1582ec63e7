"""A model goes to the hub and comes back the same; a stand-in on this machine plays the hub."""

import base64
import hashlib
import json
import pickle
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import create_autospec
from urllib.parse import unquote

import numpy as np
import pytest

import ordinate
from ordinate import ImageOptions
from ordinate.errors import OrdinateError
from ordinate.estimators.hub import load_from_hub, push_to_hub, write_hub_folder
from tests.data import pictures
from tests.estimators.examples import (
    Trap,
    cloc,
    draw_frame,
    draw_series,
    draw_table,
    for_every_estimator,
    labels_for,
    otd,
    ranks_of,
    supcr,
)

huggingface_hub = pytest.importorskip("huggingface_hub")
FILES = {"README.md", "config.json", "history.json", "weights.safetensors"}
OID = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module")
def fitted():
    X, target = draw_table()
    return otd(epochs=1).fit(X, ranks_of(target))


def read_card(folder):
    return huggingface_hub.ModelCard.load(folder / "README.md")


@for_every_estimator
def test_the_folder_is_the_saved_model_and_a_card_that_the_hub_reads(make, tmp_path):
    frame, target = draw_frame()
    model = make().fit(frame, labels_for(make, target))
    write_hub_folder(model, tmp_path / "model", repo_id="user/knees", license="mit", metrics={"mae": 0.25})
    assert {path.name for path in (tmp_path / "model").iterdir()} == FILES
    assert (ordinate.load(tmp_path / "model").predict(frame) == model.predict(frame)).all()
    card = read_card(tmp_path / "model")
    classifies = hasattr(model, "predict_proba")
    assert card.data.to_dict() == {
        "library_name": "ordinate",
        "license": "mit",
        "metrics": ["mae"],
        "pipeline_tag": "tabular-classification" if classifies else "tabular-regression",
        "tags": [
            "ordinate",
            make.__name__,
            "ordinal-classification" if classifies else "regression",
        ],
    }
    assert 'load_from_hub("user/knees")' in card.text
    assert "| mae | 0.25 |" in card.text
    assert ("the ranks 0 < 1 < 2" in card.text) == classifies


def test_cards_of_images_and_series_say_so(tmp_path):
    ranks = np.arange(24) % 3
    tiny = {"encoder": "test_resnet", "data": ImageOptions(augmentation="none", workers=0)}
    write_hub_folder(otd(**tiny, epochs=1).fit(pictures.draw(ranks), ranks), tmp_path / "images")
    card = read_card(tmp_path / "images")
    assert card.data.pipeline_tag == "image-classification"
    assert "images of 16 x 16 pixels" in card.text
    assert "license" not in card.data.to_dict()
    X, target = draw_series()
    write_hub_folder(supcr(epochs=(1, 1)).fit(X, target), tmp_path / "series")
    assert "time-series" in read_card(tmp_path / "series").data.tags


def test_paths_of_this_machine_stay_here(tmp_path):
    X, target = draw_table()
    model = cloc(checkpoint_dir=tmp_path / "secret").fit(X, ranks_of(target))
    write_hub_folder(model, tmp_path / "model")
    assert all(b"secret" not in path.read_bytes() for path in (tmp_path / "model").iterdir())
    assert model.training.checkpoint_dir == tmp_path / "secret"


class Hub(BaseHTTPRequestHandler):
    """As much of the hub's interface as its client uses to make, fill and read a repository."""

    repositories: dict[str, dict[str, bytes]]
    requests: list[str]

    def log_message(self, *_):
        pass

    def answer(self, content, status=200, **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_POST(self):
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            content = b""
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        self.requests.append(f"POST {self.path}")
        if self.path == "/api/repos/create":
            wanted = json.loads(content)
            name = f"{wanted.get('organization') or 'user'}/{wanted['name']}"
            self.repositories.setdefault(name, {})
            self.answer({"url": f"http://{self.headers['Host']}/{name}"})
        elif self.path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            names = [file["path"] for file in json.loads(content)["files"]]
            modes = [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]
            self.answer({"files": modes})
        elif "/commit/" in self.path:
            name = "/".join(self.path.split("/")[3:5])
            for line in content.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    value = entry["value"]
                    self.repositories[name][value["path"]] = base64.b64decode(value["content"])
            self.answer({"commitUrl": f"http://{self.headers['Host']}/{name}/commit/{OID}", "commitOid": OID})
        else:
            self.answer({"error": "not here"}, 404)

    def do_GET(self):
        self.requests.append(f"{self.command} {self.path}")
        path = unquote(self.path.split("?")[0]).split("/")
        name, files = "/".join(path[3:5]), None
        if path[1] == "api":
            files = self.repositories.get(name)
        if files is not None and len(path) > 6 and path[6] not in ("main", "v1", OID):
            self.answer({"error": "Revision Not Found"}, 404, X_Error_Code="RevisionNotFound")
        elif files is not None and "/tree/" in self.path:
            self.answer([{"type": "file", "path": file, "size": len(files[file]), "oid": "0"} for file in files])
        elif files is not None:
            self.answer({"id": name, "modelId": name, "sha": OID, "siblings": [{"rfilename": file} for file in files]})
        elif path[1] != "api" and path[-1] in self.repositories.get("/".join(path[1:3]), {}):
            content = self.repositories["/".join(path[1:3])][path[-1]]
            self.answer(content, ETag=f'"{hashlib.sha1(content).hexdigest()}"', X_Repo_Commit=OID)
        else:
            self.answer({"error": "Repository not found"}, 404, X_Error_Code="RepoNotFound")

    def do_HEAD(self):
        self.do_GET()


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A hub on this machine, at which the client looks."""
    handler = type("Handler", (Hub,), {"repositories": {}, "requests": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    constants = huggingface_hub.constants
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    yield handler
    server.shutdown()
    server.server_close()


def test_a_model_comes_back_from_the_hub_as_it_went(hub, fitted, tmp_path):
    X = draw_table(seed=1)[0]
    assert push_to_hub(fitted, "user/knees", license="mit", token="hf_token") == OID
    assert hub.repositories["user/knees"].keys() == FILES
    loaded = load_from_hub("user/knees", cache_dir=tmp_path / "fetched")
    assert (loaded.predict_proba(X) == fitted.predict_proba(X)).all()
    assert not any(request.endswith("README.md") for request in hub.requests)
    fetched = len(hub.requests)
    for name in ("hf://user/knees", f"hf://user/knees@{OID}"):
        again = load_from_hub(name, cache_dir=tmp_path / "fetched", local_files_only=True)
        assert (again.transform(X) == fitted.transform(X)).all()
    assert len(hub.requests) == fetched


def test_code_in_a_repository_is_neither_fetched_nor_run(hub, fitted, tmp_path):
    push_to_hub(fitted, "user/knees", token="hf_token")
    files = hub.repositories["user/knees"]
    trap = pickle.dumps(Trap(tmp_path / "sprung"))
    files |= {"modeling.py": f"open({str(tmp_path / 'sprung')!r}, 'w')".encode(), "model.pkl": trap}
    load_from_hub("user/knees", cache_dir=tmp_path / "fetched")
    assert not list((tmp_path / "fetched").rglob("model*.p*"))
    files["weights.safetensors"] = trap
    with pytest.raises(OrdinateError, match="damaged"):
        load_from_hub("user/knees", cache_dir=tmp_path / "other")
    assert not (tmp_path / "sprung").exists()


def test_what_is_not_on_the_hub_is_named(hub, fitted):
    with pytest.raises(OrdinateError, match="repo_id: user/knees cannot be loaded: RepositoryNotFoundError"):
        load_from_hub("user/knees")
    push_to_hub(fitted, "user/knees", token="hf_token")
    with pytest.raises(OrdinateError, match="repo_id: user/knees cannot be loaded: RevisionNotFoundError"):
        load_from_hub("user/knees", revision="v9")
    with pytest.raises(OrdinateError, match="repo_id: user/other cannot be loaded: LocalEntryNotFoundError"):
        load_from_hub("user/other", local_files_only=True)
    with pytest.raises(OrdinateError, match="repo_id: a/b/c cannot be loaded: HFValidationError"):
        load_from_hub("a/b/c")
    with pytest.raises(OrdinateError, match="revision: got 'v2' beside the one in 'hf://user/knees@v1'"):
        load_from_hub("hf://user/knees@v1", revision="v2")


@pytest.mark.parametrize(
    ("name", "revision", "asked"),
    [("user/a", None, None), ("user/a", "v1", "v1"), ("hf://user/a", None, None), ("hf://user/a@v1", None, "v1")],
)
def test_the_revision_asked_for_is_the_one_fetched(name, revision, asked, fitted, tmp_path, monkeypatch):
    write_hub_folder(fitted, tmp_path / "model")
    download = create_autospec(huggingface_hub.HfApi.snapshot_download, return_value=str(tmp_path / "model"))
    monkeypatch.setattr(huggingface_hub.HfApi, "snapshot_download", download)
    load_from_hub(name, revision=revision)
    assert download.call_args.args[1:] == ("user/a",)
    assert download.call_args.kwargs["revision"] == asked
    assert set(download.call_args.kwargs["allow_patterns"]) == FILES - {"README.md"}


def test_an_upload_goes_where_it_is_told(fitted, monkeypatch):
    create = create_autospec(huggingface_hub.HfApi.create_repo)
    upload = create_autospec(huggingface_hub.HfApi.upload_folder)
    upload.return_value.oid = OID
    monkeypatch.setattr(huggingface_hub.HfApi, "create_repo", create)
    monkeypatch.setattr(huggingface_hub.HfApi, "upload_folder", upload)
    assert push_to_hub(fitted, "user/a", private=True, revision="next", commit_message="better") == OID
    assert create.call_args.kwargs == {"private": True, "exist_ok": True}
    wanted = {"repo_id": "user/a", "revision": "next", "commit_message": "better"}
    assert wanted.items() <= upload.call_args.kwargs.items()


def test_a_package_that_is_missing_is_named(fitted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for use in (lambda: push_to_hub(fitted, "user/a"), lambda: load_from_hub("user/a")):
        with pytest.raises(
            OrdinateError, match=r'hub: got no huggingface_hub, expected it: pip install "ordinate\[hub\]"'
        ):
            use()
