"""A witness file: what it holds, its seal, and how it is laid out.

Besides, the fingerprints of the data that it is of; and the part that the checker reads alone
(`attacks.audit.check_witness`, of a set `check_set`): the agent's data, PRIVATE, and public facts, as plain numbers
to the last bit. Whoever gets that part has the agent's records.
"""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Self, TypeAlias, cast

import numpy as np
from pydantic import Field, PrivateAttr, ValidationError

from attacks.audit import witness_values as plain
from attacks.audit.loss.aimed import TILTED, WORST_CASE
from netsim.arrays import Array
from netsim.claims import Adjacency, Claim
from netsim.codecs import Float64
from netsim.errors import ScenarioError
from netsim.files import parse_json, read_text
from netsim.models.model import L1, ElasticNet, Regularizer, Zero
from netsim.problems import LeastSquares, LogisticLoss, NonconvexLogistic, Objective
from netsim.simulation import Simulation
from scenarios.build.experiment import Experiment
from scenarios.results.base import first_mistake
from scenarios.schema import own_code
from scenarios.schema.spec import Index, Model

FORMAT, VERSION = "netsim witness", 1
_WRITTEN = "a file that `netsim run` wrote, as it was"
Tree: TypeAlias = Mapping[str, object]
"""A JSON object, as the file has it: the seal is of just that."""
WIDTH = 240
"""Characters up to which a mapping or a list is written on one line; lists of numbers are however long they are."""


class DataPrint(Model):
    """Whose data it is, by fingerprints that machines whose last bits differ agree on."""

    name: str
    """Name of the data set."""
    everybody: str
    """SHA-256 of what all agents hold, in order."""
    agent: str
    """SHA-256 of what the audited agent holds."""

    @classmethod
    def of(cls, experiment: Experiment, agent: int) -> Self:
        """Of an experiment's data."""
        held = experiment.problem.objectives
        return cls(name=experiment.dataset.name, everybody=fingerprint(held), agent=fingerprint([held[agent]]))


class PairPrint(Model):
    """The other world, and how it is made from the first (`scenarios.build.problem`)."""

    description: str
    """The other world in words."""
    change: Tree
    """The change of the agent's own objective; where both worlds are changed, `worlds`: both changes."""


