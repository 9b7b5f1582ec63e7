"""
Images from a folder
====================

This example trains on images in a folder with a csv file of their grades. The images are drawn here: discs with more
and more spots. X is a list of paths.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from PIL import Image, ImageDraw

from ordinate import ImageOptions, OTDClassifier
from ordinate_papers.figures import plots

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp())


def draw(grade):
    """Draw a disc of 32 x 32 pixels with about 2, 6, 10 or 14 spots."""
    image = Image.new("RGB", (32, 32), (30, 30, 40))
    pen = ImageDraw.Draw(image)
    pen.ellipse((2, 2, 29, 29), fill=tuple(int(channel) for channel in rng.integers(120, 200, 3)))
    for _ in range(2 + 4 * grade + rng.integers(-1, 2)):
        angle, radius = rng.uniform(0, 2 * np.pi), 11 * np.sqrt(rng.uniform())
        x, y = 16 + radius * np.cos(angle), 16 + radius * np.sin(angle)
        pen.ellipse((x - 1, y - 1, x + 1, y + 1), fill=(60, 20, 20))
    return image


labels = pd.DataFrame({"path": [f"{i:03}.png" for i in range(320)], "grade": rng.integers(0, 4, 320)})
for row in labels.itertuples():
    draw(row.grade).save(folder / row.path)
labels.to_csv(folder / "labels.csv", index=False)

figure, grid = plt.subplots(2, 8, figsize=(8, 2.4), layout="constrained")
for axes, row in zip(grid.T.flat, labels.sort_values("grade").iloc[::20].itertuples(), strict=True):
    axes.imshow(Image.open(folder / row.path))
    axes.set_title(f"grade {row.grade}", fontsize=8)
    axes.axis("off")

# %%
# On the command line, ``ordinate fit folder --target grade`` trains on this folder. In Python:

paths = [folder / path for path in labels.path]
train, test = slice(0, 240), slice(240, None)
model = OTDClassifier(
    encoder="test_resnet", epochs=25, data=ImageOptions(augmentation="none", workers=0), random_state=0
).fit(paths[train], labels.grade[train])
print(f"accuracy on {len(paths[test])} test images: {model.score(paths[test], labels.grade[test]):.2f}")

# %%
# ``test_resnet`` is the smallest network of timm, so that this page builds in seconds. For real images use
# ``resnet18``, or leave ``encoder`` out. OTD arranges the ranks on a half circle, and the test images lie along it:

plots.embedding(model.transform(paths[test]), labels.grade[test].to_numpy(), ["0", "1", "2", "3"])

# %%
plots.cosine_matrix(model.transform(paths[test]), labels.grade[test].to_numpy(), ["0", "1", "2", "3"])
