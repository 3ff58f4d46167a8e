"""Mistakes on the command line get one message with its remedy: no traceback, no warning, no half of a file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios.files.folders import whole
from tests.scenarios.command import cli
from tests.scenarios.own_algorithm import MINE
from tests.scenarios.small import TINY

MISTAKES = {
    "a list that is called otherwise": ("list scenario", 2, "Did you mean 'scenarios'?"),
    "letters of another case": ("show DP_RECAL", 2, "; did you mean 'dp_recal'?;"),
    "a scenario of another case": ("run Private-Descent", 2, "; did you mean 'private-descent' or"),
    "a sweep of no scenario": (
        "sweep of_none.yaml", 2, "of_none.yaml:2: scenario = 'tny.yaml': no such file, and no shipped scenario"
    ),
    "a sweep of a scenario in another folder": (
        "sweep bad/of_tiny.yaml", 2,
        "bad/of_tiny.yaml:1: scenario = 'tiny.yaml': no such file in bad, and no shipped scenario of this name; did "
        "you mean ../tiny.yaml?; allowed: a path from this file's folder, or a name that `netsim list` shows\n",
    ),
    "a scenario that extends one in another folder": (
        "check bad/of_none.yaml", 2,
        "bad/of_none.yaml:1: extends = 'tnyy.yaml': no such file in bad, and no shipped scenario of this name; allow",
    ),
    "a folder behind a link to nothing": (
        "run tiny.yaml --out nothing/x", 2,
        "UsageError: --out = 'nothing/x': cannot be written (nothing is a link to nowhere, which is not there); allo",
    ),
    "a lab as JSON": ("lab --json", 2, "UsageError: --json: is for lists; allowed: with --list or --key\n"),
    "lessons as JSON": ("lab --list --json", 0, '"lesson": "eavesdropper",'),
    "a setting that is none, and a field's value": (
        "check tiny.yaml -o links/loss=0.2 -o links.loss=2", 2,
        ("UsageError: -o = 'links/loss=0.2': no setting", "\nScenarioError: -o links.loss = 2: out of range"),
    ),
    "code for a sweep": ("sweep mine.py", 2, "file = 'mine.py': is code, not a sweep; allowed: a YAML file"),
    "a sweep of variants": ("sweep of_many.yaml", 2, "of_many.yaml:1: scenario = 'several.yaml': has variants: "),
    "a scenario for a sweep": (
        "sweep tiny.yaml", 2,
        "ScenarioError: tiny.yaml:1: is a scenario, not a sweep: `netsim run` runs it; allowed: a sweep: "
        "`scenario: tiny.yaml`, and the fields to vary\n",
    ),
    "a shipped scenario for a sweep": (
        "sweep private-descent", 2, "private-descent:1: is a scenario, not a sweep: `netsim run` runs it; allowed: "
    ),
    "a file to write to": ("run tiny.yaml --out mine.py", 2, "--out = 'mine.py': is a file; allowed: a folder to "),
    "a class for a run": ("run mine.py:Mine", 2, "is code, no scenario; allowed: a YAML file; `netsim audit "),
    "a word for a parameter of one's own": (
        "audit mine.py --epsilon 1 -o rounds=five", 2, "-o rounds = 'five': wrong type: text; allowed: a whole number"
    ),
    "blanks around =": ("check tiny.yaml -o replicas = 20", 2, "No blanks around =: -o"),
    "a value in several words": ("check tiny.yaml -o algorithms[0].scale={epsilon: 1}", 2, "put in quotes"),
    "a schedule's first value by another name": (
        'check tiny.yaml -o algorithms[0].step={"kind":"geometric","start":1,"ratio":1.5}', 2,
        "-o algorithms[0].step.start = 1: unknown field; did you mean 'first'?; allowed: kind, first, ratio\n",
    ),
    "a capture of two bytes": (
        "attack short.pcapng --scenario tiny.yaml", 2, "file = 'short.pcapng': no pcapng file; allowed: a pcapng file"
    ),
    "a text in a list of JSON": (
        "attack text.jsonl --scenario tiny.yaml", 2,
        "text.jsonl:1: column 'x' = [0.1, 'a']: no vector; allowed: a list of numbers, or of one such list for each",
    ),
    "a number of rounds far too large": (
        "run private-descent -o algorithms[0].rounds=1e30", 2, "out of range; allowed: 1 … 1000000"
    ),
    "a δ of 2": ("audit mine.py --epsilon 1 --delta 2", 2, "--delta = 2.0: out of range; allowed: 0 … 0.999"),
    "no agent, in short": (
        "audit mine.py -o rounds=3 -o agents=0", 2, "ScenarioError: -o agents = 0: out of range; allowed: 3 … "
    ),
    "no such data, in short": (
        "audit mine.py -o rounds=3 -o data=digitz", 2, "ScenarioError: -o data = 'digitz': unknown name; did you mean"
    ),
    "a group alone": ("data", 2, "Usage: "),
    "an agent that is not there to audit": (
        "audit mine.py -o rounds=3 -o audit.agent=9", 2, "ScenarioError: -o audit.agent = 9: no such agent; allowed"
    ),
    "an ε without end": ("audit mine.py -o rounds=3 --epsilon inf", 2, "--epsilon = inf: out of range; allowed: a "),
    "a claim that divides by 0": (
        "audit zero.py -o rounds=3", 2, "zero.py:31: claim() = 'TwoExchanges': ZeroDivisionError: division by zero (",
    ),
    "an item that no paper has": (
        "papers cpgt-fig-33", 2, "no item of a paper, and no paper; did you mean cpgt-fig-3 or cpgt-fig-2 or ",
    ),
    "the name of a shipped scenario": (
        "new private-descent", 2, "a shipped scenario has this name; allowed: another name; `netsim new my-private-"
    ),
    "views of what has no noise": ("views lossy-tap", 2, "'RECAL': has no price of its views: nothing has noise; "),
    "a field by its option, too": (
        "audit private-descent -o audit.trials=100 --trials 200", 2, "--trials = 200: beside -o audit.trials=100; ",
    ),
    "an option twice": ("audit x.py --epsilon 1 --epsilon=2", 2, "--epsilon = '1 and 2': is given several times"),
    "a sweep for a run": (
        "run sweep.yaml", 2, "ScenarioError: sweep.yaml:1: is a sweep, not a scenario: `netsim sweep` runs it; "
    ),
    "a colon on both sides": ("run colons.yaml", 2, "ScenarioError: colons.yaml:1: file = 'root:x:0': a mapping"),
    "a claim that is a number": (
        "audit number.py -o rounds=3 --out out", 2, "number.py:29: claim = 1.0: TwoExchanges.claim returned no Claim",
    ),
    "a claim below 0": (
        "audit below.py -o rounds=3 --out out", 2, "below.py:31: claim.epsilon = -1.0: not an ε (with rounds = 3); ",
    ),
    "a claim whose adjacency is a number": (
        "audit two.py -o rounds=3 --out out", 2, "two.py:31: claim.adjacency = 2.0: not an adjacency; allowed: the ",
    ),
    "a claim with no ε": (
        "audit none.py -o rounds=3 --out out", 2, "none.py:31: claim.epsilon = None: no ε, and no condition"
    ),
    "a claim of a text": (
        "audit text.py -o rounds=3 --out out", 2, "text.py:31: claim.epsilon = '1': not an ε (with rounds = 3); "
    ),
    "a claim in no norm": (
        "audit fruit.py -o rounds=3 --out out", 2, "fruit.py:31: claim.norm = 'banana': no norm of a claim; "
    ),
    "a claim of less": (
        "audit few.py -o rounds=3 --out out", 2,
        "arguments: 'delta', 'source', 'adjacency', and 'norm'; allowed: def claim(self, adjacency, setting, delta)",
    ),
    "an await that was forgotten": (
        "audit forgot.py -o rounds=3 --epsilon 1 --out out", 70, "In your code:\n  File ",
    ),
    "no round": (
        "audit mine.py -o rounds=0", 2, "-o rounds = 0: an agent of TwoExchanges is never active: nothing",
    ),
    "rounds below 0": ("audit mine.py -o rounds=-3", 2, "-o rounds = -3: an agent of TwoExchanges is never active"),
    "a schedule of noise without a square": (
        "audit mine.py -o rounds=3 -o scale=1e300", 2,
        "-o scale = 1e+300: wrong type: should be less than or equal to 1e+150;",
    ),
    "noise without a square": (
        "audit plain.py -o rounds=3 -o step=1e300 --trials 50 --jobs 1 --out out", 70,
        "PrivacyError: Laplace scale = 1e+300: must be finite and at least 0; at most 1e+150\nin agent 0, at t=0 s",
    ),
    "a step at which the run diverges": (
        "audit mine.py -o rounds=60 -o careful=true -o step=1e9 --trials 50 --jobs 1 --out out", 70,
        "The run diverges: 'z' in exchange message ",
    ),
    "noise of data": (
        "check tiny.yaml -o problem.data.noise=1e300", 2,
        "-o problem.data.noise = 1e+300: out of range; allowed: 0.0 … 1e+150",
    ),
    "noise of data that drowns the optimum": (
        "check tiny.yaml -o problem.data.noise=1e149", 2, "tiny.yaml:2: problem = 'ridge': its optimum is known to"
    ),
    "an option with a letter too many": ("run tiny.yaml --ouut x", 2, "--ouut. Did you mean --out?\n"),
    "letters of an option that are swapped": ("audit tiny.yaml --trails 9", 2, "Did you mean --trials?\n"),
    "an option that only looks like another": (
        "audit mine.py --rounds 2", 2, "or a parameter, is set by -o rounds=VALUE\nIts options"
    ),
    "a field of algorithms": (
        "check tiny.yaml -o rounds=3", 2,
        "did you mean 'attacks.rounds' or 'algorithms[0].rounds'?",
    ),
    "a part that is not there": (
        "check tiny.yaml -o link.loss=0.2", 2,
        "ScenarioError: -o link = {loss: 0.2}: unknown ",
    ),
    "every entry": (
        "check tiny.yaml -o algorithms[*].rounds=-3", 2,
        "ScenarioError: -o algorithms[0].rounds = -3: out",
    ),
    "two equal signs": (
        "check tiny.yaml -o links.loss==0.2", 2,
        "no setting; did you mean 'links.loss=0.2'?; allowed",
    ),
    "a path with strokes": (
        "check tiny.yaml -o links/loss=0.2", 2,
        "no setting; did you mean 'links.loss=0.2'?; allow",
    ),
    "a bracket that is not closed": (
        "check tiny.yaml -o algorithms[0.rounds=7", 2,
        "-o algorithms[0.rounds = 7: no path of a field; did you mean 'algorithms[0].rounds'?; allowed: such as topo",
    ),
    "no dot after an entry": ("check tiny.yaml -o algorithms[0]rounds=7", 2, "did you mean 'algorithms[0].rounds'?"),
    "brackets the wrong way round": ("check tiny.yaml -o algorithms]0[.rounds=3", 2, "mean 'algorithms[0].rounds'?"),
    "two dots": ("check tiny.yaml -o links..loss=0.1", 2, "-o links..loss = 0.1: no path of a field; did you m"),
    "a dot at the end": ("check tiny.yaml -o links.loss.=0.1", 2, "did you mean 'links.loss'?"),
    "two dots in a sweep": ("sweep dots.yaml", 2, "links..loss = 0.1: no path of a field; did you mean 'links."),
    "a field of the whole in a part": (
        "check tiny.yaml -o audit.seed=3", 2, "unknown field; did you mean seed, at the top of the file?; allowed: "
    ),
    "a field of another kind's noise": (
        "check tiny.yaml -o algorithms[0].delta=1", 2, "unknown field; did you mean 'algorithms[0].scale.delta'?"
    ),
    "records of attacks": (
        "check tiny.yaml -o attacks.records=true", 2,
        "unknown field; did you mean 'reconstruct'?",
    ),
    "a word that is near none": (
        "check tiny.yaml -o topology.neighbors=2", 2,
        "neighbors = 2: unknown field; allowed:",
    ),
    "a part as a truth value": (
        "check tiny.yaml -o attacks=false", 2, "a truth value; allowed: a mapping of fields: gradients, victims, coi"
    ),
    "no audit": (
        "check tiny.yaml -o audit=false", 2, "a truth value; did you mean null?; allowed: a mapping of fields: agent"
    ),
    "no space after a colon in braces": (
        "check tiny.yaml -o links={outages:{kind:random}}", 2, "no space after the colon of 'outages'; allowed: outa"
    ),
    "a part of defaults as one": (
        "check tiny.yaml -o audit=true", 2,
        "; did you mean {}, with every default?; allowed",
    ),
    "a kind that is misspelt, alone": (
        "check tiny.yaml -o topology=rng", 2, "values; did you mean {kind: ring, agents: …}?; allowed: {kind: …}"
    ),
    "a word in place of an attack": (
        "check private-descent -o attacks.reconstruct=[foo]", 2,
        "wrong type: text; allowed: {kind: …} of dlg, idlg, inverting_gradients, "
    ),
    "a law without its word": (
        "sweep no_law.yaml", 2, "random.links.loss.law: missing; allowed: uniform, loguniform, choice\n"
    ),
    "a word for a character": (
        "check csv.yaml -o problem.data.delimiter=tab", 2, 'did you mean "\\t"?; allowed: at most one character\n'
    ),
    "a tab as in other languages": (
        r"check csv.yaml -o problem.data.delimiter=\t", 2, 'did you mean "\\t"?; allowed: at most one character\n'
    ),
    "names without a header": (
        "check csv.yaml -o problem.data.header=false -o problem.data.label=1", 2,
        "line 1, column '0': 'a' is no number; allowed: header: true where line 1 has names\n",
    ),
    "a schedule in words": (
        "audit mine.py -o rounds=3 -o scale=big", 2,
        "-o scale = 'big': wrong type: text; allowed",
    ),
    "a delay below 0": (
        "check tiny.yaml -o links.delay=-1", 2,
        "values; did you mean {kind: constant, seconds: …}, for a number >= 0.0?; allowed: {kind: constant, …}",
    ),
    "a ring of two": (
        "check tiny.yaml -o topology.agents=2", 2, "out of range; allowed: 3 … 1000000; or kind: complete or path or "
    ),
    "ends of a law that are swapped": (
        "sweep swapped.yaml", 2,
        "swapped.yaml:2: random.links.loss = {law: uniform, low: 0.5, high: 0.1}: low must be below high; allowed: "
        "low < 0.1, or high > 0.5\n",
    ),
    "a percentage": (
        "audit private-descent --confidence 95", 2, "--confidence = 95.0: out of range; did you mean 0.95?; allowed:",
    ),
    "several numbers out of range": (
        "audit private-descent --delta 1 --confidence 95 --trials 10 --jobs 0 --out mine.py/out", 2,
        ("--delta = 1.0: out", "--confidence = 95.0: out", "--trials = 10: out", "--jobs = 0: not", "\n5 mistakes\n"),
    ),
    "several settings of no parameter": (
        "audit mine.py -o round=3 -o scal=1 -o topology.agents=2", 2,
        ("-o round = 3: neither", "-o scal = 1: neither", "-o topology.agents = 2: out of range", "\n3 mistakes\n"),
    ),
    "trials below 0": ("audit private-descent --trials -1", 2, "--trials = -1: out of range; "),
    "a seed below 0": ("certificate --seed -1", 2, "--seed = -1: out of range; allowed: >= 0"),
    "no repetition": ("certificate --repetitions 0", 2, "--repetitions = 0: out of range; allowed: >= 1"),
    "no process of a sweep": ("sweep sweep.yaml --jobs 0", 2, "--jobs = 0: not a number of processes; allowed: -1"),
    "dots below 0": ("report out --dpi -3", 2, "--dpi = -3: out of range; allowed: 30 … 2400"),
    "a width of no unit": ("report out --width 3feet", 2, "--width = '3feet': no width of a figure; "),
    "a name with brackets in braces": (
        "sweep braces.yaml", 2, "braces.yaml:2: not valid YAML: [ ] in a name within { }; allowed: the name in quotes"
    ),
    "an agent below 0": ("trace out --from -3", 2, "--from = -3: out of range; allowed: >= 0"),
    "a word for a scenario": (
        "audit less", 2,
        "WHAT = 'less': no such file or folder, and no shipped scenario of this name; allowed: FILE.py:CLASS, a",
    ),
    "a page of text for a scenario": ("check page.md", 2, "'page.md': is a page of text, no scenario; allowed: a YA"),
    "code for a scenario": (
        "run mine.py", 2, "'mine.py': is code, no scenario; allowed: a YAML file; `netsim audit mine.py:CLASS` audits"
    ),
    "a folder for a setting": (
        "run tiny.yaml -o results/x", 2, "-o = 'results/x': no setting; a folder is --out; allowed: FIELD=VALUE, "
    ),
    "a setting of what a sweep varies": ("sweep sweep.yaml -o replicas=3", 2, "-o replicas = 3: the sweep varies it"),
    "a setting of a sweep": (
        "sweep sweep.yaml -o algorithms[0].rounds=-3", 2, "-o algorithms[0].rounds = -3: out of range; allowed: 1 … "
    ),
    "a setting of an artifact": (
        "artifact tiny.yaml --out out -o nonsense=1", 2, "-o nonsense = 1: unknown field; allowed: name, group, title"
    ),
    "a scenario for results": (
        "report tiny.yaml", 2, "folder = 'tiny.yaml': is a file, and no results folder; allowed: a folder that `"
    ),
    "a folder that is called otherwise": ("report rseults --over seed", 2, "no such folder; did you mean 'results'?"),
    "a sweep for a run's folder": (
        "audit swept", 2, "folder = 'swept': is a sweep's; allowed: a folder of one run; `netsim report"
    ),
    "a folder of folders": ("report results", 2, "it has no results.json; allowed: a folder in it: one"),
    "a file for a folder of views": ("views tiny.yaml --out mine.py", 2, "--out = 'mine.py': cannot be written"),
    "a folder for a witness": ("witness results", 2, "a folder without a witness: where a claim of it is bro"),
    "a claim of a scenario": ("audit tiny.yaml --epsilon 1", 2, "--epsilon = 1.0: only for an algorithm of"),
    "no entry of a list": (
        "check tiny.yaml -o algorithms[5].rounds=1", 2, "[5] is no entry of the list; allowed: algorithms[0]\n"
    ),
    "no entry of a list, beside other mistakes": (
        "check tiny.yaml -o links.loss=1.5 -o algorithms[5].rounds=1 -o seed=1e99", 2,
        ("-o algorithms[5].rounds = 1: alg", "-o links.loss = 1.5: out", "-o seed = 1e+99: wrong", "\n3 mistakes\n"),
    ),
    "an agent that is not there, beside other mistakes": (
        'check tiny.yaml -o links.loss=1.5 -o audit.agent=9 -o stragglers=[{"agents":[0,7]}]', 2,
        ("-o audit.agent = 9: no such", "-o stragglers[0].agents[1] = 7: no such agent; allowed: 0 … 3\n"),
    ),
    "an agent that is not there, in a graph that is none": (
        "check tiny.yaml -o topology.agents=2 -o audit.agent=9", 2,
        "ScenarioError: -o topology.agents = 2: out of range; allowed: 3 … 1000000; or kind: complete or path or st",
    ),
    "a path that leads nowhere, beside another mistake, at many points": (
        "sweep astray.yaml", 2,
        ("astray.yaml:2: point 0: links.los = 0: unkn", "astray.yaml:3: point 0: algori", "is no entry", "\n2 mist"),
    ),
    "a path that leads nowhere, in many variants": (
        'check tiny.yaml -o grid={"links.los":[0,1],"algorithms[5].rounds":[1,2]}', 2,
        ("links.los = 0: unknown", "algorithms[5].rounds = 1: ", "\n2 mistakes"),
    ),
    "a class that is not frozen": (
        "audit thawed.py -o rounds=1", 2, "from a frozen one (line 10 of thawed.py); allowed: @dataclass(frozen=True)"
    ),
    "a parameter that is called as a method": (
        "audit rate.py", 2, "rate.py:15: TwoExchanges.rate = 0.8: hides Algorithm.rate(); allowed: another name\n"
    ),
    "a parameter that is called as a method of a base of one's own": (
        "audit heir.py:Heir", 2, "heir.py:36: Heir.claim = 1.0: hides Algorithm.claim(); allowed: another name\n"
    ),
    "labels of one class": (
        "check csv.yaml", 2,
        "csv.yaml:2: problem.data.label = 'label': all 3 labels in ones.csv are 1: there is nothing to tell apart",
    ),
    "labels that are numbers": (
        "check csv.yaml -o problem.data.label=a", 2,
        "csv.yaml:2: problem.data.classes = null: column 'a' has 3 labels, which are 0.5, 1, 2; allowed: two of them",
    ),
    "data that are not there": (
        "check csv.yaml -o problem.data.path=one.csv", 2, "-o problem.data.path = 'one.csv': no such file in /"
    ),
    "data of a whole path that are not there": (
        "check csv.yaml -o problem.data.path=/none/one.csv", 2, "path = '/none/one.csv': no such file; allowed: a fi"
    ),
    "code that is not there": ("audit nowhere.py", 2, "algorithm = 'nowhere.py': no such file in /"),
    "code of a whole path that is not there": (
        "audit /none/none.py", 2, "algorithm = '/none/none.py': no such file; allowed: FILE.py:CLASS",
    ),
    "a scenario's code of a whole path that is not there": (
        'check tiny.yaml -o algorithms[0]={"kind":"python","path":"/none/none.py:A"}', 2, "no such file; allowed: FI",
    ),
    "records for a transcript": (
        "attack ones.csv --scenario tiny.yaml", 2,
        "ones.csv:1: columns = 'a, label': no sender, no receiver: a row of a transcript is a message (records are",
    ),
    "a transcript without its scenario": (
        "attack ones.csv", 2, "--scenario: missing: a transcript does not have what is public of a run (the algorithm"
    ),
    "a field that these data do not have": (
        "check private-descent -o problem.data.records=0", 2,
        "problem.data.records = 0: unknown field with name: breast_cancer; other data or kinds have it; allowed: ",
    ),
    "a file for the name of data": (
        "check tiny.yaml -o problem.data.name=own.csv", 2, "unknown name; did you mean {name: csv, path: own.csv}?; "
    ),
    "an answer to no challenge": (
        "challenge --answer 3", 2, "NAME: missing: which challenge?; allowed: a name of `netsim challenge`"
    ),
    "an attack on no folder": (
        "attack nofolder", 2, "WHAT = 'nofolder': no such folder or file, and no shipped scenario of this name; "
        "allowed: a results folder, a transcript",
    ),
    "a whole number as a power of ten": ("audit mine.py --trials 1e3", 2, "Did you mean 1000?"),
    "an algorithm of a name that has a comma": (
        "attack ones.csv --scenario private-descent --algorithm plain-descnt", 2,
        "--algorithm = 'plain-descnt': not in the scenario; did you mean 'plain-descent'?; allowed: plain-descent, p",
    ),
    "an algorithm that is not there to price": (
        "views private-descent --algorithm noisy", 2, "--algorithm = 'noisy': not in the scenario; allowed: plain-des"
    ),
    "an algorithm that is not there to attack": (
        "attack tiny.yaml --algorithm nosuch", 2, "UsageError: --algorithm = 'nosuch': not in the scenario; "
    ),
    "a variant that is not there to attack": (
        "attack several.yaml --variant x", 2, "--variant = 'x': no such variant; allowed: replicas-1, replicas-2\n"
    ),
    "a variant that is misspelt": (
        "run several.yaml --variant replicas1", 2, "no such variant; did you mean 'replicas-1'?; allowed",
    ),
    "a variant of what has none": (
        "run tiny.yaml --variant none", 2, "'none': there are no variants here; allowed: the same without",
    ),
    "a format of figures": ("report results/one --format jsn", 2, "no format of a figure; allowed: svg, png, pdf\n"),
    "a format that is misspelt": ("report results/one --format svgg", 2, "did you mean 'svg'?; allowed: svg, png, p"),
    "a width without its unit": ("report results/one --width 89", 2, "no width of a figure; did you mean '89mm' or "),
    "a field for an option": ("run tiny.yaml --seed 3", 2, "No such option: --seed. A field of the scenario, or a "),
    "a parameter for an option": ("audit mine.py --rounds 3", 2, "-o rounds=VALUE"),
    "a comma in a number": ("audit mine.py --epsilon 1,5", 2, "'1,5' is no number. Did you mean 1.5?"),
    "a kind that is misspelt": ("new mine --algorithm recl", 2, "no algorithm; did you mean 'recal'?; allowed: "),
    "an entry that is misspelt": ("ledger unifrm-mean", 2, "no entry of the ledger; did you mean 'uniform-mean'"),
    "a folder of files for a sweep": ("sweep sweep.yaml --out results", 2, "--out = 'results': holds files that are"),
    "hypotheses that are not there": ("attack tiny.yaml --attack property", 2, "the scenario names no hypotheses "),
    "a file of another ending": (
        "attack notes.txt --scenario tiny.yaml", 2, "WHAT = 'notes.txt': no transcript, by its ending; allowed: a "
    ),
    "a scenario of a scenario": (
        "attack tiny.yaml --scenario tiny.yaml", 2, "ending of these: .parquet, .spool, .csv, .tsv, .jsonl, .ndjson, "
    ),
    "a folder of a sweep for a run": ("run tiny.yaml --replace --out swept", 2, "--out = 'swept': is a sweep's ("),
    "a sweep to compare": (
        "compare swept results/one", 2, "runs = 'swept': is a sweep's; allowed: FOLDER:SLUG, or a folder of one run; "
    ),
    "nothing to compare": (
        "compare nowhere results/one", 2, "no such folder; allowed: FOLDER:SLUG, or a folder that `netsim run` or "
        "`audit` left\n",
    ),
    "a scenario to trace": (
        "trace tiny.yaml", 2, "neither a spool nor a transcript; a scenario is run first: `netsim run tiny.yaml`\n"
    ),
    "a text to trace": ("trace notes.txt", 2, "nor a transcript; give transcript-….parquet or ….spool of a results "),
    "a generator": ("audit yields.py -o rounds=1", 2, "TwoExchanges.run has a `yield`, and is a generator; "),
    "a word for a whole number": ("sweep sweep.yaml --jobs many", 2, "'many' is no whole number"),
    "a word for a number": ("audit mine.py --epsilon two", 2, "'two' is no number"),
    "results that are cut off": (
        "report bad/cut", 2, "ScenarioError: bad/cut/results.json: not JSON: Expecting value: line 1 column 10 "
        "(char 9); allowed: the results.json that this version of netsim wrote, or netsim run again\n",
    ),
    "results of nothing": ("report results/one", 2, "results/one/results.json: an empty file; allowed: the result"),
    "results of a later version": (
        "compare bad/newer bad/newer", 2, "bad/newer/results.json: schema_version = 99: written by a newer netsim; al"
    ),
    "results of no version": ("report bad/older", 2, "bad/older/results.json: schema_version: missing: written by a"),
    "results in UTF-16": ("artifact bad/wide --out art", 2, "bad/wide/results.json: cannot be read (is in UTF-16: s"),
    "results that a run would replace": (
        "run tiny.yaml --out bad/cut", 2, "holds results that cannot be read here: bad/cut/results.json: not JSON: "
    ),
    "a folder for a file": (
        "run tiny.yaml --out bad/folder", 2, "--out = 'bad/folder': has a folder results.json, where a file is writte"
    ),
    "a manifest that is cut off": (
        "attack bad/begun", 2, "bad/begun/manifest.json: not JSON: Expecting property name enclosed in double quotes"
        ": line 1 column 2 (char 1); allowed: the manifest.json that this version of netsim wrote, or netsim run a",
    ),
    "no manifest": ("audit bad/cut", 2, "folder = 'bad/cut': no results folder: it has no manifest.json; allowed: "),
    "a sweep without a manifest": ("report bad/table", 2, "'bad/table': no results folder: it has no sweep.json; al"),
    "a sweep whose manifest is another one": (
        "report bad/swept", 2, "bad/swept/sweep.json: has other contents; allowed: the manifest of a sweep"
    ),
    "a witness of nothing": ("witness bad/empty.json", 2, "witness = 'bad/empty.json': an empty file; allowed: a fi"),
    "a text for a witness": ("witness mine.py", 2, "witness = 'mine.py': no JSON; allowed: a file that"),
    "results for a witness": (
        "witness bad/older/results.json", 2,
        "not a netsim witness: the results of a run; allowed: `netsim report bad/older`; a witness: a file witness-",
    ),
    "a challenge's folder to trace": (
        "trace bad/asked", 2, "a challenge's folder; allowed: its transcript: bad/asked/transcript.parquet\n"
    ),
    "a witness in UTF-16": ("witness bad/wide/results.json", 2, "cannot be read (is in UTF-16: save it as UTF-8); a"),
    "a text for a table": (
        "attack bad/text.parquet --scenario tiny.yaml", 2,
        "TranscriptError: bad/text.parquet: neither a spool nor a transcript; give transcript-….parquet or ….spool o",
    ),
    "a table that is cut off": (
        "attack bad/cut.parquet --scenario tiny.yaml", 2,
        "bad/cut.parquet: neither a spool nor a transcript (a Parquet file that is cut off); give transcript-",
    ),
    "a table that is not there": (
        "attack bad/none.parquet --scenario tiny.yaml", 2, "(No such file or directory); give transcript-….parquet or"
    ),
    "columns of a folder": (
        "attack results --column x=w", 2, "--column = 'x=w': names a column of a text file; allowed: only with a file"
    ),
    "data in UTF-16": (
        "check csv.yaml -o problem.data.path=wide.csv", 2,
        "-o problem.data.path = 'wide.csv': not readable as CSV (is in UTF-16: save it as UTF-8); allowed: a CSV fil",
    ),
    "data of bytes": (
        "check csv.yaml -o problem.data.path=bad/bytes.csv", 2, "not readable as CSV (is no text: it has null bytes,"
    ),
    "data with a mark at their beginning": (
        "check csv.yaml -o problem.data.path=marked.csv -o problem.data.label=a", 2,
        "problem.data.classes = null: column 'a' has 3 labels, which are 0.5, 1, 2; allowed: two of them",
    ),
    "a graph in UTF-16": (
        'check tiny.yaml -o topology={"kind":"file","path":"wide.csv"}', 2,
        "-o topology.path = 'wide.csv': cannot be read (is in UTF-16: save it as UTF-8); allowed: a file; ",
    ),
    "a transcript of one of several": (
        "attack ones.csv --scenario private-descent", 2,
        "UsageError: --algorithm: missing: whose transcript it is; allowed: plain-descent, private-descent, ",
    ),
    "a folder of a name that is too long": (
        f"run tiny.yaml --out {'x' * 300}", 2, "no place of a file or folder (File name too long); allowed: another",
    ),
    "a new folder's folder of a name that is too long": (
        f"sweep sweep.yaml --out new/{'x' * 300}", 2, "no place of a file or folder (File name too long)",
    ),
    "a folder in a file": (
        "run tiny.yaml --out mine.py/out", 2,
        "--out = 'mine.py/out': no place of a file or folder (Not a directory); allowed: a place in a folder: mine.p",
    ),
    "a folder that is a link to itself": (
        "run tiny.yaml --out loop", 2, "--out = 'loop': no place of a file or folder (Too many levels of symbolic li",
    ),
    "hosts in a file": ("deploy tiny.yaml --agents-on mine.py/x", 2, "--agents-on = 'mine.py/x': no place of a file"),
    "a field of a sweep's scenario with a blank": (
        "sweep named.yaml", 2, "did you mean `-o 'title=My sweep'`, or grid: {title: [My sweep]}?"
    ),
    "figures in a file": ("report results/one --figures --into mine.py/x", 2, "--into = 'mine.py/x': no place of"),
    "a key that is a link to itself": ("challenge --key loop", 2, "--key = 'loop': no place of a file or folder (To"),
    "a name that is too long to show": (f"show {'x' * 300}", 2, "NAME = 'xxx"),
    "a name that is too long to compare": (f"compare {'x' * 300} results/one", 2, "FOLDER = 'xxx"),
    "a key without a challenge": ("challenge --key mine.py", 2, "--key = 'mine.py': only of use to make a challenge"),
    "services in a folder": ("deploy tiny.yaml --compose results", 2, "--compose = 'results': cannot be written (Is"),
    "an artifact in a full folder": ("artifact tiny.yaml --out results", 2, "--out = 'results': not empty; allowed:"),
    "an artifact in a file": ("artifact tiny.yaml --out mine.py", 2, "--out = 'mine.py': cannot be written (File ex"),
    "pages of papers in a file": ("papers cpgt --pages mine.py", 2, "--pages = 'mine.py': cannot be written (File e"),
    "a ledger in a folder": ("ledger uniform-mean --out results", 2, "--out = 'results': a folder; allowed: a file"),
}  # fmt: skip
"""Words of a command, exit status, and what it prints."""
AUDIT = "audit own.py -o rounds=2 --trials 50 --jobs 1 --out out"
_SENT, _MIXED = "await node.exchange(z=z)", "z = heard.mix"
OWN = {
    "an exit": (_MIXED, f"exit(3); {_MIXED}", 70, "SimulationError: the algorithm's code wants to end the process"),
    "an exit that ends a process": (
        _MIXED,
        f"__import__('os')._exit(0); {_MIXED}",
        70,
        "SimulationError: the algorithm's code wants to end the process",
    ),
    "an exit before time 0": ("rounds: int", "rounds: int = exit(3)", 2, "cannot be imported: SystemExit: 3 (line "),
    "a scale below 0": ("Laplace(self.scale(k))", "Laplace(-1.0)", 70, "PrivacyError: Laplace scale = -1.0: "),
    "a division by zero": (
        _MIXED,
        f"x = x / (x > 9); {_MIXED}",
        70,
        "The code makes NaN: 'z' in exchange message 1 of agent ",
    ),
    "a field that nobody sent": ('.mix("x")', '.mix("y")', 70, "wants its own 'y' of exchange 0"),
    "a shape": ("estimate(x)", "estimate(x[:, :1])", 70, "estimates 'x' of type float64 and shape (1, 1)"),
    "an agent far away": (_MIXED, f"node.send(99, x=x); {_MIXED}", 70, "which is not its neighbor; neighbors: "),
    "a text": (_SENT, 'await node.exchange(z="hi")', 70, "sends 'z' = 'hi', which is a text; every"),
    "a number": (_SENT, "await node.exchange(z=3.0)", 70, "sends 'z' = 3.0, which is a float; every"),
    "a number to privatize": (
        _MIXED,
        f"node.privatize(1.0, Laplace(1.0)); {_MIXED}",
        70,
        ": value is a float; allowed: an array; it is node.privatize(value, mechanism, ",
    ),
    "a batch of more than there is": (
        _MIXED,
        f"__import__('netsim.node').node.subset(node.coins, 8, 50); {_MIXED}",
        70,
        "ProtocolError: subset(coins, 8, 50): 50 of 8, each once, are too many",
    ),
    "a bound that is no number": (
        _MIXED,
        f"Clip(float('nan')); {_MIXED}",
        70,
        "bound = nan: no number: no bound on a norm; allowed: > 0 and ",
    ),
    "a norm to clip in": (_MIXED, f"Clip(1.0, 'l3'); {_MIXED}", 70, "norm = 'l3': no norm to clip in; allowed: "),
    "a record that is not there": (
        _MIXED,
        f"await node.gradient(x, batch=[99]); {_MIXED}",
        70,
        "ProtocolError: own.py:24: batch = [99]: out of range; allowed: 0 to 7\nin agent 1, at t=0 s",
    ),
    "one world of several": (
        _MIXED,
        f"await node.gradient(x[0]); {_MIXED}",
        70,
        "node.gradient was given x of type float64 and shape (6,): expected is shape (replicas, dimension) = (1, 6)",
    ),
    "a mechanism that is not imported": (
        "privatize(x, Laplace",
        "privatize(x, Gaussian",
        70,
        ": from netsim import Gaussian\n",
    ),
    "a type that is misspelt": (
        "rounds: int",
        "rounds: itn",
        2,
        "NameError: name 'itn' is not defined (line ",
    ),
    "a parameter as a variable": (
        _MIXED,
        f"self.step = 0.1; {_MIXED}",
        70,
        "an algorithm is fixed, and is all agents'; what one agent keeps is ",
    ),
}
"""Mistakes in code of one's own: what of it is replaced by what, exit status, and what is printed beside its line."""
CLAIMS = {
    "number.py": "1.0",
    "below.py": "Claim(-1.0, 0.0, 'mine', adjacency, 'l1')",
    "two.py": "Claim(1.0, 0.0, 'mine', 2.0, 'l1')",
    "none.py": "Claim(None, 0.0, 'mine', adjacency, 'l1')",
    "text.py": "Claim('1', 0.0, 'mine', adjacency, 'l1')",
    "few.py": "Claim(1.0)",
    "zero.py": "Claim(1 / 0, 0.0, 'mine', adjacency, 'l1')",
    "fruit.py": "Claim(1.0, 0.0, 'mine', adjacency, 'banana')",
}  # fmt: skip
CLAIM = """
    def claim(self, adjacency, setting, delta):
        from netsim.claims import Claim
        return {}
"""


