"""Descent with noise that cancels: between neighbors by shared seeds (DECOR), within a neighborhood (Zip-DL).

**DECOR.** In round t = 0, 1, … from x⁰ = 0, with ξ ~ N(0, σ²I) and, for each edge, v_ij = −v_ji ~ N(0, σ_cor²I) drawn
from a seed that only i and j hold:

    x_i^{t+½} = x_i − η_t (clip(∇f_i(x_i), C) + ξ_i + Σ_j v_ij),      x_i⁺ = Σ_j w_ij x_j^{t+½}.

Source: Allouah, Koloskova, El Firdoussi, Jaggi, Guerraoui, The Privacy Power of Correlated Noise in Decentralized
Learning, ICML 2024, read in its authors' code, elfirdoussilab1/DECOR at 68ad698 (`utils/optimizers.py`, lines 63–90;
`worker.py`, lines 99–137; `utils/dp_account.py`), of the text the abstract alone. Left out: momentum, weight decay
and batches, which its quadratics do not have either. Condition, without a clip: 0 < η_t < (1 + λ_min(W))/L.

Claim (`rdp_account` and `user_level_rdp`, `utils/dp_account.py`, lines 14–85), of SecLDP for all data of one agent
against who hears every message and holds no seed; L_G is the graph's Laplacian:

    ε₁ = 2C² max_i [(σ²I + σ_cor² L_G)⁻¹]_ii,      ε = Tε₁ + 2√(Tε₁ ln 1/δ).

It is zCDP of T Gaussian releases, each moved by 2C: right where seeds are drawn from anew in each round. With
`colluders` (netsim's own, by the same proof) the rows, columns and edges of those who hold their seeds are left out.
Where the code differs from itself:

- `train.py` draws v once, before its rounds (lines 305–309), and adds the same v in each (line 346), while its σ and
  σ_cor come from the formula above (`reproduce_libsvm.py`, lines 119–140): `seeds` "once". Differences of rounds then
  have none of it: changes that turn from round to round cost μ² = 4TC²/σ², ε ≥ 12.3 where the formula has 10.5.
  The quadratics draw anew (`utils/optimizers.py`, line 80).
- On a complete graph the quadratics add no v at all (`utils/optimizers.py`, line 75).
- `rdp_compose_convert` with a subsampling ratio uses neither the number of iterations nor δ (`utils/dp_account.py`,
  lines 115–119).

**Zip-DL.** In round t = 0, 1, … each agent a has, over its neighbors and itself, Γ_a, d = |Γ_a|,

    x_a^{t+½} = x_a − γ∇f_a(x_a),  Y_a→v ~ N(0, γ²ς²I),  Z_a→v = Y_a→v − Σ_{j∈Γ_a} w_aj Y_a→j / (d w_av),
    m_a→v = x_a^{t+½} + Z_a→v, sent to v alone,  x_a⁺ = Σ_{v∈Γ_a} w_av m_v→a.

Source: Biswas, Frey, Gaudel, Kermarrec, Lerévérend, Pires, Sharma, Taïani, Low-Cost Privacy-Preserving Decentralized
Learning, PoPETs 2025(3), Algorithms 1 and 2 (p. 4); dimiarbre/ZIP-DL, `paper57-2025-3-source.pdf`. Its released
`ZeroSumSharing.py` (dimiarbre/decentralizepy at 1098b30, src/decentralizepy/sharing) differs: noise is not scaled by
γ, it is made larger by √(d/(d − 1)) so that a share has deviation `noise_std`, weights are taken to be equal, and
only with `self_noise` (off unless asked) is a share kept back. Without it the mean of an agent's messages is its
exact model.

Claim (Theorem 5.9, p. 9): none that can be computed. It assumes ∇F(x + Z) ~ N(∇F(x), LΣ) for Z ~ N(0, Σ) (Assumption
5.6), true of no quadratic but of Hessian √L·I, and its first term, t = 0, divides by the variance of noise that has
not yet been drawn: 0/0; in Theorem 5.12, of averaging alone, a number by 0. Both rest on (13) of Appendix B.2 (p.
20), that what nodes see in all rounds and from all neighbors loses at most the sum of what each message loses by
itself. That holds for independent noise; here noise of one message is taken away by others. With equal weights the d
− 1 neighbors together (Remark 5.10) see d(d − 1)/(γς)² times ‖Δ‖² in one round, d − 1 times that sum.

By Σ_v w_av Z_a→v = 0 an agent's next state is x_a^{t+½} + Σ_v w_av (m_v→a − m_a→v), exact given all that passed its
door: changes of the gradient add up in it, against fresh noise in every round.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from netsim.algorithms.algorithm import InRounds, Setting, unmet
from netsim.algorithms.composition import zcdp_epsilon
from netsim.algorithms.mixing import check_smooth
from netsim.algorithms.private_gradient_descent import stable_bound, stable_step
from netsim.arrays import Array
from netsim.bounds import Auto, Index, NonNegative, check
from netsim.claims import Adjacency, Claim, Clip
from netsim.errors import ScenarioError
from netsim.mechanisms import Gaussian
from netsim.node import Node
from netsim.schedules import Constant, Schedule

_STEP = Auto(
    "half of what is stable, (1 + λ_min(W))/(2L)", lambda at: Constant(stable_step(at.smoothness, at.topology) / 2)
)


def _bound(algorithm: "Decor | ZipDL", setting: Setting) -> float:
    """Steps from here on swing ever wider; none does where gradients are clipped."""
    return math.inf if algorithm.clip is not None else stable_bound(algorithm.step, algorithm.rounds, setting)


@dataclass(frozen=True)
class Decor(InRounds):
    """Decentralized gradient descent with noise of its own and noise that cancels between neighbors (DECOR)."""

    step: Annotated[Schedule, _STEP]
    """η_t, the step size by round."""
    stddev: NonNegative = 0.0
    """σ, the deviation of an agent's own Gaussian noise on its gradient, per coordinate."""
    correlated: NonNegative = 0.0
    """σ_cor, the deviation of the noise that two neighbors share, per coordinate."""
    clip: Clip | None = None
    """Gradients are clipped, in ℓ2; none: they are not."""
    seeds: Literal["anew", "once"] = "anew"
    """Whether noise is drawn from the seeds anew in each round, or once and added in all of them."""
    colluders: tuple[Index, ...] = ()
    """The agents whose seeds and noise the adversary of the claim holds."""

    noise_fields = ("stddev", "correlated")
    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for k in range(self.rounds):
            gradient = await node.gradient(x)
            moved = x - self.step(k) * (self.clip(gradient) if self.clip else gradient)
            own, shared = Gaussian(self.step(k) * self.stddev), Gaussian(self.step(k) * self.correlated)
            half = node.privatize(moved, own, shared, None if self.seeds == "anew" else 0)
            x = (await node.exchange(x=half)).mix("x")
            node.estimate(x)

    @property
    def colluding(self) -> tuple[int, ...]:
        return self.colluders

    def check(self, setting: Setting) -> None:
        """No r; steps within `stable_step`, or any where gradients are clipped; colluders that leave somebody."""
        super().check(setting)
        check(self)
        check_smooth(setting, "DECOR")
        bound = _bound(self, setting)
        self._check_steps(self.step, bound, "0 < step < (1 + λ_min(W))/L")
        if len(set(self.colluders)) != len(self.colluders) or max(self.colluders, default=0) >= setting.agents:
            raise ScenarioError(
                "colluders", list(self.colluders), "not agents, each once", f"0 … {setting.agents - 1}"
            )
        if len(self.colluders) >= setting.agents:
            raise ScenarioError("colluders", len(self.colluders), "all collude", f"at most {setting.agents - 1}")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        failed = unmet(
            (self.clip is not None, "no clipping: the algorithm itself bounds no gradient"),
            (self.stddev > 0, "σ = 0: the sum of all releases has no noise"),
            (0 < delta < 1, "δ = 0: Gaussian noise has no pure ε"),
            (setting.topology is not None, "no graph"),
        )
        epsilon = None
        if not failed and self.clip is not None:
            one = 2 * self.clip.l2_bound(setting.dimension) ** 2 * float(np.max(np.diag(self._precision(setting))))
            epsilon = zcdp_epsilon(self.rounds * one, delta)
        source = "SecLDP: zCDP of the noise's covariance; utils/dp_account.py, lines 14–85, of Allouah et al. 2024"
        return Claim(epsilon, delta, source, adjacency, "ℓ2", failed, coins="known")

    def _precision(self, setting: Setting) -> Array:
        """(σ²I + σ_cor² L_G)⁻¹ of the agents that do not collude."""
        honest = [i for i in range(setting.agents) if i not in self.colluders]
        assert setting.topology is not None
        links = setting.topology.adjacency.toarray()[np.ix_(honest, honest)]
        laplacian = np.diag(links.sum(axis=1)) - links
        covariance = self.stddev**2 * np.eye(len(honest)) + self.correlated**2 * laplacian
        return np.asarray(np.linalg.inv(covariance), dtype=np.float64)


