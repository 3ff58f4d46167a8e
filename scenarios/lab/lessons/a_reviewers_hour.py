"""A reviewer's hour.

A theorem from its text to a verdict: who is protected, in which norm, by which clip, what is added up, which pair of
worlds costs most, and what an audit says.
"""

import marimo

app = marimo.App(app_title="A reviewer's hour", width="medium")


with app.setup(hide_code=True):
    import math

    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Number, Option, Until
    from scenarios.lab.scenes import reviewing as scene
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    item = scene.item()
    page.stack(
        mo.md(rf"""
    # A reviewer's hour

    A paper claims privacy for its algorithm. You have an hour. This lesson takes one claim through seven steps that
    fit most papers of the field; every step has one question.

    ## The text

    {scene.paper()}. **{item.item}**, {item.place}:

    > {item.states}

    The formula, for noise of scales $u_w r^k$ and $u_e r^k$ in round $k$, step $\alpha$, dimension $d$ and gradients
    whose Lipschitz constants are at most $\bar M$:

    $$\varepsilon \;=\; \sum_{{k=1}}^{{K}} \frac{{\sqrt d\,\alpha\,\delta}}{{r^k(1-\alpha\bar M)}}
    \Big(\frac1{{\alpha u_e}} + \frac1{{u_w}}\Big).$$

    The algorithm, DPP², sends two vectors in each round: $y$, the iterate with a share of the dual and noise $w$, and
    then $z$, the gradient with a share of the other dual and noise $e$:

    $$\begin{{aligned}}
    y &= x + (1-\eta_k)\,d + w, & z &= \nabla f(x) + \eta_k q + \rho(Py)_i + e, \\
    x^+ &= x + w - \alpha(z - e) + \beta(Pz)_i, & d^+ &= \eta_k d + y, \qquad q^+ = \eta_k q + \rho(Py)_i .
    \end{{aligned}}$$

    Before anything is computed: what would it take for this to be wrong? Write it down, and read on.
    """),
    )
    return (item,)


@app.cell(hide_code=True)
def _():
    answer_1 = page.choice(
        "one record of one agent", "the gradient of one agent, by at most δ", "all data of one agent, in any way"
    )
    answer_2 = page.number()
    answer_3 = page.number()
    answer_4 = page.number()
    answer_5 = page.choice("all coordinates alike", "one coordinate alone", "any: only its length counts")
    answer_7 = page.choice(
        "It holds by either count.",
        "It holds where K counts iterations, and is broken by the loop of Algorithm 1.",
        "It is broken by either count.",
    )
    mo.md("""
    ## 1. Adjacency

    A claim of privacy is about two worlds. Which data do they share, and what may differ? Look for the word
    "adjacent", or for what the proof takes the difference of. In (61) to (64) it is that of two gradients of one
    agent at the same point, and they are δ apart at most.
    """)
    return answer_1, answer_2, answer_3, answer_4, answer_5, answer_7


@app.cell(hide_code=True)
def _(answer_1, item):
    anything, records = scene.by_record(norm_bound=False)
    _claimed = scene.Reviewed(2, scene.STEPS[0], "even").audit.claim
    _record = (
        f"For a record that is replaced by any other, of whatever length, netsim finds a change of the gradient of "
        f"up to {show(anything.gradient_change)}."
    )
    question_1 = Choice.of(
        answer_1,
        Option(anything.gradient_change <= _claimed.gradient_change, f"{_record} The theorem has a δ."),
        Option(
            math.isfinite(_claimed.gradient_change),
            f"The paper's items in netsim have: “{item.claim.adjacency}”. It says nothing of records until somebody "
            f"bounds what a record does to a gradient. {_record}",
        ),
        Option(not math.isfinite(_claimed.gradient_change), f"Then δ would be ∞, and ε with it. {_record}"),
        ask="1. What may differ between the two worlds of Theorem 3?",
    )
    page.ask(question_1, answer_1)
    return anything, question_1, records


@app.cell(hide_code=True)
def _(answer_2):
    l1, l2 = scene.lengths("even")
    question_2 = Number(
        l1 / l2,
        f"‖Δ‖₁ = {show(l1)} where ‖Δ‖₂ = {show(l2)}: the √d of the formula pays for it, and is needed.",
        tolerance=0.02,
        traps=(
            (float(scene.DIMENSION), "That is ‖Δ‖₁ over the largest coordinate. In ℓ2 squares are added up."),
            (1.0, "That is so where one coordinate changes; the most is asked for."),
        ),
        hint=lambda _: "Take Δ = (c, …, c): d·c over √d·c.",
        ask=f"2. How many times as long in ℓ1 as in ℓ2 can a vector of d = {scene.DIMENSION} coordinates be?",
    )
    page.stack(
        mo.md("""
    ## 2. Norm

    δ bounds a length in ℓ2. The noise is Laplace noise in every coordinate, which is priced in ℓ1 (lesson 6). Some
    papers forget the factor between the two. Is it there?
    """),
        page.ask(question_2, answer_2),
    )
    return l1, l2, question_2


