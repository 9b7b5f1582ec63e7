"""Tar shards for tests, in WebDataset's layout."""

import io
import json
import tarfile

from PIL import Image


def write(path, pictures, labels, keys=None, **columns):
    """Write pictures into a shard, their labels as text in ``cls``, or with other columns beside them as ``json``."""
    keys = keys or [f"{path.stem}-{i:03}" for i in range(len(pictures))]
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for i, (key, picture, label) in enumerate(zip(keys, pictures, labels, strict=True)):
            encoded = io.BytesIO()
            Image.fromarray(picture[0]).save(encoded, "png")
            known = {name: values[i] for name, values in columns.items()}
            if known:
                add(tar, f"{key}.json", json.dumps({"grade": label, **known}).encode())
            else:
                add(tar, f"{key}.cls", str(label).encode())
            add(tar, f"{key}.png", encoded.getvalue())
    return path


def add(tar, name, content):
    """Add a file to a tar."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, io.BytesIO(content))
