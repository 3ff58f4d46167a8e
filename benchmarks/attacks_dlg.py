"""DLG of one image against the best-known PyTorch toolkit's, side by side in one run.

For each image both get the same model, the same gradient and the same start, N(0, 0.1²) in features and labels; one
thread each; ours and the peer's in turn, image by image; CPU seconds; the medians over images are what to trust. Ours
runs one start with its default limits, in double precision, and counts everything from the evidence to the answer.
The peer is `breaching`'s own attacker with its own "deepleakage" configuration (L-BFGS at learning rate 1, 1200
outer steps, single precision): `_peer_breaching.py` in an environment of its own, which `--peer` names:

    python -m venv PEER; PEER/bin/pip install torch==2.13.0 numpy scipy omegaconf
    PEER/bin/pip install --no-deps breaching==0.1.2
    python -m benchmarks.attacks_dlg --peer PEER/bin/python

Without a peer only our numbers are printed. `stopped` is the peer as somebody could run it who knows beforehand after
which outer step its objective is as low as it ever gets (within 1 %): it stops there, and no configuration does.
`alike` is our search of a LeNet as somebody could run it who knows that too: it stops at its first iterate that is as
near to the image as the peer's answer then is, and is compared with the time of `stopped`. `from_8` is ours with its
default of eight starts against the peer's one.

Images are MNIST's (784) and CIFAR-10's (3072) where `NETSIM_DATA` has them, else digits enlarged; parameters are
drawn as PyTorch draws a new network's, U(±1/√inputs). PSNR in dB, of values in [0, 1].
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from attacks.estimates import Evidence
from attacks.reconstruction import Case, Known
from attacks.reconstruction.gradient_inversion import DLG, SEARCH
from attacks.reconstruction.gradient_matching import Matching
from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.models import MLP, LeNet, Softmax
from netsim.problems import load

Numbers = dict[str, float]
SPREAD, HIDDEN, CLASSES = 0.1, 64, 10
Network = Softmax | MLP | LeNet
MODELS: dict[str, Network] = {
    "softmax_784": Softmax(784, CLASSES),
    "softmax_3072": Softmax(3072, CLASSES),
    "mlp_784": MLP((784, HIDDEN, CLASSES)),
    "mlp_3072": MLP((3072, HIDDEN, CLASSES)),
    "lenet_784": LeNet((28, 28, 1), CLASSES),
    "lenet_3072": LeNet((32, 32, 3), CLASSES),
}


class Outcome(NamedTuple):
    """CPU seconds and the rebuilt image."""

    seconds: float
    image: Array


def dlg(images: int = 5, peer: str | None = None, only: str = "") -> Numbers:
    """Medians over images of each model: seconds, PSNR and, with a peer, its own and the ratio."""
    numbers: Numbers = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, model in MODELS.items():
            if only and name != only:
                continue
            numbers |= {f"dlg_{name}_{key}": value for key, value in _measured(model, images, peer, folder).items()}
    return numbers


def _measured(model: Network, images: int, peer: str | None, folder: str) -> Numbers:
    records, rng = _images(model.width, images), np.random.default_rng(7)
    parameters = [_drawn(model, rng) for _ in records]
    labels = rng.integers(CLASSES, size=images).astype(np.float64)
    starts = [_start(model, seed) for seed in range(images)]
    gradients = [
        model.gradient(theta, a[None], model.targets(np.array([b])))
        for theta, a, b in zip(parameters, records, labels, strict=True)
    ]
    _ours(model, parameters[0], gradients[0], 0, 1)
    toolkit = _Peer(peer, folder, model, parameters, gradients, starts) if peer else None
    found: dict[str, list[Outcome]] = {}
    for k, (theta, gradient) in enumerate(zip(parameters, gradients, strict=True)):
        found.setdefault("", []).append(_ours(model, theta, gradient, k, 1))
        found.setdefault("from_8_", []).append(_ours(model, theta, gradient, k, 8))
        if toolkit is not None:
            whole, stopped = toolkit.run(k)
            found.setdefault("peer_", []).append(whole)
            found.setdefault("peer_stopped_", []).append(stopped)
            if isinstance(model, LeNet):
                found.setdefault("alike_", []).append(_alike(model, theta, gradient, k, records[k], stopped))
    numbers: Numbers = {}
    for who, outcomes in found.items():
        numbers[f"{who}seconds"] = statistics.median(o.seconds for o in outcomes)
        numbers[f"{who}psnr"] = statistics.median(_psnr(o.image, a) for o, a in zip(outcomes, records, strict=True))
        if who.startswith("peer"):
            pairs = zip(outcomes, found[""], strict=True)
            numbers[f"{who}ratio"] = statistics.median(theirs.seconds / ours.seconds for theirs, ours in pairs)
    if toolkit is not None:
        pairs = zip(found["peer_"], found["from_8_"], strict=True)
        numbers["from_8_ratio"] = statistics.median(theirs.seconds / ours.seconds for theirs, ours in pairs)
        pairs = [
            (theirs, ours) for theirs, ours in zip(found["peer_stopped_"], found.get("alike_", []), strict=False)
        ]
        if pairs:
            numbers["alike_ratio"] = statistics.median(theirs.seconds / ours.seconds for theirs, ours in pairs)
        toolkit.close()
    return numbers


def _images(width: int, count: int) -> Array:
    """Images in [0, 1], (count, width)."""
    try:
        if width == 784:
            return load("mnist", classes=tuple(range(CLASSES)), records=count, seed=1).features
        return load("cifar10_cat_dog", records=count, seed=1).features
    except ScenarioError:
        digits = load("digits", classes=tuple(range(CLASSES))).features[:count]
        side = {784: 28, 3072: 32}[width]
        grown = np.array([np.kron(d.reshape(8, 8), np.ones((4, 4)))[:side, :side] for d in digits])
        return np.repeat(grown[..., None], width // side**2, axis=-1).reshape(count, width)


def _drawn(model: Network, rng: np.random.Generator) -> Array:
    if isinstance(model, LeNet):
        return model.drawn(rng)
    parameters = np.zeros(model.dimension)
    for layer in model.layers:
        count = layer.stop - layer.start
        parameters[layer.start : layer.stop] = rng.uniform(-1, 1, count) / np.sqrt(layer.inputs)
    return parameters


def _start(model: Network, seed: int) -> Array:
    """What the attack draws from this seed with one start: features and then labels, (1, ·)."""
    return SPREAD * np.random.default_rng(seed).standard_normal((1, model.width + CLASSES))


def _case(model: Network, parameters: Array, gradient: Array) -> Case:
    exact = np.zeros((1, 1, model.dimension))
    return Case(Evidence(0, (0,), parameters[None, None], gradient[None, None], exact), Known(model, 1))


def _ours(model: Network, parameters: Array, gradient: Array, seed: int, restarts: int) -> Outcome:
    attack, rng = DLG(restarts=restarts, spread=SPREAD), np.random.default_rng(seed)
    case = _case(model, parameters, gradient)
    begun = time.process_time()
    answer = attack.reconstruct([case], rng)[0]
    return Outcome(time.process_time() - begun, answer.features[0, 0])


def _alike(model: LeNet, parameters: Array, gradient: Array, seed: int, record: Array, theirs: Outcome) -> Outcome:
    """Our search, stopped at its first iterate (of 300 that are kept) as near to the image as the peer's stopped
    answer; without the examination of what the gradient leaves open, which the peer has not."""
    watched = DLG(restarts=1, spread=SPREAD, snapshots=300)
    answer = watched.reconstruct([_case(model, parameters, gradient)], np.random.default_rng(seed))[0]
    assert answer.way is not None
    near = [_psnr(x[0], record) >= _psnr(theirs.image, record) for x in answer.way.features[0]]
    first = near.index(True) if any(near) else len(near) - 1
    search = replace(SEARCH, iterations=max(1, answer.way.iterations[first]))
    begun = time.process_time()
    objective = Matching(model, parameters[None, None], gradient[None, None], 1)
    found = search.minimize(objective, _start(model, seed))
    return Outcome(time.process_time() - begun, objective.parts(found.x)[0][0, 0])


def _psnr(image: Array, record: Array) -> float:
    """Capped at 300 dB; of a diverged image whatever it is."""
    error = float(np.mean(np.square(np.nan_to_num(image, nan=1e30) - record)))
    return min(300.0, -10 * float(np.log10(max(error, 1e-300))))


class _Peer:
    """A process of the peer's environment that waits for the number of an image."""

    def __init__(
        self,
        python: str,
        folder: str,
        model: Network,
        parameters: list[Array],
        gradients: list[Array],
        starts: list[Array],
    ) -> None:
        path = Path(folder) / "problems.npz"
        image = model.image_shape if isinstance(model, LeNet) else (model.width,)
        hidden = [] if isinstance(model, LeNet) else [layer.outputs for layer in model.layers[:-1]]
        problem = {"image_shape": image, "hidden": hidden, "classes": CLASSES}
        np.savez(path, **problem, parameters=parameters, gradients=gradients, starts=starts)
        script = Path(__file__).with_name("_peer_breaching.py")
        quiet = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": ""}
        self.process = subprocess.Popen(
            [python, str(script), str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=quiet,
        )
        self.versions: str = self._line()["versions"]
        print(f"peer: {self.versions}", file=sys.stderr)

    def run(self, k: int) -> tuple[Outcome, Outcome]:
        """Its whole run and its shortest."""
        assert self.process.stdin is not None
        print(k, file=self.process.stdin, flush=True)
        told = self._line()
        whole, stopped = (
            Outcome(told[f"{which}_seconds"], np.array(told[f"{which}_image"])[0]) for which in ("whole", "stopped")
        )
        return whole, stopped

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _line(self) -> dict:
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the peer ended: is its environment complete?")
            if line.startswith("{"):
                return json.loads(line)


def tell(numbers: Numbers, as_json: bool) -> None:
    """A line for each number, or one JSON object."""
    if as_json:
        print(json.dumps(numbers))
        return
    for name, value in numbers.items():
        print(f"{name:40} {value:12.4g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="the Python of an environment with torch and breaching")
    parser.add_argument("--images", type=int, default=5)
    parser.add_argument("--model", default="", choices=["", *MODELS], help="only this one")
    parser.add_argument("--json", action="store_true", help="one JSON object of named numbers")
    options = parser.parse_args()
    if not options.peer:
        print("no peer was named (--peer): only our numbers follow", file=sys.stderr)
    numbers = dlg(options.images, options.peer, options.model)
    tell(numbers, options.json)


if __name__ == "__main__":
    main()
