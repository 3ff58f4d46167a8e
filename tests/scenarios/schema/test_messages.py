"""Codecs as scenarios describe them."""

import json

import pytest

from netsim.codecs import FixedPoint, Float16, Float32, Float64, Quantizer, RandomK, ScaledSign, TopK
from netsim.errors import ScenarioError
from scenarios.build.experiment import Experiment
from scenarios.schema.load import parse
from scenarios.stages.runner import checked, run_scenario

FORM = """\
name: coded
seed: 3
problem:
  data: {{name: digits, norm_bound: 4.0}}
topology: {{kind: ring, agents: 5}}
messages: {messages}
algorithms:
  - {{kind: private_gradient_descent, rounds: 6, clip: {{bound: 1.0}}, scale: {{epsilon: 2.0}}}}
"""
AUDIT = "audit: {agent: 1, trials: 200, chunk: 100}\n"


def built(messages: str):
    return Experiment.of(parse(FORM.format(messages=messages), "coded.yaml").scenario).subjects[0].simulation


@pytest.mark.parametrize(
    ("said", "codec"),
    [
        ("{kind: float64}", Float64()),
        ("{kind: float32}", Float32()),
        ("{kind: float16}", Float16()),
        ("{kind: fixed_point, bits: 12, limit: 3}", FixedPoint(12, 3.0)),
        ("{kind: fixed_point, limit: 0.5, rounding: stochastic}", FixedPoint(16, 0.5, "stochastic")),
        ("{kind: top_k, k: 6}", TopK(6)),
        ("{kind: top_k, fraction: 0.1}", TopK(fraction=0.1)),
        ("{kind: random_k, k: 6, unbiased: false}", RandomK(6, unbiased=False)),
        ("{kind: quantizer, bits: 2, norm: linf}", Quantizer(2, "linf")),
        ("{kind: scaled_sign}", ScaledSign()),
    ],
)
def test_everything_a_file_says_reaches_the_simulation(said, codec):
    simulation = built(f"{{codec: {said}, header: 12}}")
    assert simulation.network.codec == codec
    assert simulation.public().codec == codec
    assert simulation.network.header_bytes == 12


def test_nothing_said_is_float64_and_the_usual_header():
    simulation = built("{}")
    assert (simulation.network.codec, simulation.network.header_bytes) == (Float64(), 20)


@pytest.mark.parametrize(
    ("messages", "field", "said"),
    [
        ("{codec: {kind: float31}}", "messages.codec.kind", "float32"),
        ("{codec: {kind: fixed_point}}", "messages.codec.limit", "missing"),
        ("{codec: {kind: fixed_point, limit: 1.0, bits: 40}}", "messages.codec.bits", "<= 32"),
        ("{codec: {kind: fixed_point, limit: 0}}", "messages.codec.limit", "> 0"),
        ("{codec: {kind: fixed_point, limit: 1e-310}}", "messages.codec.limit", "not denormal"),
        ("{codec: {kind: top_k}}", "messages.codec.k", "k, or a fraction"),
        ("{codec: {kind: top_k, k: 3, fraction: 0.5}}", "messages.codec.k", "k, or a fraction"),
        ("{codec: {kind: quantizer, norm: l1}}", "messages.codec.norm", "linf"),
        ("{header: -1}", "messages.header", ">= 0"),
    ],
)
def test_one_clear_message(messages, field, said):
    with pytest.raises(ScenarioError) as caught:
        checked(parse(FORM.format(messages=messages), "coded.yaml"))
    assert caught.value.field == field
    assert said in str(caught.value)
    assert caught.value.line == 6


@pytest.mark.slow
def test_a_scenario_under_a_codec_is_run_and_judged(tmp_path):
    text = FORM.format(messages="{codec: {kind: float32}, header: 8}") + AUDIT
    results = run_scenario(parse(text, "coded.yaml"), tmp_path / "out")
    (entry,) = results.algorithms
    assert entry.gradients.refused.startswith("Float32() changes what is sent")
    assert entry.audit.verdict == "consistent"
    assert entry.audit.black_box_refused.startswith("Float32() changes")
    assert not entry.audit.epsilon_exact.upper_bound_only
    assert (tmp_path / "out" / "report.html").exists()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["scenario"]["messages"] == {"codec": {"kind": "float32"}, "header": 8}
