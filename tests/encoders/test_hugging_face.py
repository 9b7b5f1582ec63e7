"""Networks of transformers for images: whole weights, their normalisation, none of their code."""

import json
from pathlib import Path

import pytest
import torch

from ordinate.encoders.hugging_face import VisionNetwork, load_vision_network
from ordinate.errors import OrdinateError
from tests.data.small_vision import write_vision_network

pytest.importorskip("transformers")
from safetensors.torch import load_file, save_file

IMAGES = torch.rand(2, 3, 16, 16)


@pytest.fixture
def folder(tmp_path):
    return Path(write_vision_network(tmp_path / "vit"))


def test_a_folder_gives_the_network_of_its_authors(folder):
    from transformers import AutoModel

    found = load_vision_network(f"hf:{folder}").eval()
    assert found.pretrained_cfg == {"mean": [0.5] * 3, "std": [0.25] * 3}
    expected = AutoModel.from_pretrained(folder).eval()
    torch.testing.assert_close(found(IMAGES).pooler_output, expected(IMAGES).pooler_output)


def test_the_configuration_makes_it_again(folder):
    found = load_vision_network(f"hf:{folder}").eval()
    again = VisionNetwork(json.loads(json.dumps(found.config))).eval()
    again.load_state_dict(found.state_dict())
    torch.testing.assert_close(again(IMAGES).pooler_output, found(IMAGES).pooler_output)
    assert str(folder) not in json.dumps(found.config)


def drop(folder, prefix):
    path = folder / "model.safetensors"
    weights = load_file(path)
    save_file({name: value for name, value in weights.items() if not name.startswith(prefix)}, path, {"format": "pt"})


def test_a_pooler_without_weights_is_left_out(folder):
    drop(folder, "pooler.")
    found = load_vision_network(f"hf:{folder}").eval()
    assert found(IMAGES).pooler_output is None
    again = VisionNetwork(found.config)
    again.load_state_dict(found.state_dict())


def test_other_weights_that_are_missing_are_an_error(folder):
    drop(folder, "layernorm.")
    with pytest.raises(OrdinateError, match=r"encoder: 'hf:.*vit' lacks weights of ViTModel, such as layernorm\.bias"):
        load_vision_network(f"hf:{folder}")


def test_no_code_of_a_folder_is_run(folder, tmp_path):
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "of_its_own", "auto_map": {"AutoConfig": "code.Config", "AutoModel": "code.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    with pytest.raises(OrdinateError, match=r"encoder: 'hf:.*vit' cannot be loaded"):
        load_vision_network(f"hf:{folder}")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["hf:", "hf:./nothing", "hf:/nothing/here", "hf:~/nothing"])
def test_a_folder_that_is_not_there_is_an_error(name):
    with pytest.raises(OrdinateError, match=f"encoder: got '{name}', expected a folder with a config.json"):
        load_vision_network(name)


HOSTILE = {
    "a fetched kernel": {"attn_implementation": "kernels-community/flash-attn"},
    "one inside": {"vision_config": {"_attn_implementation_internal": "kernels-community/flash-attn"}},
    "code of its own": {"auto_map": {"AutoModel": "modeling.Network"}},
    "another quantization": {"quantization_config": {"quant_method": "custom"}},
    "weights of a hub": {"backbone": "microsoft/resnet-50"},
    "a network of another library": {"model_type": "timm_wrapper", "architecture": "hf-hub:someone/network"},
    "a type that is none": {"model_type": "mine"},
}


@pytest.mark.parametrize("changed", HOSTILE.values(), ids=HOSTILE)
def test_a_saved_configuration_names_nothing_elsewhere(folder, changed, monkeypatch):
    config = load_vision_network(f"hf:{folder}").config
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("asked the network"))
    with pytest.raises(OrdinateError, match=r"model: got .* network.*, expected "):
        VisionNetwork(config | changed)


def test_keys_that_its_class_does_not_know_are_left_out(folder):
    config = load_vision_network(f"hf:{folder}").config
    assert not hasattr(VisionNetwork(config | {"unheard_of": 1}).network.config, "unheard_of")
