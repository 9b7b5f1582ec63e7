"""A vision transformer of a few thousand weights in a folder, as its authors would publish one."""

import json
from pathlib import Path

import torch
from transformers import ViTConfig, ViTModel


def write_vision_network(folder, **options):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = ViTConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=16,
            patch_size=4,
        )  # fmt: skip
        ViTModel(config, **options).save_pretrained(folder)
    processing = {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25]}
    (Path(folder) / "preprocessor_config.json").write_text(json.dumps(processing))
    return str(folder)
