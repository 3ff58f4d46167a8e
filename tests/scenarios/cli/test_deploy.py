"""`netsim deploy`: the folder of a run whose agents were processes, and what is refused before they start."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from netsim.readers.deployed.hosts import versions
from netsim.transcript import Transcript
from tests.netsim.readers.test_deployed import free_ports
from tests.scenarios.command import cli

SCENARIO = """
name: small
seed: 3
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 40, dimension: 3}, ridge: 0.5}
topology: {kind: ring, agents: 4}
adversary: {links: all}
algorithms: [{kind: extra, rounds: 6}]
replicas: 5
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    return path


@pytest.mark.slow
def test_a_deployed_run_leaves_the_folder_of_a_simulated_one(file):
    """The same files and messages, beside captures and logs; both are compared."""
    simulated = cli("run", file, "--out", "run", "-o", "replicas=1")
    done = simulated, cli("deploy", file, "--out", "deploy")
    assert [one.exit_code for one in done] == [0, 0], done[1].output
    assert "between processes, captured on TCP" in " ".join(done[1].output.split())
    names = {word: {one.name for one in (file.parent / word).iterdir()} for word in ("run", "deploy")}
    assert names["deploy"] - names["run"] == {"deployed-extra"}
    assert names["run"] <= names["deploy"]
    rows = [Transcript.read(file.parent / word / "transcript-extra.parquet").on_links() for word in ("run", "deploy")]
    said = [
        sorted((r.sender, r.receiver, r.number, {n: v.tobytes() for n, v in r.values.items()}) for r in one)
        for one in rows
    ]
    assert said[0] == said[1]
    found = json.loads((file.parent / "deploy" / "results.json").read_text())["algorithms"][0]
    assert found["run"]["deployed"] is True
    assert found["gradients"]["estimated"] > 0
    cli("compare", "run", "deploy", ends=0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "timing.activation={rate: 1.0}"], "timing"),
        (["-o", "links.encrypted=true", "--clear"], "encrypted or authenticated"),
        (["--tls", "-o", "links.loss=0.1", "-o", "links.reliable=false"], "one stream"),
        (["--kernel", "-o", "links.loss=0.1"], "--kernel: a law of a link"),
        (["--speed", "0"], "--speed"),
    ],
)
def test_what_cannot_be_deployed_is_said_before_anything_starts(file, options, words):
    done = cli("deploy", file, "--out", "out", *options, ends=2)
    assert words in " ".join(done.output.split())
    assert not (file.parent / "out").exists()


