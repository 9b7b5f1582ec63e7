"""The losses in SentenceTransformerTrainer: pairs with scores, sentences with labels, heads and margins."""

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments

from ordinate import functional
from ordinate.adapters import SentenceLoss
from ordinate.encoders.text import TextEncoder
from ordinate.errors import OrdinateError
from ordinate.losses import MMNPLoss, SupCRLoss, SupReMixLoss
from tests.data.small_transformer import write_transformer

TEXTS = ["a dog runs", "a cat sleeps", "rain again", "a red car", "a cat runs", "red rain", "a car", "again a dog"]
OTHERS = ["a dog sleeps", "a cat", "a red car", "a car runs", "a cat again", "rain", "a dog", "a dog again"]
SCORES = [4.0, 3.5, 0.0, 4.5, 4.8, 3.0, 0.5, 5.0]


@pytest.fixture
def model(tmp_path):
    model = SentenceTransformer(write_transformer(tmp_path), device="cpu").double()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return model


def supremix():
    return SupReMixLoss(temperature=0.5, window=2.0, mix_negatives=False)


def train(model, columns, loss, folder, **options):
    settings = {
        "per_device_train_batch_size": 8, "num_train_epochs": 1, "learning_rate": 0.1, "lr_scheduler_type": "constant",
        "optim": "sgd", "max_grad_norm": 0, "logging_steps": 1, "report_to": [], "use_cpu": True,
        "save_strategy": "no", "disable_tqdm": True,
    }  # fmt: skip
    args = SentenceTransformerTrainingArguments(str(folder), **settings | options)
    trainer = SentenceTransformerTrainer(model, args, train_dataset=Dataset.from_dict(columns), loss=loss)
    trainer.train()
    return [step["loss"] for step in trainer.state.log_history if "loss" in step]


def vectors(model, texts):
    return model(model.preprocess(texts))["sentence_embedding"]


def test_pairs_are_trained_by_the_loss_of_their_pair_features(model, tmp_path):
    u, v = vectors(model, TEXTS), vectors(model, OTHERS)
    pairs = torch.cat([u, v, (u - v).abs(), u * v], 1)
    expected = functional.supremix(pairs, torch.tensor(SCORES), temperature=0.5, window=2.0, mix_negatives=False)
    words = model[0].auto_model.embeddings.word_embeddings.weight
    (gradient,) = torch.autograd.grad(expected, words)
    before = words.detach().clone()
    columns = {"first": TEXTS, "second": OTHERS, "score": SCORES}
    (logged,) = train(model, columns, SentenceLoss(model, supremix()), tmp_path)
    assert logged == pytest.approx(expected.item(), rel=1e-6)  # the trainer logs float32
    torch.testing.assert_close(words.detach(), before - 0.1 * gradient, rtol=0, atol=1e-12)


def test_single_sentences_are_trained_by_the_loss_of_their_labels_and_margins_have_no_decay(model, tmp_path):
    ranks = [0, 1, 2, 0, 1, 2, 0, 1]
    loss = SentenceLoss(model, MMNPLoss(3).double())
    raw = next(parameter for name, parameter in loss.named_parameters() if name.endswith("raw"))
    before, words = raw.detach().clone(), model[0].auto_model.embeddings.word_embeddings.weight
    words_before = words.detach().clone()
    expected = functional.mmnp(vectors(model, TEXTS), torch.tensor(ranks), torch.nn.functional.softplus(raw))
    gradients = torch.autograd.grad(expected, [raw, words])
    (logged,) = train(model, {"text": TEXTS, "label": ranks}, loss, tmp_path, weight_decay=0.5)
    assert logged == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(raw.detach(), before - 0.1 * gradients[0], rtol=0, atol=1e-12)
    decayed = words_before - 0.1 * (gradients[1] + 0.5 * words_before)
    torch.testing.assert_close(words.detach(), decayed, rtol=0, atol=1e-12)


def test_a_head_is_trained_too_and_the_estimators_head_fits(model, tmp_path):
    head = TextEncoder(None, 16, per_sample=2, embedding_dim=4).double()
    loss = SentenceLoss(model, SupCRLoss(), head)
    before = [parameter.detach().clone() for parameter in head.parameters()]
    train(model, {"first": TEXTS, "second": OTHERS, "score": SCORES}, loss, tmp_path)
    assert not any(torch.equal(*both) for both in zip(before, head.parameters(), strict=True))
    model.eval()  # and with it the head, which has dropout
    features = [model.preprocess(texts) for texts in (TEXTS, OTHERS)]
    value = loss(features, torch.tensor(SCORES))
    embeddings = head.eval()(torch.stack([vectors(model, TEXTS), vectors(model, OTHERS)], 1))
    torch.testing.assert_close(value, functional.supcr(embeddings, torch.tensor(SCORES)), rtol=1e-12, atol=0)


def test_more_than_two_texts_have_no_embedding(model):
    with pytest.raises(
        OrdinateError, match="train_dataset: got 3 columns of texts, expected one, or the two of a pair"
    ):
        SentenceLoss(model, SupCRLoss())([model.preprocess(TEXTS)] * 3, torch.tensor(SCORES))
