"""The command line: what it prints, and its exit status."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from scenarios.files.library import library, plain_tree, variant_names
from scenarios.results.numbers import show
from scenarios.schema.load import with_schema_line
from tests.scenarios.command import cli
from tests.scenarios.own_algorithm import MINE
from tests.scenarios.small import SMALL, TINY

LOSES = ("-o", "links.loss=0.3", "-o", "links.reliable=false")
QUICK = "name: quick\ntopology: {kind: ring, agents: 3}\nalgorithms: [{kind: recal, activations: 6}]\n"


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.mark.slow
def test_show_prints_the_file_with_the_place_of_its_schema_on_this_machine():
    for name, text in library().items():
        lines = cli("show", name).output.removeprefix(with_schema_line(text)).splitlines()
        assert len(lines) == bool(variant_names(plain_tree(name)))  # a comment that counts them
        assert all(line.startswith("# ") and " variants: " in line for line in lines)
    cli("show", "nothing", ends=2)


def test_run_says_the_verdicts_and_where_the_report_is(file):
    done = cli("run", file, "--out", "out", env={"COLUMNS": "200"})
    assert done.exit_code == 1  # a claim is unprotected
    listener = "The audit's listener records all that agent 1 sends and receives, and knows the algorithm."
    assert listener in " ".join(done.output.split())
    assert "unprotected" in done.output
    assert "underpowered" in done.output
    assert "agent 1 was active 2 times in this run, and the claim is of 6" in " ".join(done.output.split())
    assert "240 of 240 private gradients recovered" in done.output
    assert "6 of 6 training images rebuilt" in done.output
    assert "No training image rebuilt" in done.output
    assert "out/report.html" in done.output
    assert (file.parent / "out" / "report.html").exists()


@pytest.mark.slow
def test_without_a_false_claim_the_status_is_0(file):
    file.write_text(TINY)
    cli("run", file, ends=0)
    assert len(list((file.parent / "results" / "tiny").iterdir())) == 1  # a folder of its own per run


def test_wrong_input_is_one_line_and_status_2(file):
    file.write_text(SMALL.replace("loss: 0.1", "loss: 2"))
    done = cli("run", file, ends=2)
    message = done.stderr.strip()
    assert message.count("\n") == 0
    assert "small.yaml:12: links.loss = 2: out of range; allowed: >= 0.0 and < 1" in message
    assert not (file.parent / "results").exists()


def test_a_lost_baton_is_told_and_status_70(file):
    file.write_text(SMALL.replace("reliable: true", "reliable: false"))
    done = cli("run", file, "--json")
    told = json.loads(done.stdout)
    assert done.exit_code == told["exit_status"] == 70
    assert "DeadlockError" in done.stderr
    assert "waits for any message from" in done.stderr
    assert "1 packet was lost" in done.stderr
    assert "writing the report" not in done.stderr
    assert "Set links.reliable: true, or links.loss: 0." in done.stderr
    (folder,) = (file.parent / "results" / "small").iterdir()
    assert (told["error"]["type"], told["folder"]) == ("DeadlockError", str(folder.relative_to(file.parent)))
    assert f"{folder.relative_to(file.parent)}/report.html" in done.stderr
    written = json.loads((folder / "results.json").read_text())
    assert written["status"] == "failed"
    assert written["error"]["type"] == "DeadlockError"
    assert "waits for any message" in written["error"]["message"]
    assert "This scenario failed." in (folder / "report.html").read_text()


def test_a_defect_is_told_in_full_and_is_no_finding(file, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("of its own")

    monkeypatch.setattr("scenarios.stages.study.run_scenario", broken)
    cli("run", file, ends=70, stderr=("Traceback", "ZeroDivisionError: of its own"))


@pytest.mark.parametrize("where", ["small.yaml", "small.yaml/foo", "/dev/null/foo", "/proc/foo", "."])
def test_a_folder_that_cannot_be_used_is_refused_before_anything_runs(file, where):
    before = sorted(file.parent.iterdir())
    done = cli("run", file, "--out", where, ends=2, stderr=f"--out = {where!r}: ")
    assert "running" not in done.output
    assert sorted(file.parent.iterdir()) == before


@pytest.mark.parametrize("jobs", ["0", "-2"])
def test_a_number_of_processes_that_is_none_is_refused(file, jobs):
    cli("run", file, "--jobs", jobs, ends=2, stderr=f"--jobs = {jobs}: not a number of processes; allowed: -1")
    assert not (file.parent / "results").exists()


def netsim(*words, cwd, **options):
    command = [sys.executable, "-c", "from scenarios.cli.app import main; main()", *words]
    return subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.mark.slow
def test_a_terminal_that_knows_no_epsilon_is_no_reason_to_crash(file):
    file.write_text(QUICK)
    done = netsim("run", str(file), cwd=file.parent, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    output, errors = done.communicate(timeout=120)
    assert done.returncode == 0, errors
    assert b"? checking" in output


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
@pytest.mark.parametrize("command", [["run", "small.yaml", "--out", "out"], ["list"]])
def test_a_reader_who_has_seen_enough_is_no_finding(file, command):
    file.write_text(QUICK)
    done = netsim(*command, cwd=file.parent)
    done.stdout.close()
    errors = done.stderr.read()
    assert done.wait(timeout=120) == 0, errors
    assert errors == b""
    assert command[0] != "run" or (file.parent / "out" / "report.html").exists()


def test_check_says_in_a_line_whether_it_can_run(file):
    done = cli("check", file, ends=0)
    can = "small: can be run: 3 algorithms on a ring of 6, 360 records"
    takes = r"\. About \d+ s on one core \(run about \d+ s and [\d.]+ [kM]B, audit about .*\)\.\n"
    assert re.fullmatch(can + takes, " ".join(done.output.split()) + "\n")
    file.write_text(SMALL.replace("[0, 5]", "[0, 4]"))
    cli("check", file, ends=2, stderr="small.yaml:15: adversary.links[2] = [0, 4]")
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    "fields", [("seed=1", "seed=2"), ("algorithms[0].activations=3", "algorithms.0.activations=2")]
)
def test_of_two_settings_of_a_field_the_last_counts_and_that_is_said(file, fields):
    both = [word for one in ("links.loss=0.1", *fields) for word in ("-o", one)]
    found = cli("check", file, *both, ends=0)
    path, _, now = fields[1].partition("=")
    assert f"-o {path} is set twice: {now!r} counts, and not {fields[0][-1]!r}." in " ".join(found.stderr.split())
    assert "set twice" not in cli("check", file, "-o", "seed=1", "-o", "seed=1", ends=0).output


def test_check_says_which_claim_is_undefined_and_what_defines_it(file):
    file.write_text(TINY.replace("clip: {bound: 1.0}, scale: {epsilon: 4.0}", "scale: 0.5"))
    says = "mine: its claim will be undefined: no clipping: the algorithm itself bounds no gradient"
    cli("check", file, ends=0, stderr=f"{says} (-o 'algorithms[0].clip={{bound: 1.0, norm: l1}}')\n")
    (one,) = json.loads(cli("check", file, "--json", ends=0).stdout)["undefined_claims"]
    assert (one["algorithm"], one["epsilon"], one["remedy"][:20]) == ("mine", None, "-o 'algorithms[0].cl")
    assert one["failed_conditions"][0].startswith("no clipping: the algorithm itself bounds no gradient")
    clip = "algorithms[0].clip={bound: 1.0, norm: l1}"
    assert "undefined" not in cli("check", file, "-o", clip, ends=0).output
    assert json.loads(cli("check", file, "-o", clip, "--json", ends=0).stdout)["undefined_claims"] == []


def test_check_says_who_may_wait_forever_and_what_mends_it(file):
    says = "links.reliable is false: a packet that is lost or rejected is not sent again, and who waits for it waits"
    loses = LOSES
    cli("check", file, *loses, ends=0, stderr=says)
    assert json.loads(cli("check", file, *loses, "--json", ends=0).stdout)["waits_forever"].startswith(says)
    for mended in ("links.reliable=true", "links.loss=0"):
        assert "waits forever" not in cli("check", file, *loses, "-o", mended, ends=0).output
    buffered = ("links.bandwidth=1000", "links.buffer=100", "links.reliable=false")
    found = cli("check", file, *(word for one in buffered for word in ("-o", one)), ends=0, stderr=says)
    assert "Set links.reliable: true. (" in " ".join(found.stderr.split())  # no loss that 0 would mend


def test_check_says_who_waits_for_a_single_message_which_has_no_deadline(file):
    one_by_one = """
    async def run(self, node):
        for _ in range(self.rounds):
            node.broadcast(x=node.privatize(node.zeros(), Laplace(1.0)))
            await first(node)
            node.estimate(await node.gradient(node.zeros()))


