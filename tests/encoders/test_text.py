import pytest
import torch
from torch import nn

from ordinate.encoders.text import TextEncoder, pair_features
from ordinate_papers.words.networks import BiLSTM

VECTORS = torch.cat([torch.zeros(1, 5), torch.randn(8, 5, generator=torch.Generator().manual_seed(0))])
TEXTS = [[3, 1, 4, 1, 5], [2], [6, 2, 8]]


def padded(texts, length):
    return torch.tensor([text + [0] * (length - len(text)) for text in texts], dtype=torch.int32)


def of_texts(seed=0):
    torch.manual_seed(seed)
    return BiLSTM(VECTORS, hidden=4).eval()


def test_the_embedding_of_a_sample_does_not_depend_on_its_batch():
    encoder = TextEncoder(of_texts(), width=8, per_sample=2, embedding_dim=3).eval().double()
    pairs = padded([TEXTS[0], TEXTS[1], TEXTS[1], TEXTS[2]], 12).reshape(2, 2, 12)
    alone = torch.cat([encoder(pair[None]) for pair in pairs])
    torch.testing.assert_close(encoder(pairs), alone, rtol=0, atol=1e-12)
    assert not torch.allclose(alone[0], alone[1])


def test_samples_that_are_vectors_pass_no_sentence_encoder():
    pair = TextEncoder(None, width=6, per_sample=2, embedding_dim=3).eval()
    vectors = torch.randn(4, 2, 6)
    torch.testing.assert_close(pair(vectors), pair.embedding(pair_features(vectors[:, 0], vectors[:, 1])))
    single = TextEncoder(None, width=6, per_sample=1, embedding_dim=3).eval()
    torch.testing.assert_close(single(vectors[:, :1]), single.embedding(vectors[:, 0]))


class Transformer(nn.Module):
    """A sentence encoder with dropout, as transformers have it."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 8)
        self.dropout = nn.Dropout(0.5)

    def forward(self, tokens):
        return self.dropout(self.words(tokens)).mean(dim=1)


@pytest.mark.parametrize("make", [lambda: BiLSTM(VECTORS, hidden=4), Transformer])
def test_the_texts_of_a_pair_have_no_dropout_of_their_own_in_training(make):
    encoder = TextEncoder(make(), width=8, per_sample=2, embedding_dim=3)
    seen = []
    encoder.embedding.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))
    same = padded([TEXTS[0], TEXTS[0]], 6).reshape(1, 2, 6)
    for training in (True, False, True):
        encoder.train(training)(same)
    for features in seen:
        assert torch.equal(features, seen[0])
        assert not features[:, 16:24].any()  # |u - v|
    assert encoder.embedding[0].training
    seen[-1].sum().backward()
    assert sum(weights.grad.abs().sum() for weights in encoder.sentences.parameters() if weights.grad is not None) > 0


def test_a_single_text_has_dropout_in_training():
    encoder = TextEncoder(BiLSTM(VECTORS, hidden=4), width=8, per_sample=1, embedding_dim=3)
    assert encoder.sentences.dropout.training
    assert not encoder.eval().sentences.dropout.training
