"""What a scenario can say of an algorithm that does not come with netsim: where its code is, and its parameters."""

import inspect
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, Literal, cast

from pydantic import model_validator

from netsim.algorithms import Algorithm, Setting
from netsim.claims import Adjacency, Claim
from netsim.errors import NetsimError, ScenarioError
from scenarios.schema import own_code as owncode
from scenarios.schema.algorithms.base import AlgorithmModel, Ground
from scenarios.schema.algorithms.parameters import checked
from scenarios.schema.base import Model, NonNegative, Share, Words

BY_HAND = "no norm of its own"
"""What a number that is claimed by hand is stated in: it is of the pairs that are adjacent, whatever the noise."""
MEASURED = "no ε is claimed of it"


class OwnClaim(Model):
    """What is claimed of the whole run: this `epsilon` at this `delta`, in place of what the class claims; without
    an `epsilon` what the class claims at this `delta`. `source` says whose claim it is."""

    epsilon: NonNegative | None = None
    delta: Share = 0.0
    source: Words = "as given in the scenario"


class PythonSpec(AlgorithmModel):
    """An algorithm of your own. `path` is FILE.py:CLASS (relative: from the working directory) or
    PACKAGE.MODULE:CLASS, a subclass of `netsim.algorithms.Algorithm`; that code is run whenever the scenario is run
    or checked. `parameters` are the fields of the class; where it takes a `Schedule`, a number or a `kind` of
    schedule. `name` is that of the class if not given. A class that claims nothing, and is given no `claim`, is
    audited all the same: results then say what it costs."""

    kind: Literal["python"]
    name: str = ""
    path: Words
    parameters: dict[str, Any] = {}
    claim: OwnClaim | None = None

    @model_validator(mode="before")
    @classmethod
    def _named(cls, said: Any) -> Any:
        """The class's name, or the file's, is the algorithm's where it is given none."""
        if not isinstance(said, dict) or cast("dict[str, Any]", said).get("name"):
            return cast(Any, said)
        path = str(cast("dict[str, Any]", said).get("path", "")).rpartition("/")[2]
        where, _, name = path.rpartition(":")
        return cast("dict[str, Any]", said) | {"name": (name if where else path).removesuffix(".py") or "own"}

    def build(self, ground: Ground) -> Algorithm:
        found = owncode.load(self.path).algorithm
        claim = self.claim
        epsilon, source = (None, "") if claim is None else (claim.epsilon, claim.source)
        suited = _suited(found, epsilon, 0.0 if claim is None else claim.delta, source)
        try:
            made = suited(**checked(found, self.parameters))
        except ScenarioError as error:
            raise error if error.field.startswith("algorithm.") else error.under("algorithm.parameters") from None
        except Exception as error:
            raise ScenarioError(
                "algorithm.parameters", self.parameters, f"{type(error).__name__}: {error}"
            ) from error
        if epsilon is None and found.claim is not Algorithm.claim:
            self._claims(made, ground)
        return made

    def _claims(self, made: Algorithm, ground: Ground) -> None:
        """Ask for the claim once, before anything runs: a `ScenarioError` says where its code goes wrong."""
        try:
            made.claim(ground.adjacency, ground.setting(made.horizon or 1), self.delta or 0.0)
        except NetsimError:
            return  # a refusal with a reason: told where the claim is needed
        except Exception as error:
            reached = traceback.extract_tb(error.__traceback__)
            file = str(owncode.load(self.path).file)
            own = [frame for frame in reached if frame.filename == file] or list(reached)
            place = f"{Path(own[-1].filename).name}:{own[-1].lineno}, in {own[-1].name}()"
            why = f"{place}: {error or type(error).__name__}"
            raise ScenarioError("algorithm.parameters", self.parameters, why) from None

    @property
    def code(self) -> str:
        """SHA-256 of the source, as it is now."""
        return owncode.load(self.path).sha256

    @property
    def delta(self) -> float | None:
        return None if self.claim is None else self.claim.delta


# ── what a class of somebody's own need not say ─────────────────────────────────────────────────────────


@cache
def _suited(own: type[Algorithm], epsilon: float | None, delta: float, source: str) -> Callable[..., Algorithm]:
    """The class with what it does not say itself: whether it has noise, how often it acts, and a claim."""
    said: dict[str, Any] = {"__doc__": own.__doc__, "__module__": own.__module__, "__qualname__": own.__qualname__}
    if own.noisy is Algorithm.noisy:
        said["noisy"] = property(_constant("privatize" in set(_names(own))))
    if own.horizon is Algorithm.horizon and "rounds" in own.__dataclass_fields__:
        said["horizon"] = property(_rounds)
    if epsilon is not None:
        said["claim"] = _claims(epsilon, delta, source)
    elif own.claim is Algorithm.claim:
        said["claim"] = _claims_nothing
    said["check"] = _checks(own)
    return cast("Callable[..., Algorithm]", type(own.__name__, (own,), said))


def _constant(value: bool) -> Callable[[Algorithm], bool]:
    return lambda _: value


def _rounds(algorithm: Any) -> int | None:
    """How often one agent acts at most."""
    rounds = algorithm.rounds
    return rounds if type(rounds) is int else None


def _claims(epsilon: float, delta: float, source: str) -> Callable[..., Claim]:
    def claim(_: Algorithm, adjacency: Adjacency, setting: Setting, at: float) -> Claim:  # noqa: ARG001
        return Claim(epsilon, delta, source, adjacency, BY_HAND)

    return claim


def _claims_nothing(_: Algorithm, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:  # noqa: ARG001
    return Claim(None, 0.0, "no claim", adjacency, BY_HAND, (MEASURED,))


def _checks(own: type[Algorithm]) -> Callable[[Algorithm, Setting], None]:
    def check(algorithm: Algorithm, setting: Setting) -> None:
        try:
            own.check(algorithm, setting)
        except ScenarioError as error:
            raise error.under("parameters") from None

    return check


def _names(own: type) -> Iterator[str]:
    """Every name that the code of a class and of its module uses: `privatize` is the only way to noise."""
    for one in own.__mro__[: own.__mro__.index(Algorithm)]:
        module = inspect.getmodule(one)
        for value in [*vars(one).values(), *(vars(module).values() if module is not None else ())]:
            code = getattr(value, "__code__", None)
            if isinstance(code, CodeType):
                yield from _in(code)


def _in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _in(constant)
