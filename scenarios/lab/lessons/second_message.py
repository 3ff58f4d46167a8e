"""Why the second message kills it.

DP-RECAL sends two vectors with every hop and puts noise on one of them. Its paper says that the other one needs no
additional protection. Here is what the other one says, what an audit makes of the claim, what fails to repair it, and
what does.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="Why the second message kills it", width="medium")


with app.setup(hide_code=True):
    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Number, Option, Until
    from scenarios.lab.scenes import noise as scene
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    reading = mo.ui.dropdown(list(scene.READINGS), value=next(iter(scene.READINGS)), label="What is sent")
    claimed = mo.ui.slider(steps=list(scene.EPSILONS), value=1.0, label="ε claimed", show_value=True)
    page.stack(
        mo.md(r"""
    # Why the second message kills it

    In RECAL a baton $(u, x)$ walks the graph, and only its holder computes. Holder $i$ keeps a copy $y_i$ and a dual
    $\lambda_i$, and with $\beta = 1/(2(n+1))$ and a step $\alpha$

    $$\begin{aligned}
    \lambda^{1/2} &= \lambda_i + \beta(x - y_i) \\
    x^+ &= x - (u + \lambda^{1/2} - \lambda_i) \\
    y_i^+ &= y_i - \alpha\big(\nabla f_i(y_i) - \lambda^{1/2}\big) \\
    \lambda_i^+ &= \lambda_i + \beta(x^+ - y_i^+) \\
    u^+ &= u + \lambda_i^+ - \lambda_i .
    \end{aligned}$$

    The gradient enters $u^+$. So DP-RECAL sends it with Gaussian noise,
    $\tilde u^+ = u^+ + \mathcal N(0, \sigma^2 I)$, and its Theorem 4 prices these releases. Then it sends $x^+$
    along, as it is. The gradient does not enter $x^+$; why protect it?
    """),
        page.panel(reading, claimed),
    )
    return claimed, reading


@app.cell(hide_code=True)
def _(claimed, reading):
    leaked = scene.leakage(reading.value, claimed.value)
    mo.md(rf"""
    {scene.AGENTS} agents on a ring, every link tapped, until one agent has been active
    {scene.PER_AGENT} times. For the claim of ε = {show(leaked.epsilon, 4)} at δ = {show(scene.DELTA)} the
    theorem asks
    for σ = {show(leaked.stddev)} at the first activation.

    ## One release

    From $\tilde u^+ - \tilde u$ an attacker who does RECAL's algebra, as the paper lets it, gets each gradient with
    the noise divided by $\alpha\beta$. Its median relative error is **{show(leaked.error_by_noisy_message)}**: the
    noise does what it was made for.
    """)
    return (leaked,)


@app.cell(hide_code=True)
def _(claimed, reading, leaked):
    sweep = [scene.leakage(reading.value, one) for one in scene.EPSILONS]
    alone, both = [one.error_by_noisy_message for one in sweep], [one.best_error for one in sweep]
    _curves = [
        figures.Curve("from ũ alone", scene.EPSILONS, alone),
        figures.Curve("from both messages", scene.EPSILONS, both),
    ]
    page.stack(
        mo.md(rf"""
    ## The second message

    Now look at $x^+$, the first two lines together. All but $y_i$ is on the wire: $x$ and $\tilde u$ came in, $x^+$
    went out. So

    $$y_i \;=\; x - \frac{{x - \tilde u - x^+}}{{\beta}},$$

    with no noise in it: $\tilde u$ was *sent* with its noise, and is known as it was sent. That is where the agent
    stands before its step. At its next visit the same line gives $y_i^+$, where it stands afterwards. And the way
    from one to the other is its gradient:

    $$\nabla f_i(y_i) \;=\; \lambda_i + \beta(x - y_i) - \frac{{y_i^+ - y_i}}{{\alpha}} .$$

    That is so in the published reading; what other readings change in it comes below. With both messages, of
    {leaked.played.queries} gradients {leaked.inferred} are estimated in the setting above, with a median
    relative error of **{show(leaked.best_error)}**.
    """),
        mo.md("By the noise, which grows to the left:"),
        figures.curves(
            _curves, "ε claimed", "relative error of a gradient", log_x=True, log_y=True, at=claimed.value
        ),
    )


@app.cell(hide_code=True)
def _(leaked):
    page.stack(
        mo.md("With one image an agent, and the attack of the last lesson, each row from its own gradients:"),
        leaked.played.pictures({"from ũ alone": "through ũ", "from both": "strongest"}, "strongest"),
        mo.md(
            f"Skill from ũ alone: **{show(leaked.played.skill('through ũ'))}**; from both: "
            f"**{show(leaked.played.skill('strongest'))}** "
            f"(above {scene.BEATEN} it is better than a guess)."
        ),
    )


@app.cell(hide_code=True)
def _(leaked):
    _rows = [["ε of this pair so far, estimated", *(level.estimate for level in leaked.audit.growth)]]
    page.stack(
        mo.md(rf"""
    ## The audit needs no attack

    Nobody has to be clever to find this. Take what passed agent {scene.AUDITED}'s door, and run the agent's own code
    on it twice: once with its data, once with one record replaced. Wherever the code calls for noise, the value
    that was sent tells which draw would explain it, in either world, and the ratio of the two densities is what an
    observer learns. Where a value that was sent is *not* covered by noise, and differs between the worlds, no draw
    explains it: ε = ∞.

    The pair: {leaked.audit.pair}.
    """),
        figures.table(["activations", *(level.activation for level in leaked.audit.growth)], _rows),
        mo.md(f"""
    Claimed: {show(leaked.epsilon, 4)}. Verdict: **{leaked.audit.verdict}**. {leaked.audit.reason}
    """),
    )


@app.cell(hide_code=True)
def _(claimed, leaked):
    readings = {name: scene.leakage(name, claimed.value) for name in scene.READINGS}
    _columns = ["what is sent", "gradient error", "skill on images", "ε claimed", "ε, one pair", "verdict"]
    _audits = {name: (one.audit.epsilon_exact.estimate, one.audit.verdict) for name, one in readings.items()}
    _rows = [
        [name, one.best_error, one.played.skill("strongest"), one.epsilon, *_audits[name], one.played.final_error]
        for name, one in readings.items()
    ]
    page.stack(
        mo.md(r"""
    ## An attempt that fails, and a repair

    *Fresh noise* goes where the leak is: the argument of $x^+$ gets noise of the same σ, and $x^+$ is a release too.
    But $y_i$ and $\lambda_i$ have integrated all gradients so far, so every release depends on all of them, and the
    theorem's sum counts each gradient once. One replaced record does not show it; a gradient that changes by a
    constant, and by no more, does: on least squares ε ≥ 3.70 for a claim of 1 (`netsim ledger dp-recal-fresh-noise`).

    *Sent state* removes the secret instead of covering it. After sending $\tilde u^+$ the agent forgets what it
    knows better and goes on from what it sent:

    $$\begin{aligned}
    \lambda_i &\leftarrow \lambda_i + (\tilde u^+ - \tilde u) \\
    y_i &\leftarrow x^+ - (\tilde u^+ - \tilde u)/\beta .
    \end{aligned}$$

    Now $y_i$, $\lambda_i$ and with them the next $x^+$ are functions of what is on the wire already. Who sees it
    learns nothing that ũ did not say, each release depends on one gradient, and the theorem holds. The price is
    noise of σ/β on $y_i$.
    """),
        figures.table(
            [*_columns, "error at the end"],
            _rows,
            marked=[index for index, one in enumerate(readings.values()) if one.reading == leaked.reading],
        ),
        mo.md(
            r"The last column is $\|x - x^\star\|/\|x^\star\|$ after this short run, with $x^\star$ the optimum; at "
            "x = 0, where it began, it is 1."
        ),
    )


@app.cell(hide_code=True)
def _(claimed):
    published = scene.leakage(next(iter(scene.READINGS)), claimed.value)
    answer_1 = page.number()
    answer_2 = page.choice("It grows with σ", "It stays at rounding", "None can be inferred any more")
    mo.md("## Questions")
    return answer_1, answer_2, published


@app.cell(hide_code=True)
def _(answer_1, published):
    question_1 = Number(
        published.played.queries - published.inferred,
        f"The last one of each of the {scene.AGENTS} agents: no further visit tells where it went.",
        tolerance=0.0,
        traps=(
            (0, "The agent's place at its next visit gives a gradient away. Not every visit has a next one."),
            (1, "Each agent has a visit that is its last."),
            (published.inferred, "That is how many are inferred."),
        ),
        hint=lambda _: "How many visits have no next visit of the same agent?",
        ask=f"1. In the published reading the agents asked for {published.played.queries} gradients. How many of "
        "them does nobody get, who hears every link?",
    )
    page.ask(question_1, answer_1)
    return (question_1,)


@app.cell(hide_code=True)
def _(answer_2):
    weak, strong = (scene.leakage(next(iter(scene.READINGS)), one) for one in (100.0, 0.1))
    measured = (
        f"From σ = {show(weak.stddev)} to {show(strong.stddev)} the largest error went from "
        f"{show(weak.played.worst)} to {show(strong.played.worst)}."
    )
    question_2 = Choice.of(
        answer_2,
        Option(strong.played.worst > 1e-6, f"That is so of what ũ alone tells: y has none of the noise. {measured}"),
        Option(
            strong.inferred > 0 and strong.played.worst <= 1e-6,
            f"The noise is on the wire too, and is subtracted as it was sent. {measured}",
        ),
        Option(strong.inferred == 0, f"{strong.inferred} of {strong.played.queries} are inferred. {measured}"),
        ask="2. In the published reading, let the claim go down from ε = 100 to ε = 0.1, so that σ becomes much "
        "larger. What happens to the error of the gradients that both messages give?",
    )
    page.ask(question_2, answer_2)
    return (question_2,)


@app.cell(hide_code=True)
def _(leaked):
    skill, verdict = leaked.played.skill("strongest"), leaked.audit.verdict
    question_3 = Until(
        skill <= scene.BEATEN and verdict in ("proven", "consistent"),
        f"The skill is {show(skill)}, and the verdict: {verdict}. "
        + (
            "No amount of noise on ũ helps against what x⁺ tells: change what is sent."
            if verdict == "unprotected"
            else "Such a claim allows too much: it needs more noise."
        ),
        f"The skill is {show(skill)} and the verdict {verdict}: "
        f"{show(leaked.audit.epsilon_exact.estimate, 4)} of the claimed {show(leaked.epsilon, 4)} was found on "
        f"this pair.",
        ask="3. **Change the setting** until no image is rebuilt better than a guess, and the audit finds nothing "
        "against a claim that means something.",
        by={"reading": list(scene.READINGS)[-1]},
    )
    page.ask(question_3)
    return (question_3,)


@app.cell(hide_code=True)
def _():
    further = {
        "netsim run eavesdropper-on-dp-recal": "The same at full size: 8,000 transcripts of each world, all "
        "readings.",
        "netsim run images-from-dp-recal": "Three published attacks on images, given ũ alone and given the second "
        "message, too.",
        "netsim ledger": "Which other algorithms' claims do not survive an audit.",
    }
    page.go_on(further)
    return (further,)


if __name__ == "__main__":
    app.run()
