"""
Grading knee X-rays
===================

**Question.** A clinic grades knee X-rays for osteoarthritis from 0 (healthy) to 4 (severe). Two radiologists read every
image. Can a model replace one of the two readings, and for which images?

After this tutorial you can train an ordinal classifier on images, read its confusion matrix, show the most similar
training images, and find the images that still need two readings. Real knee X-rays (KOA) may not be redistributed, so
this page draws its own.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

from ordinate import CLOCClassifier, ImageOptions
from ordinate.decisions import rank_coverage
from ordinate.metrics import rank_report
from ordinate.model.neighbour_index import NeighbourIndex
from ordinate_papers.figures import plots
from ordinate_papers.figures.plots import image_search

# %%
# The data
# --------
#
# A joint is two bones with a gap between them. The gap narrows with the severity of the disease, and the edges of the
# bones grow spurs. Position, contrast and noise vary from image to image. Severity is continuous, and a grade covers a
# range of severities, so some images lie near a boundary, as in reality.

rng = np.random.default_rng(0)
row, column = np.mgrid[:32, :32]


def draw(severity):
    """Draw a knee of 32 x 32 pixels; severity is between 0 and 5."""
    centre = 16 + rng.uniform(-2, 2)
    gap = 4.2 - 0.7 * severity + rng.normal(scale=0.1)
    curve = 0.02 * (column - 16 + rng.uniform(-2, 2)) ** 2
    distance = np.abs(row - centre + curve) - gap / 2
    bone = 1 / (1 + np.exp(-3 * distance))
    bone *= 1 / (1 + np.exp(np.abs(column - 16) - 12))
    spur = (
        np.exp(-((column - 4) ** 2 + (row - centre - 3) ** 2) / 6)
        * max(0, severity - 1.5)
        / 3.5
    )
    image = rng.uniform(0.6, 0.9) * np.clip(bone + spur, 0, 1) + rng.normal(
        scale=0.06, size=row.shape
    )
    return (255 * np.clip(image + 0.1, 0, 1)).astype(np.uint8)[None]


severity = rng.uniform(0, 5, 1100)
grades = severity.astype(int)
images = np.stack([draw(value) for value in severity])

figure, grid = plt.subplots(2, 5, figsize=(7.6, 3.4), layout="constrained")
for grade, axes in enumerate(grid.T):
    for one, image in zip(axes, images[grades == grade], strict=False):
        one.imshow(image[0], cmap="gray", vmin=0, vmax=255)
        one.axis("off")
    axes[0].set_title(f"grade {grade}")

# %%
# Train
# -----
#
# The images are split into a training set, a test set, and a calibration set, which the last section needs to measure
# the uncertainty of the predictions. A convolutional network of two layers is enough for such small images; for real
# X-rays use ``encoder="resnet18"`` and ``ImageOptions(pretrained=True, augmentation="koa")``.

torch.manual_seed(0)
network = nn.Sequential(
    nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.BatchNorm2d(16), nn.ReLU(),
    nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
    nn.Flatten(), nn.Linear(2048, 64),
)  # fmt: skip
train, calibration, test = slice(0, 600), slice(600, 850), slice(850, None)
options = ImageOptions(augmentation="none", workers=0)
model = CLOCClassifier(
    encoder=network, epochs=(10, 15), data=options, random_state=0
).fit(images[train], grades[train])

# %%
# How good is the model?
# ----------------------
#
# The confusion matrix shows how far predictions are off: mistakes are almost always between neighbouring grades.

predicted = model.predict(images[test])
report = rank_report(grades[test], predicted, num_classes=5)
accuracy = report["accuracy"]
error = report["mae"]
print(f"accuracy {accuracy:.2f}, mean absolute error {error:.2f} grades")
names = ["0", "1", "2", "3", "4"]
plots.predicted_ranks(grades[test], predicted, names)

# %%
# The embedding, the vector that the network computes for each image, shows why. In this two-dimensional projection the
# test images lie in the order of the grades, and those near a boundary lie where two colours meet.

plots.embedding(model.transform(images[test]), grades[test], names)

# %%
# Can a radiologist check a prediction?
# -------------------------------------
#
# A radiologist trusts a grade more if similar, already graded images support it. The first column shows test images,
# the others their nearest training images. A cross marks neighbours of another grade. The first three test
# images are typical of their grade, the last one lies between the grades 2 and 3.

index = NeighbourIndex.build(model.fitted, images[train], grades[train])
queries = [
    np.abs(severity[test] - value).argmin() for value in (0.5, 2.5, 4.5, 3.0)
]
found = index.search(images[test][queries], k=5)
true = grades[test][queries]
image_search(
    images[test][queries],
    [images[train][rows] for rows in found.rows],
    wrong=found.labels != true[:, None],
    names=[
        [str(grade) for grade in (own, *near)]
        for own, near in zip(true, found.labels, strict=True)
    ],
)

# %%
# Which images need a second reading?
# -----------------------------------
#
# Instead of one grade, the model can predict a set of neighbouring grades that contains the true grade in 90% of cases
# on average. We call the model certain if this prediction set has only one grade.

model.calibrate(images[calibration], grades[calibration])
lowest, highest = model.predict_interval(images[test], coverage=0.9)
coverage = rank_coverage(
    grades[test], np.column_stack([lowest, highest]), num_classes=5
)
certain = lowest == highest
print(f"coverage of the sets: {coverage['coverage']:.2f}")
for name, chosen in {"one grade": certain, "several grades": ~certain}.items():
    accuracy = (predicted == grades[test])[chosen].mean()
    print(f"{name:15} {chosen.mean():4.0%} of the images, accuracy {accuracy:.2f}")

# %%
# Uncertain images are close to a boundary between two grades, where we would expect radiologists to disagree as well.

figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
bins = np.linspace(0, 5, 41)
axes.hist(
    [severity[test][certain], severity[test][~certain]],
    bins=bins,
    stacked=True,
    label=["certain", "uncertain"],
)
for boundary in range(1, 5):
    axes.axvline(boundary, color="0.5", linestyle=":")
axes.set(
    xlabel="true severity; dotted: boundaries between grades", ylabel="test images"
)
axes.legend()

# %%
# **Decision.** The model replaces the second reading where its prediction set has one grade. The other images keep two
# readings. On your own images, choose the coverage according to the cost of a wrong grade, and check the
# coverage and the accuracy of the certain images on data from another hospital.
#
# From the command line, ``fit`` trains CLOC on your images and writes a report, and ``predict`` adds the prediction
# sets (without ``--method``, ``fit`` compares CLOC with another model):
#
# .. code-block:: none
#
#     ordinate fit xrays.zip --target grade --method cloc
#     ordinate predict xrays-model new-images --coverage 0.9 --out grades.csv
