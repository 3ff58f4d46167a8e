"""Wrong files, and the whole message that each of them gets."""

GOOD = """\
name: small
problem:
  kind: logistic
  data: {name: digits, norm_bound: 4.0}
topology: {kind: ring, agents: 6}
links:
  delay: {kind: uniform, low: 0.01, high: 0.03}
  loss: 0.1
adversary:
  links: [[0, 1], [1, 2]]
algorithms:
  - {kind: recal, name: plain, activations: 50}
  - kind: dp_recal
    per_agent: 10
    noise: {epsilon: 1.0, delta: 1e-3}
audit: {agent: 1, trials: 60}
"""
FILES = {
    "old field": (
        GOOD + "meddlers: []\n",
        "small.yaml:17: meddlers = []: unknown field: renamed to 'active_adversaries'; allowed: name, group, title, "
        "description, seed, replicas, problem, topology, medium, links, link_overrides, access, messages, exchange, "
        "activation, compute, stragglers, downtimes, adversary, active_adversaries, algorithms, measures, attacks, "
        "transcript, outputs, audit, variants, grid, figures, reproduces",
    ),
    "old word": (
        GOOD.replace("per_agent: 10", "per_agent: 10\n    reading: told_state"),
        "small.yaml:15: algorithms[1].reading = 'told_state': not one of the allowed values: renamed to "
        "'sent_state'; allowed: 'as_analysed', 'as_deployable', 'fresh_noise' or 'sent_state'",
    ),
    "number in quotes": (
        GOOD.replace("loss: 0.1", 'loss: "0.2"', 1),
        "small.yaml:8: links.loss = '0.2': not one of the allowed values: it stands in quotes; did you mean 0.2?; "
        "allowed: a number, {kind: gilbert_elliott, …} or {kind: trace, …}",
    ),
    "percent": (
        GOOD.replace("loss: 0.1", "loss: 20%", 1),
        "small.yaml:8: links.loss = '20%': not one of the allowed values; did you mean 0.2?; allowed: a number, "
        "{kind: gilbert_elliott, …} or {kind: trace, …}",
    ),
    "NaN": (
        GOOD.replace("loss: 0.1", "loss: .nan", 1),
        "small.yaml:8: links.loss = nan: out of range; allowed: < 1.0",
    ),
    "list for a number": (
        GOOD.replace("loss: 0.1", "loss: [0.1]", 1),
        "small.yaml:8: links.loss = [0.1]: not one of the allowed values; did you mean the same without hyphens or "
        "brackets?; allowed: a number, {kind: gilbert_elliott, …} or {kind: trace, …}",
    ),
    "yes": (
        GOOD.replace("loss: 0.1", ("loss: 0.1\n  reliable: yes"), 1),
        "small.yaml:9: links.reliable = 'yes': wrong type: text; did you mean true?; allowed: true or false",
    ),
    "one for true": (
        GOOD.replace("loss: 0.1", ("loss: 0.1\n  encrypted: 1"), 1),
        "small.yaml:9: links.encrypted = 1: wrong type: a number; did you mean true?; allowed: true or false",
    ),
    "float for a whole number": (
        GOOD.replace("agents: 6", "agents: 1e1", 1),
        "small.yaml:5: topology.agents = 10.0: wrong type: a number that YAML reads as one with a fraction; did you "
        "mean 10?; allowed: a whole number",
    ),
    "grouped digits": (
        GOOD.replace("agents: 6", "agents: 1_000", 1),
        "small.yaml:5: topology.agents = '1_000': wrong type: text; did you mean 1000?; allowed: a whole number",
    ),
    "octal": (
        GOOD.replace("agents: 6", "agents: 010", 1),
        "small.yaml:5: topology.agents = '010': a number with a leading zero (8 in YAML 1.1, 10 in YAML 1.2); "
        "allowed: 10, or 8",
    ),
    "no space after a colon": (
        GOOD.replace("agents: 6", "agents:6", 1),
        "small.yaml:5: topology.agents:6 = None: unknown field; did you mean 'agents', with a space after the "
        "colon?; allowed: weights, laziness, positions, kind, agents",
    ),
    "whole number in quotes": (
        GOOD.replace("agents: 6", 'agents: "6"', 1),
        "small.yaml:5: topology.agents = '6': wrong type: text, for it stands in quotes; did you mean 6?; allowed: "
        "a whole number",
    ),
    "capital letter": (
        GOOD.replace("kind: ring", "kind: Ring", 1),
        "small.yaml:5: topology.kind = 'Ring': unknown kind; did you mean 'ring'?; allowed: ring, complete, path, "
        "star, grid, torus, hypercube, balanced_tree, random_tree, random_regular, erdos_renyi, watts_strogatz, "
        "barabasi_albert, random_geometric, edges, file",
    ),
    "name with a space": (
        GOOD.replace("name: small", "name: Small Example", 1),
        "small.yaml:1: name = 'Small Example': not of the form of a name; did you mean 'small-example'?; allowed: "
        "small letters, digits and hyphens: ^[a-z0-9][a-z0-9-]*$",
    ),
    "number for text": (
        GOOD.replace("name: small", "name: 7", 1),
        'small.yaml:1: name = 7: wrong type: a number; did you mean "7", in quotes?; allowed: text',
    ),
    "field of another part": (
        GOOD.replace("name: small", ("name: small\nloss: 0.1"), 1),
        "small.yaml:2: loss = 0.1: unknown field; did you mean 'links.loss' or 'link_overrides[…].law.loss'?; "
        "allowed: name, group, title, description, seed, replicas, problem, topology, medium, links, "
        "link_overrides, access, messages, exchange, activation, compute, stragglers, downtimes, adversary, "
        "active_adversaries, algorithms, measures, attacks, transcript, outputs, audit, variants, grid, figures, "
        "reproduces",
    ),
    "duplicate key": (
        GOOD.replace("name: small", ("name: small\nname: other"), 1),
        "small.yaml:2: name = 'other': written twice, first in line 1; allowed: each field once",
    ),
    "colon in a text": (
        GOOD.replace("name: small", ("name: small\ntitle: 2024-01-01: a start"), 1),
        "small.yaml:2: not valid YAML: a second colon in one line; allowed: text with a colon and a space in quotes",
    ),
    "word for a mapping": (
        GOOD.replace("topology: {kind: ring, agents: 6}", "topology: ring", 1),
        "small.yaml:5: topology = 'ring': not one of the allowed values; did you mean {kind: ring, agents: …}?; "
        "allowed: {kind: …} of ring, complete, path, star, grid, torus, hypercube, balanced_tree, random_tree, "
        "random_regular, erdos_renyi, watts_strogatz, barabasi_albert, random_geometric, edges, file",
    ),
    "list for a mapping": (
        GOOD.replace("topology: {kind: ring, agents: 6}", ("topology:\n  - {kind: ring, agents: 6}"), 1),
        "small.yaml:5: topology = [{'agents': 6, 'kind': 'ring'}]: not one of the allowed values; did you mean the "
        "same without hyphens or brackets?; allowed: {kind: …} of ring, complete, path, star, grid, torus, "
        "hypercube, balanced_tree, random_tree, random_regular, erdos_renyi, watts_strogatz, barabasi_albert, "
        "random_geometric, edges, file",
    ),
    "tab": (
        GOOD.replace("topology: {kind: ring, agents: 6}", ("topology:\n\tkind: ring"), 1),
        "small.yaml:6: not valid YAML: a tab, where only spaces may be; allowed: use spaces: YAML is indented with "
        "spaces, two a level, never with tabs",
    ),
    "too deep": (
        GOOD.replace("topology: {kind: ring, agents: 6}", ("topology:\n  kind: ring\n    agents: 6"), 1),
        "small.yaml:7: not valid YAML: wrong indentation: this line is indented deeper than the line above, which "
        "has a value already; allowed: fields of one mapping begin in the same column",
    ),
    "a file indented": (
        GOOD.replace("name: small", (" name: small"), 1),
        "small.yaml:1: not valid YAML: wrong indentation: the fields of a file begin in the first column; allowed: "
        "no spaces before them",
    ),
    "indentation": (
        GOOD.replace("topology: {kind: ring, agents: 6}", ("topology:\n  kind: ring\n agents: 6"), 1),
        "small.yaml:7: not valid YAML: wrong indentation: this line belongs neither to what is above nor to what is "
        "around it; allowed: fields of one mapping, and entries of one list, begin in the same column",
    ),
    "one pair": (
        GOOD.replace("  links: [[0, 1], [1, 2]]", "  links: [0, 1]", 1),
        "small.yaml:10: adversary.links = [0, 1]: wrong type: a list of no lists; did you mean [[0, 1]]?; allowed: "
        "a list of lists",
    ),
    "open brace": (
        GOOD.replace("{epsilon: 1.0, delta: 1e-3}", ("{epsilon: 1.0\n    "), 1),
        "small.yaml:15: not valid YAML: not closed by }, or a comma is missing; allowed: a comma or }",
    ),
    "empty list": (
        GOOD.replace("algorithms:\n", ("algorithms: []\nx:\n"), 1),
        "small.yaml:11: algorithms = []: out of range; allowed: at least one entry\nsmall.yaml:12: x = "
        "[{'activations': 50, 'kind': 'recal', 'name': 'plain'}, {'kind': 'dp_recal', 'noise': {...}, 'per_agent': "
        "10}]: unknown field; allowed: name, group, title, description, seed, replicas, problem, topology, medium, "
        "links, link_overrides, access, messages, exchange, activation, compute, stragglers, downtimes, adversary, "
        "active_adversaries, algorithms, measures, attacks, transcript, outputs, audit, variants, grid, figures, "
        "reproduces",
    ),
    "four in one mapping": (
        GOOD.replace("audit: {agent: 1, trials: 60}", "audit: {agnt: 1, trials: 6, stop: refute, views: link}", 1),
        "small.yaml:16: audit.trials = 6: out of range; allowed: >= 50\nsmall.yaml:16: audit.stop = 'refute': not "
        "one of the allowed values; did you mean 'refuted'?; allowed: 'never' or 'refuted'\nsmall.yaml:16: "
        "audit.views = 'link': not one of the allowed values; did you mean 'links'?; allowed: 'none', 'links', "
        "'nodes', 'coalitions', 'all' or {game: …, exact: …, coalition: …}\n"
        "small.yaml:16: audit.agnt = 1: unknown field; did you mean 'agent'?; "
        "allowed: agent, adjacency, search, trials, chunk, confidence, coins, stop, classifier, views, draw",
    ),
    "two documents": (
        GOOD.replace("audit: {agent: 1, trials: 60}", ("audit: {agent: 1}\n---\nname: two"), 1),
        "small.yaml:17: not valid YAML: a second document begins here; allowed: one document: no line of --- or ...",
    ),
    "fields that exclude each other": (
        GOOD.replace(
            "audit: {agent: 1, trials: 60}", "audit: {agent: 1, trials: 60, classifier: true, stop: refuted}", 1
        ),
        "small.yaml:16: audit.classifier = True: classifier and stop cannot be combined: a classifier needs chunks "
        "to learn from and others to play, and an audit that stops says what it says of the first one alone",
    ),
    "number for a law": (
        GOOD.replace("delay: {kind: uniform, low: 0.01, high: 0.03}", "delay: 0.02", 1),
        "small.yaml:7: links.delay = 0.02: not one of the allowed values; did you mean {kind: constant, seconds: "
        "0.02}?; allowed: {kind: constant, …}, {kind: uniform, …}, {kind: lognormal, …}, {kind: exponential, …} or "
        "{kind: trace, …}",
    ),
    "two variants": (
        GOOD.replace(
            "audit: {agent: 1, trials: 60}",
            ("variants:\n  - {name: a, set: {links.loss: 2}}\n  - {name: b, set: {links.los: 0.1}}"),
            1,
        ),
        "small.yaml:17: variant a: links.loss = 2: out of range; allowed: < 1.0\nsmall.yaml:18: variant b: "
        "links.los = 0.1: unknown field; did you mean 'loss'?; allowed: delay, loss, bandwidth, buffer, reliable, "
        "timeout, reordering, duplication, outages, encrypted, authenticated",
    ),
    "values of a grid": (
        GOOD.replace("audit: {agent: 1, trials: 60}", "grid: {links.loss: [0.1, 2, '0.3']}", 1),
        "small.yaml:16: variant loss-2: links.loss = 2: out of range; allowed: < 1.0\nsmall.yaml:16: variant "
        "loss-0.3: links.loss = '0.3': not one of the allowed values: it stands in quotes; did you mean 0.3?; "
        "allowed: a number, {kind: gilbert_elliott, …} or {kind: trace, …}",
    ),
    "attacks that decide": (
        GOOD.replace(
            "audit: {agent: 1, trials: 60}", "attacks: {membership: {agent: 9, adjacency: removed, level: 0.1}}", 1
        ),
        "small.yaml:16: attacks.membership.adjacency = 'removed': not one of the allowed values; did you mean "
        "'remove'?; allowed: 'remove', 'zero_out' or 'replace'\nsmall.yaml:16: attacks.membership.level = 0.1: "
        "unknown field; did you mean 'levels'?; allowed: agent, inversion, rounds, confidence, adjacency, informed, "
        "record, instead, levels, draws, trials, chunk",
    ),
}
"""Scenario files: text and message."""
SWEEPS = {
    "sweep: a value for a list": (
        "scenario: small\ngrid: {links.loss: 0.1}\n",
        "sweep.yaml:2: grid.links.loss = 0.1: wrong type: a number with a fraction; did you mean [0.1]?; allowed: a "
        "list",
    ),
    "sweep: wrong values": (
        "scenario: small\ngrid:\n  links.loss: [0.1, 2, '0.3']\n  topology.agents: [6, 2]\n",
        "sweep.yaml:4: point 1: topology.agents = 2: out of range; allowed: >= 3\nsweep.yaml:3: point 2: links.loss "
        "= 2: out of range; allowed: < 1.0\nsweep.yaml:3: point 3: links.loss = '0.3': not one of the allowed "
        "values: it stands in quotes; did you mean 0.3?; allowed: a number, {kind: gilbert_elliott, …} or {kind: "
        "trace, …}",
    ),
}
"""Sweep files of the good scenario."""
UNTOLD = {
    "NaN",
    "float for a whole number",
    "octal",
    "duplicate key",
    "colon in a text",
    "tab",
    "too deep",
    "a file indented",
    "indentation",
    "open brace",
    "two documents",
    "fields that exclude each other",
    "two variants",
    "values of a grid",
    "sweep: wrong values",
}
"""What a JSON Schema cannot tell: what is no YAML 1.2, and what depends on other fields."""