def damaged():
    """Folders and files that are cut off, of another kind, or of another version."""
    for name, content in {
        "bad/cut/results.json": b'{"name": ',
        "bad/newer/results.json": b'{"schema_version": 99}',
        "bad/older/results.json": b"{}",
        "bad/wide/results.json": "{}".encode("utf-16"),
        "bad/folder/results.json/file": b"",
        "bad/begun/manifest.json": b"{",
        "bad/table/sweep.parquet": b"",
        "bad/swept/sweep.parquet": b"",
        "bad/swept/sweep.json": b"[]",
        "bad/empty.json": b"",
        "bad/asked/transcript.parquet": b"",
        "bad/text.parquet": b"src,dst,w",
        "bad/of_tiny.yaml": b"scenario: tiny.yaml\ngrid: {replicas: [1, 2]}\n",
        "bad/of_none.yaml": b"extends: tnyy.yaml\n",
        "bad/cut.parquet": b"PAR1" + bytes(100),
        "bad/bytes.csv": bytes(range(256)),
        "wide.csv": "a,label\n0.5,1\n".encode("utf-16"),
        "marked.csv": "a,label\n0.5,1\n1.0,1\n2.0,1\n".encode("utf-8-sig"),
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(content)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_message(name, tmp_path, monkeypatch):
    words, status, says = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(TINY)
    Path("mine.py").write_text(MINE)
    Path("plain.py").write_text(MINE.replace("Laplace(self.scale(k))", "Laplace(self.step)"))
    Path("forgot.py").write_text(MINE.replace("await node.gradient", "node.gradient"))
    Path("braces.yaml").write_text("scenario: tiny.yaml\ngrid: {algorithms[0].rounds: [1, 2]}\n")
    Path("thawed.py").write_text(MINE.replace("@dataclass(frozen=True)", "@dataclass"))
    Path("rate.py").write_text(MINE.replace("step: float = 0.3", "rate: float = 0.8").replace("self.step", "0.3"))
    heir = "\n\n@dataclass(frozen=True)\nclass Heir(TwoExchanges):\n    claim: float = 1.0\n"
    Path("heir.py").write_text(MINE + CLAIM.format("None") + heir)
    drawn = "{links.loss: {law: uniform, low: 0.5, high: 0.1}}"
    Path("swapped.yaml").write_text(f"scenario: tiny.yaml\nrandom: {drawn}\n")
    Path("no_law.yaml").write_text("scenario: tiny.yaml\nrandom: {links.loss: {low: 0, high: 0.1}}\n")
    Path("page.md").write_text("# A page\n")
    Path("dots.yaml").write_text("scenario: tiny.yaml\ngrid: {links..loss: [0.1, 0.2]}\n")
    Path("astray.yaml").write_text(
        "scenario: tiny.yaml\ngrid: {links.los: [0, 1],\n  'algorithms[9].rounds': [1, 2], replicas: [1, 2]}\n"
    )
    Path("named.yaml").write_text("title: My sweep\nscenario: tiny.yaml\ngrid: {replicas: [1, 2]}\n")
    Path("sweep.yaml").write_text("scenario: tiny.yaml\ngrid: {replicas: [1, 2]}\n")
    Path("of_none.yaml").write_text("grid: {replicas: [1, 2]}\nscenario: tny.yaml\n")
    Path("of_many.yaml").write_text("scenario: several.yaml\ngrid: {links.loss: [0.1, 0.2]}\n")
    Path("several.yaml").write_text(f"{TINY}\ngrid: {{replicas: [1, 2]}}\n")
    Path("ones.csv").write_text("a,label\n0.5,1\n1.0,1\n2.0,1\n")
    data = "{name: csv, path: ones.csv, label: label}"
    Path("csv.yaml").write_text(
        f"name: own\nproblem: {{kind: logistic, data: {data}}}\ntopology: {{kind: path, agents: 2}}\n"
        "algorithms: [{kind: private_gradient_descent, rounds: 2}]\n"
    )
    Path("short.pcapng").write_text("xx")
    row = '{"sender": 0, "receiver": 1, "time": 0, "kind": "exchange", "number": 0, "x": [0.1, "a"]}'
    Path("text.jsonl").write_text(f"{row}\n")
    Path("notes.txt").write_text("src,dst,w\n0,1,2\n")
    Path("yields.py").write_text(MINE.replace("node.estimate(x)", "node.estimate(x)\n            yield x"))
    Path("swept").mkdir()
    Path("swept/sweep.json").touch()
    Path("results/one").mkdir(parents=True)
    Path("results/one/results.json").touch()
    Path("colons.yaml").write_text("root:x:0\n")
    damaged()
    Path("loop").symlink_to("loop")
    Path("nothing").symlink_to("nowhere")
    for file, claimed in CLAIMS.items():
        Path(file).write_text(MINE + CLAIM.format(claimed))
    done = cli(*words.split(), ends=status, output=says)
    assert "Traceback" not in done.output
    assert "ScenarioError: \n" not in done.output
    assert "simulation.py" not in done.output


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", OWN)
def test_a_mistake_in_own_code_is_said_once_with_its_line(name, tmp_path, monkeypatch):
    before, after, status, says = OWN[name]
    monkeypatch.chdir(tmp_path)
    text = MINE.replace(before, after, 1).replace("import Laplace", "import Laplace\nfrom netsim.claims import Clip")
    Path("own.py").write_text(text)
    done = cli(*AUDIT.split(), ends=status, output=says)
    line = text[: text.index(after)].count("\n") + 1
    places = f"own.py:{line}: ", f"own.py:{line}, in run: ", f"line {line} of own.py"
    assert sum(map(done.output.count, places)) == 1
    assert "interrupted" not in done.output
    assert "Traceback" not in done.output


def test_an_audit_that_failed_names_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(MINE.replace("await node.gradient", "node.gradient", 1))
    done = cli(
        "audit", "own.py", "-o", "rounds=3", "--epsilon", "1", ends=70, output="What was done until then: results/"
    )
    (page,) = Path("results").rglob("report.html")
    assert str(page) in done.output


def test_what_code_keeps_is_named_with_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = MINE.replace("@dataclass", "KEPT = []\n\n\n@dataclass")
    Path("own.py").write_text(text.replace("x = node.zeros()", "x = node.zeros(); KEPT.append(1)"))
    wide = {"COLUMNS": "500"}
    cli(
        *AUDIT.split(),
        ends=70,
        output="TwoExchanges's code changes own.py: KEPT, which outlives a run; all",
        env=wide,
    )


@pytest.mark.parametrize("words", [["--out", ""], ["--out="]])
def test_an_empty_name_is_not_the_folder_that_is_open(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tiny.yaml").write_text(TINY)
    cli("run", "tiny.yaml", *words, ends=2, output="--out = '': is empty; allowed: the name of a file or a folder")


def test_a_page_whose_name_is_as_long_as_a_name_may_be_is_written(tmp_path):
    with whole(tmp_path / ("x" * 255)) as draft:
        draft.write_text("all of it")
    assert [one.read_text() for one in tmp_path.iterdir()] == ["all of it"]


@pytest.mark.parametrize("words", ["list", "list --json", "check private-descent -o audit=null"])
def test_a_full_standard_output_is_named(words):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "scenarios.cli.app", *words.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 70
    assert done.stderr.startswith("OSError: [Errno 28] No space left on device: 'standard output'\n")


def test_a_device_is_written_and_stays_one(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with whole(pipe) as draft:
        draft.write_text("all of it")
    assert os.read(reader, 100) == b"all of it"
    assert pipe.is_fifo()


def test_finished_results_are_replaced_on_request_only(tmp_path, monkeypatch):
    """The same run is shown again; another seed, data or code is refused, and nothing in the folder changes."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 3},{k % 5},{k % 2}\n" for k in range(40))
    Path("data.csv").write_text("a,b,label\n" + rows)
    data = "{name: csv, path: data.csv, label: label, kind: regression}"
    Path("tiny.yaml").write_text(
        TINY.replace("{name: synthetic, kind: regression, records: 20, dimension: 2}", data).replace("audit:", "# ")
    )

    def run(*more):
        done = cli("run", "tiny.yaml", "--out", "out", *more)
        return done.exit_code, done.output

    status, output = run()
    assert status == 0, output
    results = Path("out/results.json")
    before = results.read_bytes()
    for words, says in (
        ("report out --out data.csv", "--out = 'data.csv': not the name of a page"),
        ("compare out out --out out/report.html", "--out = 'out/report.html': is the page of a run"),
    ):
        done = cli(*words.split())
        assert (done.exit_code, says in done.output) == (2, True), done.output
    assert Path("data.csv").read_text().startswith("a,b,label")
    status, output = run()
    assert (status, results.read_bytes()) == (0, before)
    assert "finished: nothing was run" in output
    assert "Report: out/report.html" in output
    page = Path("out/report.html")
    whole = page.read_bytes()
    page.unlink()  # a command was killed in its last moments
    Path("out/.netsim-lock").write_text("1 since then: netsim run")
    assert run()[0] == 0
    assert (page.read_bytes(), results.read_bytes()) == (whole, before)
    assert not Path("out/.netsim-lock").exists()
    status, output = run("-o", "seed=7")
    assert (status, results.read_bytes()) == (2, before)
    says = "--out = 'out': holds finished results of tiny, with seed 0; allowed: another folder, or --replace"
    assert says in output
    assert "with other fields;" in run("-o", "links.loss=0.1", "-o", "links.reliable=true")[1]
    os.utime("data.csv", (results.stat().st_mtime + 9,) * 2)
    assert "with files that have changed since;" in run()[1]
    assert results.read_bytes() == before
    status, output = run("-o", "seed=7", "--replace")
    assert status == 0, output
    assert results.read_bytes() != before
    results.unlink()
    for words in ("attack out", "audit out", "report out"):
        cli(*words.split(), ends=2, output="folder = 'out': no results folder: it has no results.json; allowed: ")