@dataclass(frozen=True)
class ZipDL(InRounds):
    """Decentralized gradient descent in which each agent's noise sums to zero over its neighborhood (Zip-DL)."""

    step: Annotated[Schedule, _STEP]
    """γ, the step size by round."""
    stddev: NonNegative = 0.0
    """ς, the deviation of the noise Y, in units of γ, per coordinate."""
    clip: Clip | None = None
    """Gradients are clipped, in ℓ2; none: they are not."""

    noise_fields = ("stddev",)

    async def run(self, node: Node) -> None:
        x = node.zeros()
        came: dict[tuple[int, str], Array] = {}
        for k in range(self.rounds):
            gradient = await node.gradient(x)
            half = x - self.step(k) * (self.clip(gradient) if self.clip else gradient)
            shares = node.split(half, Gaussian(self.step(k) * self.stddev))
            name = ("even", "odd")[k % 2]  # a neighbor may be one round ahead, and no more
            for j in node.neighbors:
                node.send(j, **{name: shares[j]})
            while any((j, name) not in came for j in node.neighbors):
                message = await node.receive()
                came.update({(message.sender, which): value for which, value in message.values.items()})
            x = node.weights[0] * shares[node.id]
            for weight, j in zip(node.weights[1:], node.neighbors, strict=True):
                x = x + weight * came.pop((j, name))
            node.estimate(x)

    @property
    def needs_all_messages(self) -> bool:
        return True

    def check(self, setting: Setting) -> None:
        """No r; steps within `stable_step`, of any size where gradients are clipped."""
        super().check(setting)
        check(self)
        check_smooth(setting, "Zip-DL")
        bound = _bound(self, setting)
        self._check_steps(self.step, bound, "0 < step < (1 + λ_min(W))/L")

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del setting
        failed = (
            "∇F(x + Z) ~ N(∇F(x), LΣ) for Z ~ N(0, Σ) (Assumption 5.6) holds for no quadratic but of Hessian √L·I",
            "the term t = 0 is 0/0: it divides by the variance of noise that has not yet been drawn",
        )
        source = "Theorem 5.9 of Biswas et al. 2025 (pairwise network DP)"
        return Claim(None, delta, source, adjacency, "ℓ2", failed, coins="known")
