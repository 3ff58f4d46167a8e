"""What the published matching attacks recover of one digit, with and without noise, beside the prior.

One 8×8 image of each class, one gradient each at a random point, Gaussian noise of the given deviation on every
entry; the median PSNR in dB over the ten images. `prior` says the mean of 1,597 other images, whatever was seen.
"""

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from attacks.estimates import Evidence
from attacks.reconstruction import Attack, Case, Known, Prior
from attacks.reconstruction.gradient_inversion import DLG, IDLG, GradInversion, InvertingGradients
from netsim.arrays import Array
from netsim.models import MLP, Model, Softmax
from netsim.problems import load

MODELS: tuple[Model, ...] = (Softmax(64, 10), MLP((64, 32, 10)), MLP((64, 64, 10), "relu"))
ATTACKS: dict[str, Attack] = {
    "dlg": DLG(),
    "idlg": IDLG(),
    "inverting_gradients": InvertingGradients(),
    "inverting_gradients, α = 0.001": InvertingGradients(variation=0.001),
    "grad_inversion": GradInversion(),
}


def psnr(image: Array, record: Array) -> float:
    """In dB, of values in [0, 1]."""
    return -10 * float(np.log10(max(float(np.mean((image - record) ** 2)), 1e-30)))


def seen(model: Model, record: Array, label: float, stddev: float, rng: np.random.Generator) -> Case:
    theta = rng.uniform(-1, 1, model.dimension) / np.sqrt(model.width)
    gradient = model.gradient(theta, record[None], model.targets(np.array([label])))
    gradient = gradient + stddev * rng.standard_normal(model.dimension)
    covariance = np.full((1, 1, model.dimension), stddev**2)
    evidence = Evidence(int(label), (0,), theta[None, None], gradient[None, None], covariance)
    return Case(evidence, Known(model, 1, value_range=(0.0, 1.0), image_shape=(8, 8)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--noise", type=float, nargs="*", default=[0.0, 0.01, 0.1, 0.5])
    levels = parser.parse_args().noise
    data = load("digits", classes=tuple(range(10)))
    rows = [int(np.flatnonzero(data.labels == c)[0]) for c in range(10)]
    prior = Prior.of(data.features[200:], data.labels[200:]).overall
    print("| model | attack | " + " | ".join(f"noise {s:g}" for s in levels) + " |")
    print("|---|---|" + "---|" * len(levels))
    for model in MODELS:
        name = f"{model.name} {getattr(model, 'activation', '')}".strip()
        for title, attack in ATTACKS.items():
            cells: list[str] = []
            for stddev in levels:
                rng = np.random.default_rng(1)
                cases = [seen(model, data.features[r], data.labels[r], stddev, rng) for r in rows]
                answers = attack.reconstruct(cases, np.random.default_rng(0))
                found = [psnr(a.features[0, 0], data.features[r]) for a, r in zip(answers, rows, strict=True)]
                cells.append(f"{np.median(found):.1f}")
            print(f"| {name} | {title} | " + " | ".join(cells) + " |", flush=True)
    said = np.median([psnr(prior, data.features[r]) for r in rows])
    print(f"| any | prior | {' | '.join([f'{said:.1f}'] * len(levels))} |")


if __name__ == "__main__":
    main()
