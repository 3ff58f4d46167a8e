"""CPGT: gradient tracking with decaying noise, of which only compressed differences go on the wire.

Every agent has copies x^c, y^c of what its neighbors know of it, 0 at first. A round k = 0, 1, …

    x^a = x + Lap(d_x q^k),  y^a = y + Lap(d_y q^k)                  1
    m = C(x^a − x^c),  m' = C(y^a − y^c)   are sent                  2
    x^c += m,  y^c += m'                   by all who know them      3
    x⁺ = x^a + γ Σ_j w_ij (x^c_j − x^c_i) − αy                       4
    y⁺ = y^a + γ Σ_j w_ij (y^c_j − y^c_i) + ∇f(x⁺) − ∇f(x)           5    y⁰ = ∇f(x⁰)

An agent's own noise enters x⁺ in full, through x^a. Of the neighbors' copies only the sums of lines 4 and 5 matter,
and by line 3 they grow by Σ_j w_ij (m_j − m_i): that is how they are kept here. The network encodes what is sent by
the `compressor`, so a message weighs what the compressor says.

With C the identity and γ = 1 this is DiaDSP. Whatever C, γ and α, the noise moves the limit alike:
Σ_i ∇f_i(x^∞) = −ΣΣ η_y (see `netsim.algorithms.diadsp`, also for the claim, which is the same for every compressor,
and for what is wrong with it). Source: the CPGT paper (the form is sure). Its compressors are
`TopK` and `Quantizer`. A compressor has to contract, E‖C(v) − v‖² < ‖v‖², or the copies run away from what they copy:
`RandomK` with its factor d/k does so only for 2k > d, and is refused otherwise.

What is privatized is x − x^c, with the copy that everybody knows: the same noise, and with a compressor that keeps
what it gets the release is on the wire. With a lossy one a replay has to be granted it: the loss is an upper bound.
"""

from dataclasses import dataclass

from netsim.algorithms.algorithm import Setting
from netsim.algorithms.diadsp import DecayingNoise
from netsim.codecs import FLOAT64, Codec, RandomK
from netsim.errors import ScenarioError
from netsim.node import Node


@dataclass(frozen=True)
class Cpgt(DecayingNoise):
    """CPGT: compressed gradient tracking in rounds with decaying noise.

    `gamma` is γ in (0, 1], `compressor` C. Minimizes Σ f_i up to the sum of its noise on y.
    """

    gamma: float = 1.0
    compressor: Codec = FLOAT64

    @property
    def codec(self) -> Codec:
        return self.compressor

    async def run(self, node: Node) -> None:
        x = node.zeros()
        gradient = y = await node.gradient(x)
        copy_x = copy_y = apart_x = apart_y = node.zeros()
        for k in range(self.rounds):
            ahead_x = node.privatize(x - copy_x, self.noise_x(k))  # 1, 2: x^a − x^c
            ahead_y = node.privatize(y - copy_y, self.noise_y(k))
            noisy_x, noisy_y = copy_x + ahead_x, copy_y + ahead_y
            heard = await node.exchange(x=ahead_x, y=ahead_y)
            copy_x = copy_x + heard.told("x")  # 3
            copy_y = copy_y + heard.told("y")
            apart_x = apart_x + (heard.mix("x") - heard.told("x"))
            apart_y = apart_y + (heard.mix("y") - heard.told("y"))
            x = noisy_x + self.gamma * apart_x - self.step * y  # 4
            before, gradient = gradient, await node.gradient(x)
            y = noisy_y + self.gamma * apart_y + gradient - before  # 5
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """DiaDSP's conditions, γ in (0, 1], and a compressor that contracts, as far as that is known."""
        super().check(setting)
        compressor = self.compressor
        if isinstance(compressor, RandomK) and compressor.unbiased:
            kept = compressor.kept(setting.dimension)
            if 2 * kept <= setting.dimension:
                problem = f"does not contract: E‖C(v) − v‖² = (d/k − 1)‖v‖², d = {setting.dimension}, k = {kept}"
                raise ScenarioError("compressor", str(compressor), problem, "unbiased: false, or 2k > d")
        if not 0 < self.gamma <= 1:
            raise ScenarioError("gamma", self.gamma, "no share of the way to the neighbors", "0 < γ <= 1")