class WitnessFile(Model):
    """A witness file. `claim` and `account` are of the run that wrote it, of a set of its first transcript: a replay
    compares them with its own."""

    format: Literal["netsim witness"] = FORMAT
    """Format of the file."""
    version: Literal[1] = VERSION
    """Version of the format."""
    says: str
    """The finding in a sentence."""
    versions: dict[str, str]
    """Versions of netsim and of what its numbers depend on."""
    scenario: Tree
    """The scenario with every default and the seed, and this algorithm alone."""
    algorithm: str
    """Name of the algorithm."""
    agent: Index
    """Agent at whose door the transcript was recorded."""
    world: Annotated[int, Field(ge=0, le=1)]
    """World of the transcript, to simulate it again."""
    chunk: Index
    """Its chunk, likewise."""
    replica: Index
    """Its replica, likewise."""
    activations: Index
    """Θ, at which the claim was evaluated. A replay takes Θ from the scenario where the algorithm fixes it, and
    confirms nothing where the agent was active more often."""
    pair: PairPrint
    """The other world."""
    claim: Tree
    """The claim at Θ, of the run that wrote it."""
    data: DataPrint
    """Whose data it is."""
    account: Tree
    """Compared with the replay's own, never used: the `total` loss; the first `uncovered` message; of each of the
    `releases` its `field`, `to`, `law` and `scale` of its noise, norms `l1` and `l2` of the worlds' difference,
    `loss`, and whether it `counts` (on the wire and not granted); sums `by_activation` and `by_link`, "inf" from the
    unprotected message on."""
    transcript: Tree
    """The `rows` at the agent's door (exact float64 values), its `releases`, the state of its `coins` and, of a codec
    that draws, the `dither`."""
    code: dict[str, str] | None = None
    """Of an algorithm of your own: its source and that of what it imports from beside it, names relative to its
    folder, its own file first. Run only with `--trust-code`."""
    sample: Tree | None = None
    """At δ > 0: the set of `transcripts`, of which `transcript` is the first; their `losses` and ln of weights
    (`log_weights`); the `lower` end of ε that they prove; the law of tilted noise (`tilting`: θ, and by release the
    shift in scales of the noise); and all others' values (`numbers`, base64 of little-endian float64, transcript
    after transcript in the order of `rows` and their fields)."""
    proof: Tree | None = None
    """Added by `netsim witness FILE --prove --out`: what `attacks/audit/check_witness.py` (of a set `check_set.py`)
    reads besides, **the agent's records among it**."""
    seal: str = ""
    """SHA-256 of all the rest, numbers by value: whether the file was altered, not who wrote it."""
    _unpacked: str | None = PrivateAttr(default=None)

    def sealed(self) -> Self:
        """The same with the seal that fits."""
        return self.model_copy(update={"seal": self._fitting()})

    @property
    def intact(self) -> bool:
        """Whether nothing was altered since it was sealed."""
        return self.seal == self._fitting()

    def _fitting(self) -> str:
        canonical = _by_value(self.model_dump(exclude=self._absent | {"seal"}))
        text = json.dumps(canonical, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def _absent(self) -> set[str]:
        """Fields that the file does not have."""
        return {name for name in ("code", "sample", "proof") if getattr(self, name) is None}

    @property
    def code_path(self) -> str | None:
        """FILE.py:CLASS of the scenario's algorithm, where that is somebody's own."""
        algorithms = self.scenario.get("algorithms")
        first = algorithms[0] if plain.is_list(algorithms) and algorithms else None
        path = first.get("path") if plain.is_mapping(first) and first.get("kind") == "python" else None
        return path if isinstance(path, str) else None

    @property
    def needs_trust(self) -> bool:
        """Whether the code that it carries is not what lies here under its name."""
        return self.code is not None and self.code_path is not None and own_code.texts(self.code_path) != self.code

    def unpacked(self, folder: Path) -> Self:
        """The same, with the code that it carries below `folder`: a replay runs that."""
        assert self.code is not None
        assert self.code_path is not None
        made = self.model_copy()
        made._unpacked = own_code.unpacked(self.code_path, self.code, folder)
        return made

    def code_beside(self, out: Path) -> Path | None:
        """Write the code that it carries to a folder beside the file `out`, and return the algorithm's file, for the
        checker's --algorithm; None where it carries none."""
        if self.code is None or self.code_path is None:
            return None
        folder = out.with_name(f"{out.stem}-code")
        own_code.unpacked(self.code_path, self.code, folder)
        return folder / next(iter(self.code))

    @property
    def module(self) -> ModuleType | None:
        """The file of an algorithm of one's own, once it was loaded here; None for one of netsim's."""
        path = self._unpacked or self.code_path
        return None if path is None else sys.modules[own_code.load(path).algorithm.__module__]

    def runnable(self) -> dict[str, object]:
        """The scenario with its code where a replay finds it. You get a `ScenarioError` for code that it carries,
        that is not here and was not unpacked: whoever wrote the file chose what it does."""
        scenario = dict(self.scenario)
        if self._unpacked is None and self.needs_trust:
            why = "is not here as the witness carries it, and what it carries is not run unasked"
            allowed = "--trust-code, after a look at it; or in the folder where it was audited, which has its code"
            raise ScenarioError("code", self.code_path, why, allowed)
        if self._unpacked is not None:
            first = cast("list[Tree]", scenario["algorithms"])[0]
            scenario["algorithms"] = [{**first, "path": self._unpacked}]
        return scenario

    @property
    def place(self) -> str:
        """Where the transcript was found, in words."""
        names = {WORST_CASE: "chunk of aimed noise", TILTED: "chunk of tilted noise"}
        chunk = names.get(self.chunk, f"chunk {self.chunk}")
        audit = self.scenario.get("audit")
        draw = audit.get("draw", 0) if plain.is_mapping(audit) else 0
        drawn = f", draw {draw}" if draw else ""
        replicas = f"replica {self.replica}"
        if self.sample is not None:
            count = self.sample.get("transcripts")
            replicas = "the first transcript" if count == 1 else f"the first {count} transcripts"
        return f"world {self.world}, {chunk}, {replicas} of seed {self.scenario['seed']}{drawn}"

    def text(self) -> str:
        """JSON that every reader takes (no infinities, no NaN), a vector on a line."""
        return _laid_out(self.model_dump(exclude=self._absent), "") + "\n"

    @classmethod
    def read(cls, path: Path) -> Self:
        """You get a `ScenarioError` for a file that cannot be read, or is no witness."""
        try:
            text = read_text(path)
        except OSError as error:
            inside = sorted(one.name for one in path.glob("witness-*.json")) if path.is_dir() else []
            allowed = f"a file of it: {', '.join(inside)}" if inside else "a file witness-….json of a results folder"
            why = f"cannot be read ({error.strerror or error})"
            if path.is_dir() and not inside:
                why = "a folder without a witness: where a claim of it is broken, its page says why there is none"
            raise ScenarioError("witness", str(path), why, allowed) from None
        except ValueError as error:
            why = str(error)
            raise ScenarioError("witness", str(path), f"cannot be read ({why})", _WRITTEN) from None
        try:
            tree = parse_json(text, finite=True)
        except ValueError as error:
            begun = text.lstrip().startswith(("{", "["))
            why = f"no JSON ({error})" if begun else "no JSON" if text.strip() else "an empty file"
            raise ScenarioError("witness", str(path), why, _WRITTEN) from None
        if not plain.is_mapping(tree) or tree.get("format") != FORMAT:
            beside = sorted(str(one) for one in path.parent.glob("witness-*.json"))
            allowed = f"beside it: {', '.join(beside)}" if beside else "a file witness-….json of a results folder"
            why = f"not a {FORMAT}"
            if path.name == "results.json":
                why, allowed = f"{why}: the results of a run", f"`netsim report {path.parent}`; a witness: {allowed}"
            raise ScenarioError("witness", str(path), why, allowed)
        if tree.get("version") != VERSION:
            why = "another version of the format"
            raise ScenarioError("version", tree.get("version"), why, str(VERSION), str(path))
        try:
            return cls.model_validate(tree)
        except ValidationError as error:
            raise first_mistake(error, tree, str(path), _WRITTEN) from None


# ── fingerprints ────────────────────────────────────────────────────────────────────────────────────────
def fingerprint(objectives: Sequence[object]) -> str:
    """SHA-256 of the arrays that objectives hold (features, labels, a tilt), with their shapes, in single precision:
    machines whose last bits differ agree, and another data set does not."""
    found = hashlib.sha256()

    def take(value: object) -> None:
        if isinstance(value, np.ndarray):
            array = cast("Array", value)
            found.update(repr(array.shape).encode())
            with np.errstate(over="ignore"):
                found.update((array + 0.0).astype("<f4").tobytes())
        elif is_dataclass(value) and not isinstance(value, type):
            for one in fields(value):
                take(getattr(value, one.name))

    for objective in objectives:
        take(objective)
    return found.hexdigest()


# ── layout ──────────────────────────────────────────────────────────────────────────────────────────────
def _laid_out(value: object, indent: str) -> str:
    """JSON, indented; what is short, and every list of numbers, on one line."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    inner = indent + " "
    if plain.is_mapping(value) and value and not (indent and len(line) <= WIDTH):
        parts = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {_laid_out(v, inner)}" for key, v in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if plain.is_list(value) and len(line) > WIDTH and any(isinstance(v, Mapping | list) for v in value):
        return "[\n" + ",\n".join(inner + _laid_out(v, inner) for v in value) + f"\n{indent}]"
    return line


def _by_value(tree: object) -> object:
    """Numbers as floats where these are exact: 1 and 1.0 are one number, whoever wrote the file anew."""
    if plain.is_mapping(tree):
        return {key: _by_value(value) for key, value in tree.items()}
    if plain.is_list(tree):
        return [_by_value(value) for value in tree]
    if isinstance(tree, int) and not isinstance(tree, bool) and abs(tree) < 2**53:
        return float(tree)
    return tree


def claim_as_plain(claim: Claim) -> Tree:
    """A claim with infinities as texts."""

    def numbers(tree: Tree) -> dict[str, object]:
        return {key: plain.number(value) if isinstance(value, float) else value for key, value in tree.items()}

    adjacency = numbers(asdict(claim.adjacency))
    if not claim.adjacency.record:  # as in files of a version that did not know of it
        del adjacency["record"]
    if claim.adjacency.fewest is None:
        del adjacency["fewest"]
    found = numbers({**asdict(claim), "adjacency": adjacency})
    del found["coins"]
    found["failed_conditions"] = list(claim.failed_conditions)
    if found.pop("waived_conditions"):
        found["waived_conditions"] = list(claim.waived_conditions)
    return found


# ── part for the checker ────────────────────────────────────────────────────────────────────────────────
class _Missing(Exception):  # noqa: N818
    """Something of which the checker has no ball arithmetic."""


def proof_of(simulation: Simulation, agent: int, adjacency: Adjacency, delta: float) -> Mapping[str, plain.Json]:
    """What a witness needs to be checked alone (`attacks.audit.check_witness`), as plain numbers: the agent's data,
    PRIVATE, and everything public; the graph, where nothing is claimed without. {"missing": why} where the checker
    could not read it."""
    public, setting, topology = simulation.public(), simulation.setting(0), simulation.topology
    alone = simulation.algorithm.claim(adjacency, replace(simulation.setting(1), topology=None), delta)
    claimed = simulation.claim(adjacency, 1, delta)
    degrees = (
        claimed is not None and not claimed.failed_conditions and (alone is None or bool(alone.failed_conditions))
    )
    try:
        l1, square = _weights(public.regularizer)
        return {
            "algorithm": _parameters(simulation.algorithm),
            "codec": None if isinstance(public.codec, Float64) else _parameters(public.codec),
            "neighbors": list(topology.neighbors(agent)),
            **({"graph": [list(topology.neighbors(i)) for i in range(topology.agents)]} if degrees else {}),
            "weights": _numbers(public.weights[agent]),
            "regularizer": [l1, square],
            "objective": _objective(simulation.problem.objectives[agent]),
            "setting": _parameters(replace(setting, topology=None)),
        }
    except _Missing as error:
        return {"missing": str(error)}


def _numbers(values: Array) -> list[plain.Json]:
    """Lists of numbers, to the last bit."""
    return cast("list[plain.Json]", values.tolist())


def _parameters(value: object) -> plain.Json:
    """Parameters of an algorithm: {"class": MODULE:NAME, and the fields} of every dataclass."""
    if is_dataclass(value) and not isinstance(value, type):
        kind = cast("Any", type(cast("Any", value)))
        own = {one.name: _parameters(getattr(value, one.name)) for one in fields(value) if one.init}
        return {"class": f"{kind.__module__}:{kind.__qualname__}", **own}
    if isinstance(value, tuple | list):
        return [_parameters(one) for one in cast("tuple[object, ...]", value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise _Missing(f"a parameter of the algorithm that is no number and no dataclass: {type(value).__name__}")


def _weights(regularizer: Regularizer) -> tuple[float, float]:
    """The weights of ‖x‖₁ and of ‖x‖²."""
    match regularizer:
        case Zero():
            return 0.0, 0.0
        case L1(weight):
            return weight, 0.0
        case ElasticNet(l1, square):
            return l1, square
        case _:
            raise _Missing(f"the proximal map of {type(regularizer).__name__} has no ball arithmetic")


def _objective(own: Objective) -> plain.Json:
    """The agent's objective, PRIVATE: its records and parameters."""
    if not isinstance(own, LeastSquares | LogisticLoss | NonconvexLogistic):
        raise _Missing(f"the gradient of {type(own).__name__} has no ball arithmetic")
    found: dict[str, plain.Json] = {
        "features": _numbers(own.features),
        "answers": _numbers(np.asarray(getattr(own, own.answers))),
        "ridge": own.ridge,
        "weight": own.weight if isinstance(own, NonconvexLogistic) else 0.0,
        "shape": own.shape if isinstance(own, NonconvexLogistic) else 1.0,
    }
    if isinstance(own, LeastSquares):
        mass = own.records if own.divisor is None else own.divisor / 2
        return {"loss": "least squares", "mass": float(mass), **found}
    return {"loss": "logistic", "mass": own.records / own.scale, **found}
