"""Command `netsim deploy`: its agents here, on other machines, in containers, and programs in their place."""

import os
import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from netsim.errors import ScenarioError
from scenarios.cli.options import (
    AsJson,
    Jobs,
    Out,
    Replace,
    Scenario,
    Settings,
    Strict,
    Variant,
    bounded,
    command,
    dated_folder,
    given,
    refuse,
    repeated,
)
from scenarios.cli.run import carry_out
from scenarios.render import terminal

if TYPE_CHECKING:
    from netsim.readers.deployed.deploy import Deployment

PORT, FOLDER, HOSTS = 7000, "/work", "/hosts.yaml"
"""Where everybody listens in a container of his own, and has the folder of the command, and the file of hosts."""


@command(
    "deploy",
    "netsim deploy eavesdropper-on-dp-recal",
    "netsim deploy private-descent --tls --out results/sealed",
    "netsim deploy lossy-tap --speed 10",
    "netsim deploy private-descent --agents-on hosts.yaml --ssh",
)
def _deploy(
    scenario: Scenario,
    out: Out = None,
    jobs: Jobs = -1,
    option: Settings = None,
    variant: Variant = None,
    replace: Replace = False,
    tls: Annotated[
        bool | None,
        typer.Option("--tls/--clear", help="Links are TLS 1.3, or in the clear. Default: as the scenario's links."),
    ] = None,
    speed: Annotated[float, bounded(1e-3, 1e3, help="Scenario seconds in a real second.")] = 1.0,
    restart: Annotated[bool, typer.Option("--restart", help="Start an agent that dies anew.")] = False,
    patience: Annotated[float, bounded(1.0, None, help="Real seconds in which something has to happen.")] = 30.0,
    agents_on: Annotated[
        Path | None,
        given("--agents-on", metavar="HOSTS.yaml", help="Where agents run; their command lines are printed."),
    ] = None,
    ssh: Annotated[bool, typer.Option("--ssh", help="Start the agents on other hosts by ssh.")] = False,
    outside: Annotated[
        list[str] | None,
        given("--outside", metavar="AGENT=PROGRAM", help="Run this program in the place of an agent; repeatable."),
    ] = None,
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Capture by a packet socket of the kernel, without relays.")
    ] = False,
    namespaces: Annotated[
        bool, typer.Option("--namespaces", help="Give every agent a network namespace of its own (Linux, root).")
    ] = False,
    compose: Annotated[
        Path | None,
        given("--compose", metavar="FILE", help="Write a compose file with a service for each agent; run nothing."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show time, packets and waiting agents.")] = False,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario with a process for every agent: they talk over TCP on this machine, and taps capture packets.

    A relay on each link that is tapped, or whose law is not that of bare loopback, carries out the law in real time.
    The transcript is rebuilt from the captured packets and goes to the same attacks as that of `netsim run`, into the
    same kind of folder; captures and logs of agents are in deployed-ALGORITHM/. `replicas` is 1. Audits are
    simulated. Other machines, containers, and programs of your own as agents: docs/deploy.md, docs/tap-your-own.md.

    Exit status: 0 done; the others are those of `netsim run`, and 1 also where a program in an agent's place does not
    follow the algorithm, 3 where that cannot be said.
    """
    from netsim.readers.deployed.deploy import Deployment
    from scenarios.schema.load import load_hosts

    settings, folder = ["replicas=1", *(option or [])], out
    said = {"--tls": tls is True, "--clear": tls is False, "--restart": restart}
    said |= {"--kernel": kernel, "--namespaces": namespaces}
    said |= {f"--speed {speed:g}": speed != 1, f"--patience {patience:g}": patience != 30}
    said |= {f"--agents-on {shlex.quote(str(agents_on))}": agents_on is not None, "--ssh": ssh}
    said |= {f"--outside {shlex.quote(one)}": True for one in outside or []}
    word = " ".join(["deploy", *(flag for flag, whether in said.items() if whether)])
    try:
        deployed = Deployment(
            tls=tls,
            speed=speed,
            restart=restart,
            patience=patience,
            hosts=None if agents_on is None else load_hosts(agents_on),
            ssh=ssh,
            outside=dict(map(_place_taken, outside or [])),
            kernel=kernel,
            namespaces=namespaces,
            announce=lambda line: terminal.apart(as_json).print(line, soft_wrap=True, highlight=False, markup=False),
        )
        if compose is not None:
            others = {"--agents-on": agents_on, "--ssh": ssh, "--outside": outside}
            for name, what in {**others, "--kernel": kernel, "--namespaces": namespaces}.items():
                refuse(name, what, "in a compose file every agent is a service", f"without {name}")
            _write_compose(compose, folder, word, scenario, settings, variant, deployed, as_json)
            return
    except ScenarioError as error:
        terminal.fail(error, options={"agents_on": "--agents-on", "ssh": "--ssh"}, as_json=as_json)
    carry_out(word, scenario, out, jobs, settings, variant, replace, watch, strict, as_json, deployed)


def _place_taken(text: str) -> tuple[int, str]:
    """AGENT=PROGRAM."""
    agent, apart, program = text.partition("=")
    if not apart or not agent.strip().isdecimal():
        raise ScenarioError(
            "--outside", text, "says no agent and program", "AGENT=PROGRAM, such as '2=python3 mine.py'"
        )
    return int(agent), program


# ── containers ──────────────────────────────────────────────────────────────────────────────────────────
def _write_compose(
    file: Path,
    out: Path | None,
    word: str,
    scenario: str,
    settings: list[str],
    variant: str | None,
    deployed: "Deployment",
    as_json: bool,
) -> None:
    """The compose file of a scenario that can be deployed, and how it is used."""
    from netsim.readers.deployed.deploy import checked as checked_deployment
    from netsim.readers.deployed.hosts import Host, Hosts, Place, versions
    from scenarios.files.document import as_yaml
    from scenarios.files.folders import whole
    from scenarios.results.header import slug
    from scenarios.schema.load import alone, load_scenario
    from scenarios.stages.outputs import DEPLOYED
    from scenarios.stages.runner import checked

    located = load_scenario(scenario, settings)
    located = located if variant is None else alone(located, variant)
    subject, *others = checked(located).subjects
    if others:
        names = ", ".join(one.spec.name for one in (subject, *others))
        raise ScenarioError("algorithms", names, "the services are those of one algorithm", "a scenario with one")
    if (path := Path(located.file)).is_file() and not path.resolve().is_relative_to(Path.cwd()):
        raise ScenarioError("scenario", str(path), "containers see this folder alone", "a file below it")
    simulation, folder = subject.simulation, out or dated_folder(located.scenario.name)
    agents = tuple(Host(f"agent-{i}", PORT) for i in range(simulation.topology.agents))
    hosts = Hosts(Place("coordinator", PORT), agents)
    checked_deployment(simulation, replace(deployed, hosts=hosts))
    begin = [*shlex.split(repeated(f"netsim {word}", scenario, settings, variant)), "--out", str(folder)]
    files = [folder / f"{DEPLOYED}{slug(subject.spec.name, ())}" / f"agent-{i}.errand" for i in range(len(agents))]
    every: dict[str, object] = {
        "image": f"${{NETSIM_IMAGE:?an image that has {versions()}}}",
        "user": f"{os.getuid()}:{os.getgid()}",
        "working_dir": FOLDER,
        "volumes": [{"type": "bind", "source": _plain([str(Path.cwd())])[0], "target": FOLDER}],
    }
    services: dict[str, object] = {
        "coordinator": {
            **every,
            "command": _plain([*begin, "--agents-on", HOSTS]),
            "configs": [{"source": "hosts", "target": HOSTS}],
            "healthcheck": {"test": _plain(["CMD", "test", "-s", str(files[-1])]), "interval": "1s", "retries": 600},
        }
    }
    for i, agent in enumerate(agents):
        ready = {"coordinator": {"condition": "service_healthy"}}
        services[agent.address] = {**every, "command": _plain(hosts.command(i, files[i])), "depends_on": ready}
    tree = {"services": services, "configs": {"hosts": {"content": as_yaml(asdict(hosts))}}}
    with whole(file) as draft:
        draft.write_text(as_yaml(tree), encoding="utf-8")
    if as_json:
        terminal.write_document({"exit_status": terminal.DONE, "file": str(file), "services": [*services]})
    else:
        terminal.line(f"{len(services)} services; run them: NETSIM_IMAGE=… docker compose -f {file} up")


def _plain(words: list[str]) -> list[str]:
    """Words in which compose replaces nothing."""
    return [word.replace("$", "$$") for word in words]