async def first(node):
    return await node.receive()
"""
    shipped = cli("check", file, *LOSES, "-o", "exchange.deadline=0.5", ends=0).stderr
    assert "with it waits: plain (Recal), leaky (DPRecal)" in " ".join(shipped.split())
    head, _, _ = MINE.partition("    async def run")
    (file.parent / "waits.py").write_text(f"{head.rstrip()}\n{one_by_one}")
    (file.parent / "mine.py").write_text(MINE)
    own = "algorithms: [{kind: python, name: own, path: mine.py, parameters: {rounds: 3}}]\n"
    text = TINY.partition("algorithms:")[0] + own
    loses = *LOSES, "-o", "exchange.deadline=0.5"
    for code, waits in (("mine.py", False), ("waits.py", True)):
        file.write_text(text.replace("mine.py", f"{code}:TwoExchanges"))
        found = json.loads(cli("check", file, *loses, "--json", ends=0).stdout)["waits_forever"]
        assert bool(found) == waits
        if waits:
            assert re.search(
                r"node.receive has no deadline; with it waits: own \(TwoExchanges, waits.py:\d+\)\.$", found
            )


@pytest.mark.slow
def test_nobody_is_said_to_claim_nothing_who_was_not_asked(file):
    file.write_text(SMALL.replace("audit: {agent: 1, trials: 100, chunk: 100}", ""))
    done = cli("run", file, ends=0)
    assert done.output.count("This scenario asks for no audit.") == 3
    assert "no claim" not in done.output


WITHOUT_NOISE = """\
name: silent
topology: {kind: ring, agents: 3}
problem: {data: {name: synthetic, norm_bound: 1.0, records: 30, dimension: 3}}
algorithms:
  - {kind: private_gradient_descent, name: silent, baseline: true, rounds: 4}
  - {kind: private_gradient_descent, name: noisy, rounds: 4, scale: 5.0, clip: {bound: 1.0}}
