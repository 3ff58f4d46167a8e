"""False alarms: whole audits of sound mechanisms whose claim is just true."""

from collections.abc import Callable
from dataclasses import dataclass

from attacks.audit.audit import Audit, audit
from attacks.audit.verdict import RESOLUTION, ROUNDING, Verdict
from netsim.errors import PrivacyError
from netsim.randomness import Streams
from scenarios.certificate.rows import Outcome
from scenarios.certificate.worlds import SOUND, Auditor, World

PART = "sound"
CLAIMS = (0.5, 1.0, 2.0, 4.0)
"""In turn, repetition by repetition."""
TRIALS = 400
ALARM, GAME, EXACT = "false alarm", "game above the truth", "exact interval misses the truth"
SELF_CHECK, DISAGREEMENT, REFUSED = "self-check failed", "game and exact loss disagree", "refused otherwise"
EXACTLY, PROVEN = "exact, of the truth", "proven by the game, of the truth"
LOW_P = "noise law p < 1%, direction 1", "noise law p < 1%, direction 2"
LOW = 0.01
REFUSALS = {"a self-check failed": SELF_CHECK, "the game proves": DISAGREEMENT}
"""What an audit's refusal says, and what it is called here."""
BROKEN = frozenset({Verdict.REFUTED, Verdict.UNPROTECTED})


@dataclass(frozen=True)
class SoundCase:
    """One sound mechanism, audited again and again with new seeds; `auditor` may be another one than ours."""

    name: str
    build: Callable[[float], World]
    trials: int = TRIALS
    auditor: Auditor = audit
    part: str = PART

    def once(self, repetition: int, streams: Streams) -> Outcome:
        world = self.build(CLAIMS[repetition % len(CLAIMS)])
        try:
            found = world.audited(self.trials, streams, self.auditor)
        except PrivacyError as error:
            return Outcome(frozenset({refusal(error)}), {})
        numbers = {EXACTLY: found.epsilon_exact / world.truth, PROVEN: found.epsilon_audited / world.truth}
        return Outcome(
            frozenset(_marks(found, world.truth)), {name: round(value, 4) for name, value in numbers.items()}
        )


def refusal(error: PrivacyError) -> str:
    """Why there was no verdict."""
    return next((name for words, name in REFUSALS.items() if words in str(error)), REFUSED)


def sound_cases() -> list[SoundCase]:
    return [SoundCase(name, build) for name, build in SOUND.items()]


def _marks(found: Audit, truth: float) -> list[str]:
    room = ROUNDING * truth + RESOLUTION
    marks: list[str] = []
    if found.judgement.verdict in BROKEN:
        marks.append(ALARM)
    if found.epsilon_audited > truth:
        marks.append(GAME)
    if any(e.epsilon.lower > truth + room or e.epsilon.upper < truth - room for e in found.exact):
        marks.append(EXACT)
    return marks + [mark for mark, e in zip(LOW_P, found.exact, strict=True) if e.noise.p < LOW]
