"""Other people's auditors behind the plain interface of `scenarios.certificate.exam`.

A function of a library gives its candidates, or raises `MissingError` with the reason. Nothing of theirs is kept
here: libraries are installed (extra `exam`), or imported from a checkout whose path is given.
"""

import importlib
import importlib.metadata
import importlib.util
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from attacks.audit.games.sequential_test import dealt, tossed
from netsim.arrays import Array
from netsim.errors import PrivacyError
from scenarios.certificate.exam import Candidate

HALF = 0.5
"""Share of the samples that choose a threshold where a library leaves the choice to its user."""
SMALLEST_DELTA = 1e-9
"""In place of δ = 0 where a method wants δ > 0: ε at a larger δ is not larger."""

NOT_PUBLISHED = "PyPI has no package of this name"


class MissingError(Exception):
    """A library that is not there, with what was looked for."""


def _imported(name: str, wanted: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingError(f"{wanted} ({error})") from error


# ── jax_privacy ─────────────────────────────────────────────────────────────────────────────────────────
def jax_privacy() -> list[Candidate]:
    """Canary scores: Clopper–Pearson over all thresholds, with a split, with many splits, and the one-run method."""
    auditing = _imported("jax_privacy.auditing", "pip install jax-privacy")

    def bound(strategy: Callable[[int], Any]) -> Callable[..., float]:
        def auditor(zero: Array, one: Array, *, delta: float, confidence: float, rng: np.random.Generator) -> float:
            scored = auditing.CanaryScoreAuditor(one[:, 0], zero[:, 0])
            chosen = strategy(int(rng.integers(2**31)))
            return scored.epsilon_clopper_pearson(1 - confidence, delta, one_sided=False, threshold_strategy=chosen)

        return auditor

    def one_run(zero: Array, one: Array, *, delta: float, confidence: float, rng: np.random.Generator) -> float:
        # a canary is in or out by a fair coin: so many of each world is no coin
        coins = tossed(len(zero), len(one), rng)
        scores = dealt(coins, zero[:, 0], one[:, 0])
        scored = auditing.CanaryScoreAuditor(scores[coins == 1], scores[coins == 0])
        split = auditing.Split(seed=int(rng.integers(2**31)))
        return scored.epsilon_one_run(1 - confidence, max(delta, SMALLEST_DELTA), threshold_strategy=split)

    return [
        Candidate("jax_privacy, all thresholds", bound(lambda _: auditing.Bonferroni())),
        Candidate("jax_privacy, split", bound(lambda seed: auditing.Split(seed=seed))),
        Candidate("jax_privacy, 100 splits", bound(lambda seed: auditing.MultiSplit(seed=seed)), share=20),
        Candidate("jax_privacy, one run, split", one_run),
    ]


# ── privacy-estimates ───────────────────────────────────────────────────────────────────────────────────
def privacy_estimates() -> list[Candidate]:
    """Counts of right and wrong guesses: Clopper–Pearson, and Jeffreys. (Its joint posteriors integrate in two
    dimensions, for minutes an answer.)

    The threshold is the one whose Clopper–Pearson bound on the first half of the samples is largest.
    """
    library = _imported("privacy_estimates", "pip install privacy-estimates")
    results = _imported("privacy_estimates.utils", "pip install privacy-estimates").AttackResults

    def counted(zero: Array, one: Array, threshold: float) -> Any:
        positive, negative = int((one >= threshold).sum()), int((zero >= threshold).sum())
        return results(FN=one.size - positive, FP=negative, TN=zero.size - negative, TP=positive)

    def by(method: str) -> Callable[..., float]:
        def auditor(zero: Array, one: Array, *, delta: float, confidence: float, **_: Any) -> float:
            cut = round(HALF * min(len(zero), len(one)))
            seen = np.concatenate([zero[:cut], one[:cut]])
            at = np.unique(np.quantile(seen, np.arange(1, 40) / 40, method="nearest"))
            settings = {"delta": delta, "alpha": 1 - confidence}
            first = [library.compute_eps_lo(counted(zero[:cut], one[:cut], t), method="beta", **settings) for t in at]
            rest = counted(zero[cut:], one[cut:], at[int(np.argmax(first))])
            return library.compute_eps_lo(rest, method=method, **settings)

        return auditor

    return [
        Candidate("privacy-estimates, Clopper–Pearson", by("beta"), share=4),
        Candidate("privacy-estimates, Jeffreys", by("jeffreys"), share=4),
    ]


# ── dp_auditorium ───────────────────────────────────────────────────────────────────────────────────────
BINS = 10
GRID = np.arange(1, 33) / 8
"""ε at which (ε, δ) is tested in this order until a test passes."""


def dp_auditorium(checkout: Path | None) -> list[Candidate]:
    """Histogram tester; its other testers need TensorFlow."""
    if importlib.util.find_spec("dp_auditorium") is None:
        root = None if checkout is None else checkout / "python" / "dp_auditorium"
        if root is None or not (root / "dp_auditorium" / "testers").is_dir():
            raise MissingError(f"{NOT_PUBLISHED}; --dp-auditorium takes a checkout of google/differential-privacy")
        # the packages import TensorFlow and Vizier, which the histogram tester does without
        for name in ("dp_auditorium", "dp_auditorium.testers"):
            module = ModuleType(name)
            module.__path__ = [str(root.joinpath(*name.split(".")))]
            sys.modules[name] = module
    tester = _imported("dp_auditorium.testers.histogram_tester", "pip install etils absl-py typing-extensions")
    configs = _imported("dp_auditorium.configs.property_tester_config", "dp_auditorium")
    properties = _imported("dp_auditorium.configs.privacy_property", "dp_auditorium")

    def auditor(zero: Array, one: Array, *, delta: float, confidence: float, **_: Any) -> float:
        few = max(len(zero) // 10, 2)
        low, high = np.quantile(np.concatenate([zero[:few], one[:few]]), (0.05, 0.95))
        if low == high:
            raise PrivacyError("all scores are the same: there is no range for bins")
        bound = 0.0
        for epsilon in GRID:
            test = tester.HistogramTester(
                configs.HistogramPropertyTesterConfig(
                    test_discrete_mechanism=False,
                    histogram_size=BINS,
                    min_value=float(low),
                    max_value=float(high),
                    approximate_dp=properties.ApproximateDp(float(epsilon), delta),
                )
            )
            # it looks in one direction: half of the error rate for each
            pairs = ((one[few:, 0], zero[few:, 0]), (zero[few:, 0], one[few:, 0]))
            shown = (test.estimate_lower_bound(*pair, (1 - confidence) / 2) for pair in pairs)
            if not any(map(test.reject_property, shown)):
                break
            bound = float(epsilon)
        return bound

    return [Candidate("dp_auditorium, histogram", auditor, share=4)]


# ── DP-Sniper ───────────────────────────────────────────────────────────────────────────────────────────
SMALLEST = 0.1
"""Probability below which no event is looked for (their c). Theirs is 0.01, with 10⁷ samples."""


def dp_sniper(checkout: Path | None) -> list[Candidate]:
    """Logistic regression and a small network as in its examples, on the outputs themselves; for δ = 0."""
    if importlib.util.find_spec("dpsniper") is None:
        if checkout is None or not (checkout / "dpsniper").is_dir():
            raise MissingError(f"{NOT_PUBLISHED}; --dp-sniper takes a checkout of eth-sri/dp-sniper")
        sys.path.append(str(checkout))
    wanted = "pip install torch tensorboard mmh3"
    torch = _imported("torch", wanted)
    factories = _imported("dpsniper.classifiers.classifier_factory", wanted)
    optimizers = _imported("dpsniper.classifiers.torch_optimizer_factory", wanted)
    estimators = _imported("dpsniper.probability.estimators", wanted)
    search = _imported("dpsniper.attack.dpsniper", wanted).DPSniper
    config_of = _imported("dpsniper.search.ddconfig", wanted).DDConfig
    mechanism = _imported("dpsniper.mechanisms.abstract", wanted).Mechanism
    _imported("dpsniper.utils.paths", wanted).set_output_directory(tempfile.mkdtemp(prefix="dp-sniper-"))
    _imported("dpsniper.utils.torch", wanted).torch_initialize(torch_threads=1)

    class Recorded(mechanism):
        """Hands out recorded outputs, each once."""

        def __init__(self, *outputs: Array) -> None:
            self.left = list(outputs)

        def m(self, a: int, n_samples: int = 1) -> Array:
            given, self.left[a] = self.left[a][:n_samples], self.left[a][n_samples:]
            if len(given) < n_samples:
                raise PrivacyError(f"{n_samples} more outputs of world {a} are asked for, {len(given)} are left")
            return given

    def by(factory: Callable[[int], Any]) -> Callable[..., float]:
        def auditor(zero: Array, one: Array, *, delta: float, confidence: float, rng: np.random.Generator) -> float:
            if delta > 0:
                raise PrivacyError("DP-Sniper bounds ε at δ = 0")
            torch.manual_seed(int(rng.integers(2**31)))
            part = min(len(zero), len(one)) // 3
            config = config_of(c=SMALLEST, n_train=part, n=part, n_check=part, n_processes=1, confidence=confidence)
            outputs = Recorded(one, zero)
            attack = search(outputs, factory(zero.shape[1]), config).best_attack(0, 1)
            estimator = estimators.EpsEstimator(estimators.PrEstimator(outputs, part, config))
            return max(float(estimator.compute_eps_estimate(0, 1, attack)[1]), 0.0)

        return auditor

    def regression(columns: int) -> Any:
        return factories.LogisticRegressionFactory(
            in_dimensions=columns, optimizer_factory=optimizers.SGDOptimizerFactory()
        )

    def network(columns: int) -> Any:
        return factories.MultiLayerPerceptronFactory(
            in_dimensions=columns, optimizer_factory=optimizers.AdamOptimizerFactory()
        )

    return [
        Candidate("DP-Sniper, logistic regression", by(regression), scores=True, share=4),
        Candidate("DP-Sniper, network", by(network), scores=True, share=4),
    ]


def all_of(
    checkouts: dict[str, Path | None],
) -> tuple[list[Candidate], dict[str, str], dict[str, str]]:
    """Candidates of all libraries, the version of each that is there, and the reason for each that is not."""
    found: list[Candidate] = []
    versions, missing = dict[str, str](), dict[str, str]()
    libraries: dict[str, Callable[[], list[Candidate]]] = {
        "jax-privacy": jax_privacy,
        "privacy-estimates": privacy_estimates,
        "dp_auditorium": lambda: dp_auditorium(checkouts.get("dp_auditorium")),
        "dpsniper": lambda: dp_sniper(checkouts.get("dpsniper")),
    }
    for name, library in libraries.items():
        try:
            found += library()
        except MissingError as why:
            missing[name] = str(why)
        else:
            versions[name] = _version(name)
    return found, versions, missing


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "checkout"
