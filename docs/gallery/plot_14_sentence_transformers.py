"""
Losses in sentence-transformers
===============================

``SentenceLoss`` trains a ``SentenceTransformer`` with ``SentenceTransformerTrainer``, on pairs with scores or, in this
example, on sentences with labels. The model is a tiny random transformer that the script creates, so nothing is
downloaded.
"""

import tempfile

import matplotlib.pyplot as plt
import numpy as np
import torch
from datasets import Dataset, disable_progress_bars
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from ordinate.adapters import SentenceLoss
from ordinate.losses import SupCRLoss
from ordinate.metrics import distance_rank_correlation

disable_progress_bars()

# %%
# The data are reviews whose stars follow from their words:

STARS = {"awful": 1, "poor": 2, "fair": 3, "good": 4, "splendid": 5}
FILLERS = ["the", "food", "staff", "room", "view", "was", "and", "rather", "really"]
rng = np.random.default_rng(0)


def write_review():
    words = list(rng.choice(list(STARS), 2))
    return " ".join(rng.permutation(words + list(rng.choice(FILLERS, 5)))), float(
        np.mean([STARS[word] for word in words])
    )


texts, stars = zip(*[write_review() for _ in range(480)], strict=True)
print(texts[0], "→", stars[0])

# %%
# The script creates a transformer with a few thousand weights and its tokenizer:

folder = tempfile.mkdtemp()
vocabulary = ["[PAD]", "[UNK]", *STARS, *FILLERS]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
PreTrainedTokenizerFast(
    tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=16
).save_pretrained(folder)
torch.manual_seed(0)
BertModel(
    BertConfig(
        vocab_size=len(vocabulary), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )
).save_pretrained(folder)  # fmt: skip
model = SentenceTransformer(folder, device="cpu")


def embed():
    return model.encode(list(texts[400:]), show_progress_bar=False)


# %%
# SupCR trains the model on 400 reviews with the trainer of sentence-transformers.

before = embed()
arguments = SentenceTransformerTrainingArguments(
    tempfile.mkdtemp(), per_device_train_batch_size=50, num_train_epochs=8, learning_rate=3e-3, use_cpu=True,
    save_strategy="no", report_to=[], disable_tqdm=True, logging_strategy="no", dataloader_drop_last=True,
)  # fmt: skip
data = Dataset.from_dict({"text": list(texts[:400]), "label": list(stars[:400])})
SentenceTransformerTrainer(model, arguments, train_dataset=data, loss=SentenceLoss(model, SupCRLoss())).train()
after = embed()

# %%
# The embeddings of 80 test reviews before and after training:

figure, grid = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
for axes, (name, embedded) in zip(grid, {"before": before, "after": after}.items(), strict=True):
    centred = embedded - embedded.mean(0)
    points = centred @ np.linalg.svd(centred)[2][:2].T
    marks = axes.scatter(*points.T, c=stars[400:], s=16)
    order = distance_rank_correlation(embedded, np.array(stars[400:]))
    axes.set(title=f"{name}: correlation of distances {order:.2f}", xlabel="first principal component")
    axes.set_ylabel("second")
figure.colorbar(marks, ax=grid, label="stars")
