"""The toolkit's side of `attacks_dlg.py`; it runs in an environment with torch and breaching, and without ours.

The attacker and its configuration are breaching's own, from its installed files. The package's front door imports
torchvision, lpips and hydra for its data sets, metrics and command line; none of that is used by the attacker, so
the door is left shut: `breaching`, `breaching.cases` and `breaching.cases.models` are entered as bare packages, and
every module that is loaded from them is the toolkit's, unchanged. Its random starts are replaced by those given.
"""

import importlib.metadata
import importlib.util
import itertools
import json
import sys
import time
import types

import numpy as np
import torch
from omegaconf import OmegaConf

torch.set_num_threads(1)


def attacker_of(root: str, net: torch.nn.Module, steps: int | None):
    from breaching.attacks import prepare_attack

    folder = f"{root}/config/attack"
    merged = OmegaConf.merge(
        OmegaConf.load(f"{folder}/_default_optimization_attack.yaml"), OmegaConf.load(f"{folder}/deepleakage.yaml")
    )
    del merged["defaults"]
    if steps is not None:
        merged.optim.max_iterations = steps
    setup = {"dtype": torch.float, "device": torch.device("cpu")}
    return prepare_attack(net, torch.nn.CrossEntropyLoss(), merged, setup)


class Metadata(types.SimpleNamespace):
    def __getitem__(self, name: str) -> object:
        return getattr(self, name)


class Layout:
    """The network of a problem, and how a row of our features is an image of its."""

    def __init__(self, problem: dict) -> None:
        self.classes, self.image = int(problem["classes"]), [int(n) for n in problem["image_shape"]]
        self.hidden = [int(n) for n in problem["hidden"]]

    @property
    def data_shape(self) -> list[int]:
        return [self.image[2], *self.image[:2]] if len(self.image) == 3 else self.image

    def inward(self, rows: torch.Tensor) -> torch.Tensor:
        return rows.reshape(-1, *self.image).permute(0, 3, 1, 2).contiguous() if len(self.image) == 3 else rows

    def outward(self, images: torch.Tensor) -> torch.Tensor:
        return images.permute(0, 2, 3, 1).reshape(len(images), -1) if len(self.image) == 3 else images

    def body(self) -> torch.nn.Module:
        """Dense layers with sigmoids between them; of images the authors' LeNet."""
        layers: list[torch.nn.Module] = []
        if len(self.image) == 3:
            height, width, channels = self.image
            for stride in (2, 2, 1):
                layers += [torch.nn.Conv2d(channels, 12, 5, padding=2, stride=stride), torch.nn.Sigmoid()]
                channels, height, width = 12, (height - 1) // stride + 1, (width - 1) // stride + 1
            layers += [torch.nn.Flatten(), torch.nn.Linear(12 * height * width, self.classes)]
            return torch.nn.Sequential(*layers)
        for inputs, outputs in itertools.pairwise([*self.image, *self.hidden, self.classes]):
            if layers:
                layers.append(torch.nn.Sigmoid())
            layers.append(torch.nn.Linear(inputs, outputs))
        return torch.nn.Sequential(*layers)


def network(layout: Layout, parameters: np.ndarray) -> torch.nn.Module:
    net = layout.body()
    with torch.no_grad():
        for held, given in zip(net.parameters(), parts(net, parameters), strict=True):
            held.copy_(given)
    return net


def parts(net: torch.nn.Module, flat: np.ndarray) -> list[torch.Tensor]:
    """Layer by layer the matrix and then the intercept, as ours are."""
    found, first = [], 0
    for held in net.parameters():
        last = first + held.numel()
        found.append(torch.tensor(flat[first:last].reshape(held.shape), dtype=torch.float))
        first = last
    return found


def attacked(root: str, problem: dict, k: int, steps: int | None) -> tuple[float, np.ndarray, list[float]]:
    layout = Layout(problem)
    net = network(layout, problem["parameters"][k])
    shown = Metadata(shape=layout.data_shape, classes=layout.classes, task="classification", modality="vision")
    payload = [{"parameters": [p.detach() for p in net.parameters()], "buffers": None, "metadata": shown}]
    start = torch.tensor(problem["starts"][k], dtype=torch.float)  # (m, features and then labels)
    about = {"num_data_points": len(start), "labels": None, "local_hyperparams": None}
    shared = [{"gradients": parts(net, problem["gradients"][k]), "buffers": None, "metadata": about}]
    attacker = attacker_of(root, net, steps)

    def begin(shape: list[int]) -> torch.Tensor:
        features, labels = start[:, : -layout.classes], start[:, -layout.classes :]
        candidate = (labels if list(shape[1:]) == [layout.classes] else layout.inward(features)).clone()
        candidate.requires_grad = True
        candidate.grad = torch.zeros_like(candidate)
        return candidate

    attacker._initialize_data = begin
    begun = time.process_time()
    answer, stats = attacker.reconstruct(payload, shared, {})
    return time.process_time() - begun, layout.outward(answer["data"]).numpy(), stats["Trial_0_Val"]


def main() -> None:
    root = importlib.util.find_spec("breaching").submodule_search_locations[0]
    for name in ("breaching", "breaching.cases", "breaching.cases.models"):
        bare = types.ModuleType(name)
        bare.__path__ = [root + name.removeprefix("breaching").replace(".", "/")]
        sys.modules[name] = bare
    problem = dict(np.load(sys.argv[1]))
    versions = {name: importlib.metadata.version(name) for name in ("breaching", "torch")}
    attacked(root, problem, 0, 2)
    print(json.dumps({"versions": versions}), flush=True)
    for line in sys.stdin:
        whole, image, values = attacked(root, problem, int(line), None)
        low = next(t for t, value in enumerate(values) if value <= 1.01 * min(values) + 1e-12)
        short, early, _ = attacked(root, problem, int(line), low + 1)
        told = {
            "whole_seconds": whole,
            "whole_image": image.tolist(),
            "stopped_seconds": short,
            "stopped_image": early.tolist(),
        }
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