audit: {trials: 60, chunk: 60}
"""


@pytest.mark.slow
def test_what_was_never_claimed_is_told_and_is_no_broken_claim(file):
    file.write_text(WITHOUT_NOISE)
    done = cli("run", file, "--out", "out")
    text = " ".join(done.output.split())
    assert "silent: unprotected. A baseline, to compare the others with. Private data leaves in a message" in text
    assert "why Nothing is claimed (no clipping" in text
    assert done.exit_code == 0, done.output + done.stderr
    page = (file.parent / "out" / "report.html").read_text()
    assert "The audited privacy claim holds: proven." in page
    assert "Audited without a claimed number: 1 unprotected." in page
    silent, noisy = json.loads((file.parent / "out" / "results.json").read_text())["algorithms"]
    assert "no noise on what is sent" in silent["summary"]
    assert "Laplace noise on what is sent" in noisy["summary"]
    assert silent["audit_status"] == noisy["audit_status"] == "done"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_keeps_the_folder_and_gives_status_130(file):
    file.write_text(SMALL.replace("activations: 240", "activations: 10000000"))
    process = netsim("run", str(file), "--out", "out", cwd=file.parent, text=True)
    deadline = time.monotonic() + 300
    while not (file.parent / "out" / "results.json").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, output + errors
    assert "Interrupted" in errors
    assert f"Continue with: netsim run {file} --out out" in errors
    assert "Traceback" not in errors
    assert '"status": "interrupted"' in (file.parent / "out" / "results.json").read_text()
    assert (file.parent / "out" / "transcript-plain.parquet").exists()
    assert "plain: not reached" in output
    assert "no claim" not in output


ROUNDS = """\
name: rounds
title: Rounds
topology: {kind: ring, agents: 5}
problem: {data: {name: synthetic, records: 30, dimension: 3}}
NETWORK
algorithms: [{kind: private_gradient_descent, name: descent, rounds: 8}]
"""


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("network", "said"),
    [
        ("", "35 of 40 private gradients (all but each agent's last) recovered from the wire, the worst| packets, "),
        ("messages: {codec: {kind: float32}}", "No attack on the gradients: "),
        ("adversary: {links: []}", "None of 40 private gradients could be inferred from what was tapped."),
        ("adversary: {insiders: [0]}", "None of 32 private gradients could be inferred by the adversary."),
        ("medium: radio", "recovered by the adversary, the worst to|transmissions, "),
        ("adversary: {insiders: [0]}\nexchange: {deadline: 0.5}\nlinks: {reliable: false, loss: 0.2}",
         "Exchanges have a deadline: what an agent took is known at its door only."),
        ("links: {loss: 0.1}", "links loss 0.1; reliable"),
        ("active_adversaries: [{links: [[0, 1]], end: 1.0, actions: [{kind: replay}]}]",
         "(meddler to 1 s: dropped 0"),
        ("active_adversaries: [{links: [[0, 1]], directed: true, actions: [{kind: replay}]}]\n"
         "links: {authenticated: true}", "meddled with link 0 → 1 only (meddler: "),
    ],
)  # fmt: skip
def test_the_terminal_says_what_was_done_and_by_whom(file, network, said):
    file.write_text(ROUNDS.replace("NETWORK", network))
    done = cli("run", file, "--out", "out", env={"COLUMNS": "200"}, ends=0)
    text = " ".join(done.output.split())
    assert all(words in text for words in said.split("|"))
    assert "of virtual time." in text
    assert ("deadline:" in text) == ("deadline" in network)
    entry = json.loads((file.parent / "out" / "results.json").read_text())["algorithms"][0]
    gradients = entry["gradients"]
    if gradients.get("estimated") == 0:
        assert gradients["median"] is gradients["worst"] is gradients["baseline"] is None
    elif "refused" not in gradients:
        assert sum(gradients["inferred"]) == gradients["estimated"]


@pytest.mark.slow
def test_the_terminal_gives_the_worst_beside_a_tiny_median(file):
    alter = "{kind: alter, how: {kind: constant, value: 1000.0}, probability: 0.1}"
    file.write_text(ROUNDS.replace("NETWORK", f"active_adversaries: [{{links: [[0, 1]], actions: [{alter}]}}]"))
    done = cli("run", file, "--out", "out", env={"COLUMNS": "200"})
    gradients = json.loads((file.parent / "out" / "results.json").read_text())["algorithms"][0]["gradients"]
    assert gradients["median"] < 1e-10 < gradients["worst"]
    median, worst = show(gradients["median"]), show(gradients["worst"])
    assert f"median error {median}, the worst {worst} (" in " ".join(done.output.split())


@pytest.mark.slow
def test_duplicates_that_receivers_reject_are_counted_without_a_meddler(file):
    links = "links: {authenticated: true, duplication: 0.5, reliable: false}"
    file.write_text(ROUNDS.replace("NETWORK", links))
    cli("run", file, "--out", "out", ends=0)
    entry = json.loads((file.parent / "out" / "results.json").read_text())["algorithms"][0]
    assert entry["rejected"] > 0
    assert "meddling" not in entry
    assert "Packets rejected" in (file.parent / "out" / "report.html").read_text()