# ── other machines, containers, programs ────────────────────────────────────────────────────────────────
ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "tap-your-own.md"


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The program and the scenario of the page, as they stand."""
    monkeypatch.chdir(tmp_path)
    for name in ("mine.py", "mine.yaml"):
        block = re.search(rf"^```\w+\n(# {name}\n.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
        (tmp_path / name).write_text(block[1])


@pytest.mark.parametrize(
    ("forget", "status", "words"),
    [
        ("", 0, "what the algorithm sends, up to noise of which no test finds another law; had its data added"),
        (" --forget", 1, "there is no noise"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_a_program_in_an_agents_place_is_judged_by_replay(tmp_path, forget, status, words):
    """Also by attacks, which infer its gradients and score those of the others."""
    assert sum(map(bool, (tmp_path / "mine.py").read_text().splitlines())) <= 60
    program = f"{sys.executable} mine.py{forget}"
    cli("deploy", "mine.yaml", "--out", "out", "--outside", f"2={program}", "--json", ends=status)
    found = json.loads((tmp_path / "out" / "results.json").read_text())["algorithms"][0]
    (one,) = found["outside_programs"]
    assert (one["agent"], one["program"], one["follows"]) == (2, program, not forget)
    assert words in one["reason"]
    assert one["noise_numbers"] == 90
    assert found["gradients"]["queries"] == 3 * 30
    assert not list((tmp_path / "out").rglob("agent-2.json")), "it has the agent's data"


@pytest.mark.usefixtures("mine")
def test_of_a_program_whose_coins_nobody_knows_it_is_said_that_nothing_is_known(tmp_path):
    """The published algorithm draws batches of records, and this program may have: another status than follows."""
    program = ["--outside", f"2={sys.executable} mine.py"]
    done = cli("deploy", "mine.yaml", "--out", "out", *program, "-o", "algorithms[0].batch=2", ends=3)
    assert "was not judged: after that its messages depend on private coins" in " ".join(done.output.split())
    found = json.loads((tmp_path / "out" / "results.json").read_text())["algorithms"][0]
    assert found["outside_programs"][0]["follows"] is None


def test_a_program_that_ends_ends_the_run_with_its_last_words(file):
    cli(
        "deploy", file, "--out", "out", "--outside", f"1={sys.executable} nowhere.py", ends=70,
        output=("agent 1 ended with status 2", "nowhere.py"),
    )  # fmt: skip


HOSTS = """\
coordinator: {address: 127.0.0.1, port: 7000}
agents: [{address: 127.0.0.1, port: 7001}, {address: 127.0.0.1, port: 7002}]
"""


@pytest.mark.parametrize(
    ("hosts", "options", "words"),
    [
        (HOSTS, [], "places for agents; the scenario has 4 agents"),
        (HOSTS.replace("7002", "7001"), [], "hosts.yaml:2: agents[1].port = 7001: agent 0 listens there"),
        (HOSTS.replace("port: 7002", "prt: 7002"), [], "did you mean 'port'?"),
        (HOSTS.replace("7000", "70000"), [], "hosts.yaml:1: coordinator.port = 70000"),
        (HOSTS, ["--compose", "it.yaml"], "every agent is a service"), (None, ["--ssh"], "--ssh: which machines?"),
        (None, ["--outside", "two=x"], "AGENT=PROGRAM"), (None, ["--outside", "9=x"], "no such agent"),
    ],
)  # fmt: skip
def test_what_is_no_place_is_said_in_a_line(file, hosts, options, words):
    if hosts is not None:
        (file.parent / "hosts.yaml").write_text(hosts)
        options = ["--agents-on", "hosts.yaml", *options]
    done = cli("deploy", file, "--out", "out", *options, ends=2)
    assert words in " ".join(done.output.split())
    assert not (file.parent / "out").exists()


def test_the_services_of_a_compose_file_are_a_run(file):
    """Their commands, dependencies and files, with the machine's own address in the place of the services' names."""
    cli(
        "deploy", "small.yaml", "--out", "out", "-o", "topology.agents=3", "--compose", "it.yaml", ends=0,
        output="docker compose -f it.yaml up",
    )  # fmt: skip
    tree = YAML(typ="safe").load((file.parent / "it.yaml").read_text())
    services = tree["services"]
    assert list(services) == ["coordinator", "agent-0", "agent-1", "agent-2"]
    assert {one["image"] for one in services.values()} == {f"${{NETSIM_IMAGE:?an image that has {versions()}}}"}
    assert all(one["volumes"][0]["source"] == str(file.parent) for one in services.values())
    assert all(one["volumes"][0]["target"] == one["working_dir"] for one in services.values())
    hosts = YAML(typ="safe").load(tree["configs"]["hosts"]["content"])
    assert [one["address"] for one in (hosts["coordinator"], *hosts["agents"])] == list(services)
    base = free_ports(20)
    for k, one in enumerate((hosts["coordinator"], *hosts["agents"])):
        one["address"], one["port"] = "127.0.0.1", base + 10 * bool(k) + k
    (file.parent / "hosts.yaml").write_text(json.dumps(hosts))
    main = "import sys; from scenarios.cli.app import main; sys.argv[0] = 'netsim'; main()"
    started = []

    def start(service: str) -> subprocess.Popen:
        words = [word.replace("/hosts.yaml", "hosts.yaml") for word in services[service]["command"]]
        program = ["-c", main] if words[0] == "netsim" else []
        assert words[0] in ("netsim", "python3")
        started.append(
            subprocess.Popen([sys.executable, *program, *words[1:]], env=os.environ | {"PYTHONPATH": str(ROOT)})
        )
        return started[-1]

    try:
        coordinator, check = start("coordinator"), services["coordinator"]["healthcheck"]["test"][1:]
        end = time.monotonic() + 120
        while subprocess.run(check, check=False).returncode:
            assert time.monotonic() < end
            time.sleep(0.5)
        for name in list(services)[1:]:
            assert services[name]["depends_on"] == {"coordinator": {"condition": "service_healthy"}}
            start(name)
        assert [one.wait(120) for one in started] == [0, 0, 0, 0]
        assert coordinator.returncode == 0
    finally:
        for one in started:
            one.kill()
            one.wait()
    assert json.loads((file.parent / "out" / "results.json").read_text())["status"] == "complete"
