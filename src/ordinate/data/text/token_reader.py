"""From texts to tokens of a transformer, or to its sentence embeddings where it is frozen."""

import copy
import hashlib

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from ordinate.counts import counted
from ordinate.data.saved_fields import JsonObject
from ordinate.data.text.options import TextOptions
from ordinate.data.text.reader import TextReader
from ordinate.data.text.samples import Texts
from ordinate.data.text.transformer import MeanPooledTransformer, Pretrained, load_pretrained
from ordinate.encoders.given import Encoder
from ordinate.randomness import own_random_numbers

_embedded: dict[tuple[str, str], Tensor] = {}  # The key is the transformer and the text, so each is computed once.


class TokenReader(TextReader):
    """Give every token its number plus 1, 0 being padding; of a frozen transformer, sentence embeddings."""

    kind = "tokens"

    def __init__(self, pretrained: Pretrained, frozen: bool, per_sample: int, max_length: int) -> None:
        from tokenizers import Tokenizer

        self.pretrained = pretrained
        self.frozen = frozen
        self.per_sample = per_sample
        self.max_length = max_length
        self.notes: list[str] = []
        self._tokenizer = Tokenizer.from_str(pretrained.tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_length)
        self._digest = ""

    @classmethod
    def fit(cls, texts: Texts, options: TextOptions, encoder: str) -> "TokenReader":
        """Load the transformer that the name of an encoder says."""
        pretrained = load_pretrained(encoder)
        max_length = min(options.max_length, pretrained.max_length)
        reader = cls(pretrained, options.frozen, texts.per_sample, max_length)
        flat = texts.flat
        cut = sum(len(encoding.overflowing) > 0 for encoding in reader._tokenizer.encode_batch(flat))
        if cut:
            most = counted(max_length, "token")
            reader.notes.append(f"text: {cut:,} of {counted(len(flat), 'text')} have more than {most}, and are cut")
        return reader

    def transform(self, texts: Texts) -> Tensor:
        """Return tokens (n, k, max_length), int32; of a frozen transformer sentence embeddings (n, k, w), float32."""
        if not self.frozen:
            return self._tokens(texts.flat).reshape(len(texts), *self.sample_shape)
        self._digest = self._digest or self._fingerprint()
        if len(_embedded) > 100_000:  # The cache of a process must not grow without end.
            _embedded.clear()
        flat = texts.flat
        new = sorted({text for text in flat if (self._digest, text) not in _embedded})
        new.sort(key=len)  # Batches of similar lengths need little padding.
        network = self.pretrained.network.eval()
        device = torch.device("cpu")
        if self.on_gpu and torch.cuda.is_available():
            device = torch.device("cuda")
        network.to(device)
        at_once = 64
        parts = [new[start : start + at_once] for start in range(0, len(new), at_once)]
        with torch.no_grad():
            for part in tqdm(parts, desc="embedding texts", disable=not self.progress, leave=False):
                tokens = self._tokens(part)
                tokens = tokens[:, : int((tokens > 0).sum(dim=1).max())]
                for text, embedding in zip(part, network(tokens.to(device)).cpu(), strict=True):
                    _embedded[self._digest, text] = embedding.clone()
        network.cpu()
        return torch.stack([_embedded[self._digest, text] for text in flat]).reshape(len(texts), *self.sample_shape)

    def sentence_encoder(
        self, encoder: Encoder, embedding_dim: int | None, options: TextOptions
    ) -> tuple[nn.Module | None, int]:
        network = self.pretrained.network
        return None if self.frozen else copy.deepcopy(network), network.width

    def blank(self, n: int) -> Tensor:
        return super().blank(n).to(torch.float32 if self.frozen else torch.int32)

    @property
    def sample_shape(self) -> tuple[int, int]:
        return self.per_sample, self.pretrained.network.width if self.frozen else self.max_length

    def tensors(self) -> dict[str, Tensor]:
        # The encoder holds a transformer that is trained.
        return self.pretrained.network.state_dict() if self.frozen else {}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Take the weights that :meth:`tensors` gave."""
        if self.frozen:
            self.pretrained.network.load_state_dict(tensors)

    def to_dict(self) -> JsonObject:
        return {
            "config": self.pretrained.config,
            "tokenizer": self.pretrained.tokenizer,
            "frozen": self.frozen,
            "per_sample": self.per_sample,
            "max_length": self.max_length,
            "notes": self.notes,
        }

    @classmethod
    def from_dict(cls, state: JsonObject) -> "TokenReader":
        with own_random_numbers():  # A new network draws random weights before it loads the saved ones.
            network = MeanPooledTransformer(state["config"]).eval()
        pretrained = Pretrained(network, state["config"], state["tokenizer"], state["max_length"])
        reader = cls(pretrained, state["frozen"], state["per_sample"], state["max_length"])
        reader.notes = state["notes"]
        return reader

    def _tokens(self, texts: list[str]) -> Tensor:
        tokens = np.zeros((len(texts), self.max_length), dtype=np.int32)
        for row, encoding in zip(tokens, self._tokenizer.encode_batch(texts), strict=True):
            ids = encoding.ids or [0]  # A tokenizer may have no token for a blank text.
            row[: len(ids)] = np.asarray(ids) + 1
        return torch.from_numpy(tokens)

    def _fingerprint(self) -> str:
        """Return a digest of everything except the text that determines a sentence embedding."""
        digest = hashlib.sha256(f"{self.max_length} {self.pretrained.config} {self.pretrained.tokenizer}".encode())
        for value in self.pretrained.network.state_dict().values():
            digest.update(value.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()
