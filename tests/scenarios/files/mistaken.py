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
    "infinity": (
        GOOD.replace("loss: 0.1", "loss: .inf", 1),
        "small.yaml:8: links.loss = inf: out of range; allowed: < 1.0",
    ),
    "NaN as text": (
        GOOD.replace("loss: 0.1", "loss: NaN", 1),
        "small.yaml:8: links.loss = 'NaN': not one of the allowed values; allowed: a number, {kind: "
        "gilbert_elliott, …} or {kind: trace, …}",
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
    "off": (
        GOOD.replace("loss: 0.1", ("loss: 0.1\n  reliable: off"), 1),
        "small.yaml:9: links.reliable = 'off': wrong type: text; did you mean false?; allowed: true or false",
    ),
    "one for true": (
        GOOD.replace("loss: 0.1", ("loss: 0.1\n  encrypted: 1"), 1),
        "small.yaml:9: links.encrypted = 1: wrong type: a number; did you mean true?; allowed: true or false",
    ),
    "expression": (
        GOOD.replace("loss: 0.1", "loss: 1/10", 1),
        "small.yaml:8: links.loss = '1/10': not one of the allowed values; allowed: a number, {kind: "
        "gilbert_elliott, …} or {kind: trace, …}",
    ),
    "float for a whole number": (
        GOOD.replace("agents: 6", "agents: 1e1", 1),
        "small.yaml:5: topology.agents = 10.0: wrong type: a number that YAML reads as one with a fraction; did you "
        "mean 10?; allowed: a whole number",
    ),
    "fraction": (
        GOOD.replace("agents: 6", "agents: 6.5", 1),
        "small.yaml:5: topology.agents = 6.5: wrong type: a number with a fraction; allowed: a whole number",
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
    "no value": (
        GOOD.replace("agents: 6", "agents: ", 1),
        "small.yaml:5: topology.agents = None: wrong type: there is no value; allowed: a whole number",
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
    "unknown kind": (
        GOOD.replace("kind: ring", "kind: cycle", 1),
        "small.yaml:5: topology.kind = 'cycle': unknown kind; allowed: ring, complete, path, star, grid, torus, "
        "hypercube, balanced_tree, random_tree, random_regular, erdos_renyi, watts_strogatz, barabasi_albert, "
        "random_geometric, edges, file",
    ),
    "name of the paper": (
        GOOD.replace("kind: dp_recal", "kind: DP-RECAL", 1),
        "small.yaml:13: algorithms[1].kind = 'DP-RECAL': unknown kind; did you mean 'dp_recal'?; allowed: recal, "
        "dp_recal, private_gradient_descent, extra, pg_extra, nids, exact_diffusion, gradient_tracking, diadsp, "
        "cpgt, ppdc, dpp2, dmsp, random_penalty_admm, grouped_descent, neighbor_range, secret_sharing, ic_admm, "
        "d_admm, dp_admm, r_admm, mr_admm, rw_admm, walkman, planted_fault, python",
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
    "misspelt field": (
        GOOD.replace("name: small", "nme: small", 1),
        "small.yaml:1: nme = 'small': unknown field; did you mean 'name'?; allowed: name, group, title, "
        "description, seed, replicas, problem, topology, medium, links, link_overrides, access, messages, exchange, "
        "activation, compute, stragglers, downtimes, adversary, active_adversaries, algorithms, measures, attacks, "
        "transcript, outputs, audit, variants, grid, figures, reproduces",
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
    "tab after spaces": (
        GOOD.replace("topology: {kind: ring, agents: 6}", ("topology:\n  kind: ring\n\t  agents: 6"), 1),
        "small.yaml:7: not valid YAML: a tab, where only spaces may be; allowed: use spaces: YAML is indented with "
        "spaces, two a level, never with tabs",
    ),
    "tab after a folded text's sign": (
        GOOD.replace("name: small", ("name: small\ndescription: >-\t\n  text"), 1),
        "small.yaml:2: not valid YAML: a tab, where only spaces may be; allowed: use spaces: YAML is indented with "
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
    "near word": (
        GOOD.replace("  links: [[0, 1], [1, 2]]", "  links: al", 1),
        "small.yaml:10: adversary.links = 'al': not one of the allowed values; did you mean 'all'?; allowed: 'all', "
        "a list, {kind: around, …}, {kind: within, …}, {kind: cut, …} or {kind: random, …}",
    ),
    "number for a list": (
        GOOD.replace("  links: [[0, 1], [1, 2]]", "  insiders: 2", 1),
        "small.yaml:10: adversary.insiders = 2: wrong type: a number; did you mean [2]?; allowed: a list",
    ),
    "misspelt in a union": (
        GOOD.replace("{epsilon: 1.0, delta: 1e-3}", "{epsilon: 1.0, dleta: 1e-3}", 1),
        "small.yaml:15: algorithms[1].noise.dleta = 0.001: unknown field; did you mean 'delta'?; allowed: epsilon, "
        "delta; or stddev",
    ),
    "several bounds": (
        GOOD.replace("{epsilon: 1.0, delta: 1e-3}", "{epsilon: 0, delta: 1}", 1),
        "small.yaml:15: algorithms[1].noise.epsilon = 0: out of range; allowed: > 0.0\nsmall.yaml:15: "
        "algorithms[1].noise.delta = 1: out of range; allowed: < 1.0",
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
    "list without hyphens": (
        GOOD.replace(
            "  - {kind: recal, name: plain, activations: 50}\n", "  {kind: recal, name: plain, activations: 50}\n", 1
        ),
        "small.yaml:13: not valid YAML: wrong indentation: this line belongs neither to what is above nor to what "
        "is around it; allowed: fields of one mapping, and entries of one list, begin in the same column",
    ),
    "open brace at the end": (
        GOOD.replace("audit: {agent: 1, trials: 60}", "audit: {agent: 1, trials: 60", 1),
        "small.yaml:16: not valid YAML: not closed by }, or a comma is missing; allowed: a comma or }",
    ),
    "four in one mapping": (
        GOOD.replace("audit: {agent: 1, trials: 60}", "audit: {agnt: 1, trials: 6, stop: refute, views: link}", 1),
        "small.yaml:16: audit.trials = 6: out of range; allowed: >= 50\nsmall.yaml:16: audit.stop = 'refute': not "
        "one of the allowed values; did you mean 'refuted'?; allowed: 'never' or 'refuted'\nsmall.yaml:16: "
        "audit.views = 'link': not one of the allowed values; did you mean 'links'?; allowed: 'none', 'links', "
        "'nodes', 'coalitions' or 'all'\nsmall.yaml:16: audit.agnt = 1: unknown field; did you mean 'agent'?; "
        "allowed: agent, adjacency, search, trials, chunk, confidence, stop, classifier, views, draw",
    ),
    "two documents": (
        GOOD.replace("audit: {agent: 1, trials: 60}", ("audit: {agent: 1}\n---\nname: two"), 1),
        "small.yaml:17: not valid YAML: a second document begins here; allowed: one document: no line of --- or ...",
    ),
    "true for a mapping": (
        GOOD.replace("audit: {agent: 1, trials: 60}", "audit: true", 1),
        "small.yaml:16: audit = True: wrong type: a truth value; allowed: a mapping of fields",
    ),
    "fields that exclude each other": (
        GOOD.replace(
            "audit: {agent: 1, trials: 60}", "audit: {agent: 1, trials: 60, classifier: true, stop: refuted}", 1
        ),
        "small.yaml:16: audit.classifier = True: classifier and stop cannot be combined: a classifier needs chunks "
        "to learn from and others to play, and an audit that stops says what it says of the first one alone",
    ),
    "unknown norm": (
        GOOD.replace(
            "audit: {agent: 1, trials: 60}", "audit: {agent: 1, trials: 60, adjacency: {change: 1, norm: l3}}", 1
        ),
        "small.yaml:16: audit.adjacency.norm = 'l3': not one of the allowed values; allowed: 'l1', 'l2' or 'linf'",
    ),
    "number for a law": (
        GOOD.replace("delay: {kind: uniform, low: 0.01, high: 0.03}", "delay: 0.02", 1),
        "small.yaml:7: links.delay = 0.02: not one of the allowed values; did you mean {kind: constant, seconds: "
        "0.02}?; allowed: {kind: constant, …}, {kind: uniform, …}, {kind: lognormal, …}, {kind: exponential, …} or "
        "{kind: trace, …}",
    ),
    "unit in a number": (
        GOOD.replace(
            "delay: {kind: uniform, low: 0.01, high: 0.03}", "delay: {kind: uniform, low: 10 ms, high: 0.03}", 1
        ),
        "small.yaml:7: links.delay.low = '10 ms': wrong type: text; allowed: a number",
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
    "unknown measure": (
        GOOD.replace(
            "audit: {agent: 1, trials: 60}",
            (
                "reproduces: {paper: p, item: i, shows: s, checks: [{says: x, measure: "
                "final_err, of: plain, below: 1}]}"
            ),
            1,
        ),
        "small.yaml:16: reproduces.checks[0].measure = 'final_err': unknown measure; did you mean 'final_error'?; "
        "allowed: final_error, final, gradient_error, identifiable, image_skill, epsilon_exact, epsilon_audited, "
        "loss_ratio, gamma, skill, mse, psnr, ssim, success, label_accuracy, error_after, rounds_to, activations_to, "
        "plf_to, messages_to, message_bytes_to, packets_to, bytes_to, queries_to, time_to, growth, slope, "
        "epsilon_claimed, vacuous_from, verdict, attack_verdict, diverged, claim_undefined, "
        "convergence_unproven, optimum_is_zero",
    ),
    "unknown curve": (
        GOOD.replace("audit: {agent: 1, trials: 60}", "figures: [{x: rounds, y: error}]", 1),
        "small.yaml:16: figures[0].y = 'error': not one of the allowed values; did you mean 'mean_error'?; allowed: "
        "'relative_error', 'mean_error', 'consensus_error', 'consensus_distance', 'objective_gap', 'relative_gap', "
        "'stationarity_gap', 'optimality_gap', 'local_gradients', 'proximal_residual', 'limit_residual', "
        "'limit_shift', 'training_accuracy', 'held_out_accuracy', 'epsilon_claimed', "
        "'gradient_error', 'identifiable', 'image_skill', 'skill', 'mse', 'psnr', 'ssim', 'success', "
        "'label_accuracy', 'epsilon_exact', 'epsilon_audited', 'loss_ratio', 'gamma', 'vacuous_from', 'slope', "
        "'rounds_to', 'activations_to', 'plf_to', 'messages_to', 'message_bytes_to', 'packets_to', 'bytes_to', "
        "'queries_to' or 'time_to'",
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
    "attacks": (
        GOOD.replace(
            "audit: {agent: 1, trials: 60}", "attacks: {reconstruct: [{kind: DLG}, {kind: idlg, restart: 3}]}", 1
        ),
        "small.yaml:16: attacks.reconstruct[0].kind = 'DLG': unknown kind; did you mean 'dlg'?; allowed: dlg, idlg, "
        "inverting_gradients, grad_inversion, row_space, posterior_batch, informed, one_record, posterior, "
        "pure_matching, least_squares_record, logistic_record, softmax_record, dense_layer, mean_of_ratios, "
        "least_squares_gram, finite_prior, posterior_mean\nsmall.yaml:16: attacks.reconstruct[1].restart = 3: "
        "unknown field; did you mean 'restarts'?; allowed: kind, name, inversion, rounds, labels, matched, "
        "iterations, restarts, snapshots",
    ),
    "word of a union": (
        GOOD.replace("audit: {agent: 1, trials: 60}", "medium: wifi", 1),
        "small.yaml:16: medium = 'wifi': not one of the allowed values; allowed: 'links', 'radio' or {kind: radio, "
        "…}",
    ),
    "missing in a mapping": (
        GOOD.replace("audit: {agent: 1, trials: 60}", "activation: {kind: poisson}", 1),
        "small.yaml:16: activation.rate: missing",
    ),
    "unknown data": (
        GOOD.replace("name: digits, norm_bound: 4.0", "name: mnsit", 1),
        "small.yaml:4: problem.data.name = 'mnsit': unknown name; did you mean 'mnist'?; allowed: digits, "
        "breast_cancer, synthetic, sensors, mnist, fashion_mnist, cifar10_cat_dog, ijcnn1, covtype, adult, libsvm, "
        "csv",
    ),
    "too few classes": (
        GOOD.replace("name: digits, norm_bound: 4.0", "name: digits, classes: [0]", 1),
        "small.yaml:4: problem.data.classes = [0]: out of range; allowed: at least 2 entries",
    ),
}
"""Scenario files: text and message."""
SWEEPS = {
    "sweep without a scenario": (
        "grid: {links.loss: [0.1]}\n",
        "sweep.yaml:1: scenario: missing",
    ),
    "sweep: unknown field": (
        "scenario: small\ngird: {links.loss: [0.1]}\n",
        "sweep.yaml:2: gird = {'links.loss': [0.1]}: unknown field; did you mean 'grid'?; allowed: scenario, grid, "
        "random, draws, repeats, seed, keep",
    ),
    "sweep: unknown law": (
        "scenario: small\nrandom: {links.loss: {law: normal, low: 0, high: 1}}\n",
        "sweep.yaml:2: random.links.loss.law = 'normal': unknown law; did you mean 'uniform'?; allowed: uniform, "
        "loguniform, choice",
    ),
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
    "sweep: tab": (
        "scenario: small\ngrid:\n\tlinks.loss: [0.1]\n",
        "sweep.yaml:3: not valid YAML: a tab, where only spaces may be; allowed: use spaces: YAML is indented with "
        "spaces, two a level, never with tabs",
    ),
    "sweep: both": (
        "scenario: small\ngrid: {links.loss: [0.1]}\nrandom: {links.loss: {law: uniform, low: 0, high: 1}}\n",
        "sweep.yaml:1: links.loss is in both grid and random",
    ),
    "sweep: low above high": (
        "scenario: small\nrandom: {links.loss: {law: uniform, low: 1, high: 0}}\n",
        "sweep.yaml:2: random.links.loss = {'high': 0, 'law': 'uniform', 'low': 1}: low must be below high",
    ),
    "sweep: draws of nothing": (
        "scenario: small\ngrid: {links.loss: [0.1]}\ndraws: 3\n",
        "sweep.yaml:1: draws goes with random: say which fields are drawn, or use repeats",
    ),
    "sweep: misspelt path": (
        "scenario: small\ngrid: {links.los: [0.1]}\n",
        "sweep.yaml:2: point 0: links.los = 0.1: unknown field; did you mean 'loss'?; allowed: delay, loss, "
        "bandwidth, buffer, reliable, timeout, reordering, duplication, outages, encrypted, authenticated",
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
    "tab after spaces",
    "tab after a folded text's sign",
    "too deep",
    "a file indented",
    "indentation",
    "open brace",
    "list without hyphens",
    "open brace at the end",
    "two documents",
    "fields that exclude each other",
    "two variants",
    "values of a grid",
    "sweep: wrong values",
    "sweep: tab",
    "sweep: both",
    "sweep: low above high",
    "sweep: draws of nothing",
    "sweep: misspelt path",
}
"""What a JSON Schema cannot tell: what is no YAML 1.2, and what depends on other fields."""
