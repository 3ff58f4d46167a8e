"""An algorithm that does not come with netsim: where its code is, what is claimed, and its parameters, checked."""

import copy
import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache, wraps
from types import CodeType
from typing import TYPE_CHECKING, Any, cast, get_args, get_type_hints

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError, model_validator

from netsim.algorithms import Algorithm, Setting
from netsim.claims import BY_HAND, UNCLAIMED, Adjacency, Claim, Clip
from netsim.errors import NetsimError, ScenarioError, meant
from netsim.own import check_own, claimed
from netsim.schedules import Schedule
from scenarios.files.document import Tree
from scenarios.files.mistakes import WANTED, of_the_wrong_type
from scenarios.schema import own_code as owncode
from scenarios.schema.algorithms import AlgorithmModel, ClipSpec, Ground, ScheduleSpec, schedule
from scenarios.schema.spec import Model, NonNegative, Share, Words, kinds_of

FIELD = "algorithm.parameters"


class OwnClaim(Model):
    """A claim about the whole run, in place of the class's own."""

    epsilon: NonNegative | None = None
    """The claimed ε of the whole run; none: what the class claims."""
    delta: Share | None = None
    """δ of the claim, by default 0; without an ε: what the class's `claim` is handed, by default 0.001."""
    source: Words = "as given in the scenario"
    """Source of the claim: a theorem, a page, a name."""


class PythonSpec(AlgorithmModel, kind="python"):
    """An algorithm of your own, a subclass of `netsim.algorithms.Algorithm`; its code is run whenever the scenario is
    run or checked. Without a `name` it has the name of the class. A class that claims nothing, and is given no
    `claim`, is audited all the same: results then say what it costs."""

    name: str = ""
    path: Words
    """FILE.py:CLASS (relative: from the scenario's file) or PACKAGE.MODULE:CLASS; its code is run."""
    parameters: dict[str, Any] = {}
    """The fields of the class; where it takes a `Schedule`, a number or a `kind` of schedule."""
    claim: OwnClaim | None = None
    """What is claimed of it; none: what the class itself claims."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, said: Any) -> Any:
        """The class's name, or the file's, is the algorithm's where it is given none."""
        if not isinstance(said, dict) or cast("Tree", said).get("name"):
            return cast("Any", said)
        path = str(cast("Tree", said).get("path", "")).rpartition("/")[2]
        where, _, name = path.rpartition(":")
        return {**cast("Tree", said), "name": (name if where else path).removesuffix(".py") or "own"}

    def build(self, ground: Ground) -> Algorithm:
        found = owncode.load(self.path).algorithm
        claim = self.claim
        epsilon, source = (None, "") if claim is None else (claim.epsilon, claim.source)
        suited = _suited(found, epsilon, (claim and claim.delta) or 0.0, source)
        try:
            made = suited(**_checked(found, self.parameters))
        except ScenarioError as error:
            raise error if error.field.startswith("algorithm.") else error.under(FIELD) from None
        except (Exception, SystemExit) as error:
            raise ScenarioError(FIELD, self.parameters, f"{type(error).__name__}: {error}") from error
        _check_acts(made, FIELD)
        if epsilon is None and found.claim is not Algorithm.claim:
            self._claims(made, ground)
        return made

    def _claims(self, made: Algorithm, ground: Ground) -> None:
        """Ask for the claim once, before anything runs: a `ScenarioError` says where its code goes wrong."""
        facts = ground.adjacency, ground.setting(made.horizon or 1), self.delta_handed
        try:
            claimed(made, "claim", *facts)
        except ScenarioError:
            raise
        except NetsimError:
            return  # a refusal with a reason: reported where the claim is needed

    @property
    def code(self) -> str:
        """SHA-256 of the source, as it is now."""
        return owncode.load(self.path).sha256

    @property
    def delta(self) -> float | None:
        """What `claim` is handed, if the scenario says so; beside an ε of the scenario's nothing asks for it."""
        claim = self.claim
        return None if claim is None or (claim.epsilon is not None and not claim.delta) else claim.delta


if TYPE_CHECKING:
    AlgorithmSpec = AlgorithmModel
else:
    AlgorithmSpec = kinds_of(AlgorithmModel)

# ── defaults of a class of somebody's own ───────────────────────────────────────────────────────────────


@cache
def _suited(own: type[Algorithm], epsilon: float | None, delta: float, source: str) -> Callable[..., Algorithm]:
    """The class with what it does not say itself: whether it has noise, how often it acts, and a claim."""
    said: dict[str, object] = {"__doc__": own.__doc__, "__module__": own.__module__, "__qualname__": own.__qualname__}
    if own.noisy is Algorithm.noisy and not own.noise_fields:
        noisy = "privatize" in set(_names(own))
        said["noisy"] = property(lambda _: noisy)
    if own.horizon is Algorithm.horizon and "rounds" in own.__dataclass_fields__:

        def horizon(algorithm: Any) -> int | None:
            return algorithm.rounds if type(algorithm.rounds) is int else None

        said["horizon"] = property(horizon)

    @wraps(own.claim)
    def claim(algorithm: Algorithm, adjacency: Adjacency, *facts: Any) -> Claim:
        if epsilon is not None:
            return Claim(epsilon, delta, source, adjacency, BY_HAND)
        found = own.claim(algorithm, adjacency, *facts)
        return Claim(None, 0.0, "no claim", adjacency, BY_HAND, (UNCLAIMED,)) if found is None else found

    said["claim"] = claim

    def check(algorithm: Algorithm, setting: Setting) -> None:
        try:
            return own.check(algorithm, setting)  # what it returns by mistake is named by who calls it
        except ScenarioError as error:
            raise error.under("parameters") from None

    said["check"] = check
    return cast("Callable[..., Algorithm]", type(own.__name__, (own,), said))


