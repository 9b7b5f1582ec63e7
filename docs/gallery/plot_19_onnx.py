"""
Export to ONNX
==============

A fitted model becomes one graph that runs without PyTorch and without Ordinate. Its inputs are prepared samples, its
outputs embeddings, probabilities and the predicted rank. It is checked against the model before it is written.
"""

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd
from skordinal.datasets import load_esl

from ordinate import CLOCClassifier

# ESL: the suitability of candidates for a job, from four test results.
data = load_esl()
X, y = pd.DataFrame(data.data, columns=["test1", "test2", "test3", "test4"]), data.target
frequent = pd.Series(y).map(pd.Series(y).value_counts()).ge(10).to_numpy()
X, y = X[frequent], y[frequent]
model = CLOCClassifier(epochs=(20, 60), random_state=0).fit(X, y)

exported = model.export(Path(tempfile.mkdtemp()) / "applicants.onnx")
print(f"{exported.path.name}: {exported.path.stat().st_size / 1024:.0f} KiB, input {exported.input_shape}")
for output, difference in exported.differences.items():
    print(f"{output:12} differs from the model by at most {difference:.1e}")

# %%
# The JSON file next to the graph describes how a raw row becomes the graph's input, so that any programming language
# can prepare it:

description = json.loads(exported.description.read_text())
list(description)

# %%
# In Python, ``model.reader_`` prepares the rows, and ONNX Runtime runs the graph.

session = onnxruntime.InferenceSession(exported.path)
samples = np.asarray(model.reader_.transform(X), dtype=np.float32)
names = [output.name for output in session.get_outputs()]
outputs = dict(zip(names, session.run(None, {"samples": samples}), strict=True))
assert (model.ordered_classes_[outputs["rank"]] == model.predict(X)).all()

# %%
# The figure varies the first test result of one candidate. Lines are the model's probabilities, circles those of the
# graph.

varied = pd.DataFrame([X.median()] * 25).assign(test1=np.linspace(X.test1.min(), X.test1.max(), 25))
ours = model.rank_probabilities(varied)
prepared = np.asarray(model.reader_.transform(varied), dtype=np.float32)
theirs = session.run(["probability"], {"samples": prepared})[0]

figure, axes = plt.subplots()
colours = plt.get_cmap("viridis")(np.linspace(0, 0.95, ours.shape[1]))
for rank, colour in enumerate(colours):
    axes.plot(varied.test1, ours[:, rank], color=colour, label=f"{model.ordered_classes_[rank]}")
    axes.plot(varied.test1, theirs[:, rank], "o", color=colour, markerfacecolor="none", markersize=5)
axes.set(title="Model (lines) and graph (circles)", xlabel="first test result", ylabel="probability of the rank")
axes.legend(title="rank", loc="center left", bbox_to_anchor=(1, 0.5))