@app.cell(hide_code=True)
def _(answer_3, records):
    bounded, _ = scene.by_record(norm_bound=True)
    question_3 = Number(
        bounded.gradient_change,
        f"2·{show(scene.NORM)}/{records}: a record's gradient is as long as the record at most, one is taken away "
        "and another put in its place.",
        tolerance=0.01,
        traps=(
            (bounded.gradient_change / 2, "One record goes, and another comes: both count."),
            (
                2 * scene.NORM,
                f"That is the gradient of a sum; an agent's objective is the mean of {records} records.",
            ),
        ),
        hint=lambda _: f"2R/m, with R = {show(scene.NORM)} and m = {records}.",
        ask=f"3. Let all records have length {show(scene.NORM)} at most, before and after. The loss is logistic, so "
        f"that ‖∇ℓ‖₂ ≤ ‖a‖₂ for a record a, and an agent's objective is the mean over its {records} records. Which δ "
        "is needed for one record that is replaced?",
    )
    page.stack(
        mo.md("""
    ## 3. Clip

    Who sees to it that gradients are no more than δ apart? Often a clip in the code, which the proof needs and the
    pseudocode forgets, or the other way round. DPP² has none: δ is assumed. So ask what the experiment's data give.
    Nothing is printed there: neither δ nor ε, nor a bound on the features. With one it is a short calculation:
    """),
        page.ask(question_3, answer_3),
    )
    return bounded, question_3


@app.cell(hide_code=True)
def _():
    step = mo.ui.slider(steps=list(scene.STEPS), value=0.1, label="Step α =", show_value=True)
    rounds = mo.ui.slider(2, 6, step=1, value=2, label="rounds", show_value=True)
    direction = mo.ui.dropdown(list(scene.DIRECTIONS), value="even", label="the gradient's change points")
    page.stack(
        mo.md(rf"""
    ## 4. Composition

    Now run it: three agents, $d = {scene.DIMENSION}$, $u_w = u_e = 1$, $r = {scene.RATIO}$,
    $\bar M = {scene.SMOOTHNESS}$, $\delta = {scene.CHANGE}$. The gradient of agent {scene.AGENT} is moved by a
    constant vector of length δ, and all that it sends is replayed in both worlds. What each release adds to ε, and
    beside it the sum of Theorem 3, whose terms are numbered k = 1, …, K:
    """),
        page.panel(step, rounds, direction),
    )
    return direction, rounds, step


@app.cell(hide_code=True)
def _(direction, rounds, step):
    reviewed = scene.Reviewed(rounds.value, step.value, direction.value)
    _ends = list(range(1, rounds.value + 1))
    _exact = [reviewed.releases[2 * k - 1][2] for k in _ends]
    page.stack(
        figures.table(["release", "adds", "ε so far"], [list(row) for row in reviewed.releases]),
        figures.curves(
            [
                figures.Curve("lost, exactly", _ends, _exact),
                figures.Curve(
                    "Theorem 3, K = rounds − 1", _ends[1:], [scene.theorem(k - 1, step.value) for k in _ends[1:]]
                ),
                figures.Curve(
                    "Theorem 3, K = rounds", _ends, [scene.theorem(k, step.value) for k in _ends], dashed=True
                ),
            ],
            "rounds",
            "ε of all that was sent",
        ),
    )
    return (reviewed,)


@app.cell(hide_code=True)
def _(answer_4, reviewed, rounds):
    count = len(reviewed.costly)
    question_4 = Number(
        float(count),
        f"All but {', '.join(name for name, cost, _ in reviewed.releases if name not in reviewed.costly)}: x⁰ is "
        f"public, and y⁰ is sent before any gradient was computed. But z⁰ has one, and a sum that begins with k = 1 "
        "has no term for it.",
        tolerance=0.0,
        traps=(
            (float(2 * rounds.value), "y⁰ is x⁰ with noise: the same in both worlds."),
            (
                float(2 * (rounds.value - 1)),
                f"So many terms has the sum with K = {rounds.value - 1}, two for each k. One more release costs.",
            ),
        ),
        hint=lambda _: "Two vectors are sent in each round. Which of them have nothing of a gradient in them?",
        ask="4. Of all that agent 0 sends in the rounds set above, how many releases cost something?",
    )
    page.stack(
        page.ask(question_4, answer_4),
        mo.md(rf"""
    So what is K? Table I of the paper has "K as the number of iterations", and Section VI "K = 500 iterations": then
    K rounds have K terms. But Algorithm 1 runs "for k = 0, …, K", K + 1 rounds. After {rounds.value} rounds K is
    {rounds.value} by the one and {rounds.value - 1} by the other count, and the theorem's ε is
    {show(reviewed.by_table, 4)} or {show(reviewed.by_loop, 4)}.
    """),
    )
    return count, question_4


