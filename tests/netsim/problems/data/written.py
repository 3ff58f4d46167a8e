"""Tiny data sets in the layouts of the published ones, written by a test into a folder of its own."""

import bz2
import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image


def idx(values: np.ndarray) -> bytes:
    """The bytes of an IDX file of unsigned bytes."""
    head = bytes((0, 0, 8, values.ndim)) + b"".join(int(n).to_bytes(4, "big") for n in values.shape)
    return head + values.astype(np.uint8).tobytes()


def images(records: int = 30, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """28×28 images and their ten classes, in turn."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (records, 28, 28)), np.arange(records) % 10


def mnist_files(pixels: np.ndarray, labels: np.ndarray, prefix: str = "train") -> dict[str, bytes]:
    return {
        f"{prefix}-images-idx3-ubyte.gz": gzip.compress(idx(pixels)),
        f"{prefix}-labels-idx1-ubyte.gz": gzip.compress(idx(labels)),
    }


def write(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def tarred(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def cifar_binary(seed: int = 0) -> tuple[bytes, dict[str, np.ndarray]]:
    """CIFAR-10's binary archive with ten images a batch, and the (10, 3073) rows of each."""
    rng = np.random.default_rng(seed)
    names = [f"data_batch_{k}.bin" for k in range(1, 6)] + ["test_batch.bin"]
    rows = {name: rng.integers(0, 256, (10, 3073)).astype(np.uint8) for name in names}
    for values in rows.values():
        values[:, 0] = np.arange(10)
    return tarred({f"cifar-10-batches-bin/{name}": values.tobytes() for name, values in rows.items()}), rows


def cifar_jpegs() -> bytes:
    """Three cats and two dogs for training, one of each to test: every image of one colour."""
    members: dict[str, bytes] = {}
    for part, animal, shades in (
        ("train", "cat", (10, 20, 30)),
        ("train", "dog", (200, 210)),
        ("test", "cat", (40,)),
        ("test", "dog", (220,)),
    ):
        for number, shade in enumerate(shades):
            buffer = io.BytesIO()
            Image.new("RGB", (32, 32), (shade, shade, 255 - shade)).save(buffer, "JPEG", quality=95)
            members[f"{part}/{animal}/{number:04d}.jpg"] = buffer.getvalue()
    return tarred(members)


ADULT = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, \
United-States, <=50K
50, Private, 83311, Bachelors, 13, Divorced, Sales, Husband, White, Male, 0, 0, 13, United-States, >50K
38, ?, 215646, HS-grad, 9, Divorced, ?, Not-in-family, White, Male, 0, 0, 40, United-States, <=50K
28, Private, 338409, Masters, 14, Divorced, Sales, Wife, Black, Female, 0, 0, 40, Cuba, >50K

"""
ADULT_TEST = """\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Sales, Husband, Black, Male, 0, 0, 40, United-States, <=50K.
99, Private, 89814, Masters, 9, Divorced, Sales, Husband, White, Male, 0, 0, 50, United-States, >50K.

"""


def svmlight(features: np.ndarray, labels: np.ndarray) -> bytes:
    lines = [
        f"{label:g} " + " ".join(f"{k + 1}:{value!r}" for k, value in enumerate(row.tolist()) if value)
        for row, label in zip(features, labels, strict=True)
    ]
    return bz2.compress(("\n".join(lines) + "\n").encode())


def covtype_rows(records: int = 12, seed: int = 0) -> np.ndarray:
    """Ten numeric columns, 44 of zeros and ones, a type from 1 to 7."""
    rng = np.random.default_rng(seed)
    binary = rng.integers(0, 2, (records, 44))
    return np.hstack([rng.integers(-50, 4000, (records, 10)), binary, 1 + np.arange(records)[:, None] % 7])


def comma(rows: np.ndarray) -> str:
    return "\n".join(",".join(f"{value:g}" for value in row) for row in rows) + "\n"