def claiming(algorithm: Algorithm, epsilon: float | None, delta: float) -> Algorithm:
    """The algorithm with what its class does not say itself; where an ε is named, that is claimed of a whole run."""
    try:
        check_own(algorithm)
    except ScenarioError as error:
        raise error.under("algorithm") from None
    made = copy.copy(algorithm)
    object.__setattr__(made, "__class__", _suited(type(algorithm), epsilon, delta, "claimed by hand"))
    _check_acts(made, "algorithm")
    return made


def _check_acts(algorithm: Algorithm, field: str) -> None:
    """Raise a `ScenarioError` for an algorithm whose agents are never active; `field` has its parameters."""
    if algorithm.horizon is not None and algorithm.horizon < 1:
        name = type(algorithm).__name__
        field = f"{field}.rounds" if "rounds" in names(type(algorithm)) else field
        why = f"an agent of {name} is never active: nothing is sent"
        raise ScenarioError(field, algorithm.horizon, why, ">= 1")


def _names(own: type) -> Iterator[str]:
    """Every name that the code of a class and of its module uses: `privatize` is the only way to noise."""
    ahead: list[object] = []
    for one in own.__mro__[: own.__mro__.index(Algorithm)]:
        module = inspect.getmodule(one)
        values = [*vars(one).values(), *(vars(module).values() if module is not None else ())]
        ahead += [getattr(value, "__code__", None) for value in values]
    while ahead:
        if isinstance(code := ahead.pop(), CodeType):
            yield from code.co_names
            ahead += code.co_consts


# ── its parameters ──────────────────────────────────────────────────────────────────────────────────────

SCHEDULE: TypeAdapter[Any] = TypeAdapter(ScheduleSpec)
SCHEDULES = "a number, or {kind: geometric, first: …, ratio: …}, {kind: polynomial, …}, {kind: uniform_draws, …}"
CLIP: TypeAdapter[Any] = TypeAdapter(ClipSpec)


def names(of: type) -> dict[str, object]:
    """The parameters of a class and their defaults (`inspect.Parameter.empty` where there is none)."""
    taken = inspect.signature(of).parameters
    rest = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {name: one.default for name, one in taken.items() if one.kind not in rest}


def signature(of: type) -> str:
    """The parameters of a class for a reader: `rounds: int, step: float = 0.1`."""
    hints = _hints(of)
    parts: list[str] = []
    for name, default in names(of).items():
        kind = f": {_name(hints[name])}" if name in hints else ""
        parts.append(f"{name}{kind}" + ("" if default is inspect.Parameter.empty else f" = {default!r}"))
    return ", ".join(parts) or "none"


def _checked(of: type, given: Tree) -> dict[str, object]:
    """Arguments of the class. Raises a `ScenarioError` for a parameter that it does not have, that is missing, or
    that is of another type."""
    known, hints = names(of), _hints(of)
    for name, value in given.items():
        if name not in known:
            why = f"{of.__name__} has no such parameter{meant(name, known)}"
            raise ScenarioError(f"{FIELD}.{name}", value, why, signature(of))
    missing = [name for name, default in known.items() if default is inspect.Parameter.empty and name not in given]
    if missing:
        more = f" (and {len(missing) - 1} more: {', '.join(missing[1:])})" if len(missing) > 1 else ""
        why = f"missing: {of.__name__} has no default for it{more}"
        raise ScenarioError(f"{FIELD}.{missing[0]}", None, why, signature(of))
    return {name: _value(name, value, hints.get(name, Any)) for name, value in given.items()}


def _hints(of: type) -> dict[str, type]:
    try:
        return get_type_hints(of)
    except Exception:  # an annotation that names nothing: then nothing is checked
        return {}


def _value(name: str, value: Any, hint: Any) -> Any:
    """The value as its annotation says; where that says nothing that a file could, as it is."""
    field = f"{FIELD}.{name}"
    wanted = {hint, *get_args(hint)}
    try:
        if Schedule in wanted and not (value is None and type(None) in wanted):
            return schedule(SCHEDULE.validate_python(value, strict=True), field)
        if Clip in wanted and value is not None:
            return CLIP.validate_python(value, strict=True).build()
        try:
            adapter: TypeAdapter[Any] = TypeAdapter(hint, config=ConfigDict(strict=True))
            text = json.dumps(value)
        except (PydanticUserError, TypeError):  # a type that only Python can make: the class has to cope
            return value
        return adapter.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = "".join(f"[{key}]" if isinstance(key, int) else "" for key in first["loc"])
        kind = re.sub("_(type|parsing|from_float)$", "", first["type"])
        if hint in (int, float, bool, str) and kind in WANTED:
            raise ScenarioError(field, value, of_the_wrong_type(value, WANTED[kind]), WANTED[kind]) from None
        allowed = SCHEDULES if Schedule in wanted else _name(hint)
        if Schedule in wanted and isinstance(value, str | bool):
            raise ScenarioError(field, value, of_the_wrong_type(value, "a number"), allowed) from None
        said = re.sub(r"\d{20,}", lambda found: f"{float(found[0]):g}", first["msg"].removeprefix("Input "))
        raise ScenarioError(field + where, value, f"wrong type: {said}", allowed) from None


def _name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint).replace("typing.", "")