@app.cell(hide_code=True)
def _(answer_5, rounds, step):
    by_direction = {one: scene.Reviewed(rounds.value, step.value, one).exact for one in scene.DIRECTIONS}
    _most = max(by_direction.values())
    _said = ", ".join(f"{name} {show(value)}" for name, value in by_direction.items())
    question_5 = Choice.of(
        answer_5,
        Option(by_direction["even"] == _most, f"ε: {_said}. Laplace noise hides the sum of all changes worst."),
        Option(by_direction["coordinate"] == _most, f"ε: {_said}."),
        Option(min(by_direction.values()) == _most, f"ε: {_said}. The length in ℓ2 is the same in all three."),
        ask="5. Which change of the gradient, of the same length δ, costs most?",
    )
    page.stack(
        mo.md("""
    ## 5. A tight pair

    A claim holds for all pairs of worlds, and one pair can break it. An audit of a pair that costs little shows
    nothing: look for the one at which each inequality of the proof is an equality.
    """),
        page.ask(question_5, answer_5),
    )
    return by_direction, question_5


@app.cell(hide_code=True)
def _(direction, reviewed, rounds, step):
    audit = reviewed.audit
    _where = f"α = {show(step.value)}, {rounds.value} rounds, {direction.value}"
    question_6 = Until(
        audit.verdict == "refuted",
        f"At {_where} the audit says {audit.verdict}: {show(reviewed.exact, 4)} is lost, "
        f"{show(reviewed.by_loop, 4)} is "
        "claimed. In the formula α is also in 1/(1 − αM̄), a bound that is loose. At which α is it nearly 1?",
        f"At {_where} {show(reviewed.exact, 4)} is lost for certain, and {show(reviewed.by_loop, 4)} claimed. At the "
        "paper's own α the slack of one factor covers what the sum leaves out.",
        ask="6. **Change the setting** in step 4 until the audit refutes the theorem by the count of Algorithm 1.",
        by={"step": 0.01},
    )
    page.stack(
        mo.md(f"""
    ## 6. Audit

    netsim judges the claim by the count of Algorithm 1. Its verdict at the setting of step 4: **{audit.verdict}**.
    {audit.reason}
    """),
        page.ask(question_6),
    )
    return audit, question_6


@app.cell(hide_code=True)
def _(answer_7, item):
    short = [scene.Reviewed(rounds, 0.01, "even") for rounds in (2, 5)]
    loop, table = (
        all(one.exact <= limit(one) for one in short) for limit in (lambda o: o.by_loop, lambda o: o.by_table)
    )
    _said = "; ".join(
        f"after {one.rounds} rounds {show(one.exact, 4)} is lost, {show(one.by_table, 4)} claimed where K = "
        f"{one.rounds}, "
        f"{show(one.by_loop)} where K = {one.rounds - 1}"
        for one in short
    )
    question_7 = Choice.of(
        answer_7,
        Option(loop and table, f"At α = 0.01 {_said}."),
        Option(table and not loop, f"At α = 0.01 {_said}. What netsim has on this item: *{item.outcome}*."),
        Option(not table, f"At α = 0.01 {_said}."),
        ask="7. What do you write about Theorem 3?",
    )
    page.stack(
        mo.md("""
    ## 7. Verdict

    A verdict names what it rests on: the reading of the text, the pair, the numbers, and what would change it. A
    reading under which the claim holds belongs in it; so does the sentence that the authors could add.
    """),
        page.ask(question_7, answer_7),
    )
    return loop, question_7, short, table


@app.cell(hide_code=True)
def _(item):
    _met = {True: "met", False: "not met", None: "open"}
    page.stack(
        mo.md("""
    ## What is left

    An hour ends. These conditions are in the theorem, or its proof needs them; whether the paper's own experiment
    meets them is a table for your report:
    """),
        figures.table(
            ["condition", "in the experiment", "why"],
            [[one.condition, _met[one.met], one.found] for one in item.claim.conditions],
        ),
    )


@app.cell(hide_code=True)
def _():
    further = {
        "netsim run dpp2-theorem-3": "The same by both counts, with games; exit status 1: refuted.",
        "netsim papers dpp2-theorem-3": "The theorem among the items of five papers, what came of it and why.",
        "netsim ledger dpp2": "Its entry in the ledger.",
        "netsim new --help": "A scenario for a claim of your own choice.",
    }
    page.go_on(further)
    return (further,)


if __name__ == "__main__":
    app.run()
