"""What noise buys.

One number, the scale of the noise, moves four others: how well gradients are inferred, how well images are rebuilt,
the ε that is claimed, and how near to the optimum the agents get. Who rebuilds with a prior needs far less.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="What noise buys", width="medium")


with app.setup(hide_code=True):
    import math

    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Number, Option, Until
    from scenarios.lab.scenes import noise as scene
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    scale = mo.ui.slider(steps=list(scene.SCALES), value=0.01, label="Scale of the noise, b", show_value=True)
    page.stack(
        mo.md(rf"""
    # What noise buys

    In the last lesson a gradient was as good as sent, and an image as good as its gradient. The remedy is noise:
    every agent adds to what it sends, coordinate by coordinate, a draw of the Laplace distribution with scale $b$,
    and goes on from what it sent:

    $$\tilde x_i^{{k+1}} \;=\; \sum_j w_{{ij}}\,\tilde x_j^k \;-\; \eta\,\nabla f_i(\tilde x_i^k) \;+\; n_i^k,
    \qquad n \sim \mathrm{{Lap}}(b).$$

    {scene.AGENTS} agents, {scene.ROUNDS} rounds, $\eta = {scene.STEP}$; every link is tapped. There is one slider in
    this lesson.
    """),
        page.panel(scale),
    )
    return (scale,)


@app.cell(hide_code=True)
def _(scale):
    noisy = scene.noisy(scale.value)
    all_scales = [scene.noisy(one) for one in scene.SCALES if one > 0]
    scales = [one.scale for one in all_scales]
    _curves = [
        figures.Curve("inferred from the recording", scales, [one.score.median for one in all_scales]),
        figures.Curve("ρx, nothing inferred", scales, [one.score.baseline for one in all_scales], dashed=True),
    ]
    page.stack(
        mo.md(rf"""
    ## The gradients

    The eavesdropper solves the same equation as before, and gets $\hat g = \nabla f_i - n/\eta$: the gradient, with
    the noise of one message divided by the step. The median relative error of such an estimate is now
    **{show(noisy.score.median)}**.

    Is that much? Compare with somebody who infers nothing and just says the public part of the gradient, $\rho x$: an
    error of **{show(noisy.score.baseline)}**. {
            "The eavesdropper's estimate is better."
            if noisy.score.median < noisy.score.baseline
            else "Taken one by one, the eavesdropper's estimates are worse than that."
        }
    """),
        figures.curves(
            _curves, "scale b", "relative error of a gradient", log_x=True, log_y=True, at=scale.value or None
        ),
    )
    return all_scales, noisy, scales


@app.cell(hide_code=True)
def _(noisy, scale):
    page.stack(
        mo.md(rf"""
    ## The images

    A single bad estimate is not the end of it. The agent asked for {noisy.played.run.queries[0]} gradients, all of
    the same image: errors average out, the image does not. And an attacker knows what digits look like. Two ways
    to use the same estimates:

    - **naive**: take the estimates at their word and solve for the image;
    - **MAP**, the most likely image: it weighs each estimate by the law of its noise, and what it would have to
      explain away by what it knows of digits beforehand,

    $$\hat a \;=\; \arg\max_{{a}} \;\;
    \sum_k \log p_{{\mathrm{{Lap}}(b/\eta)}}\big(\hat g^k - \nabla \ell(x^k; a)\big) \;+\; \log \pi(a).$$

    Each agent holds one image here. At b = {show(scale.value)} the skill (1 is the image itself, 0 a guess without
    any recording) is **{show(noisy.played.skill("naive"))}** for the naive attack and
    **{show(noisy.played.skill("MAP"))}** for the likeliest image.
    """),
        noisy.played.pictures({"naive": "naive", "MAP": "MAP"}, "MAP"),
    )


@app.cell(hide_code=True)
def _(all_scales, scale, scales):
    _curves = [
        figures.Curve(name, scales, [max(-1.0, one.played.skill(attack)) for one in all_scales])
        for attack, name in (("MAP", "MAP"), ("naive", "naive (below −1: drawn at −1)"))
    ]
    page.stack(
        figures.curves(_curves, "scale b", "skill", log_x=True, level=(0.0, "guess"), at=scale.value or None),
        mo.md(
            "Whoever measures a defence with the naive attack alone calls it safe where the other one still sees the "
            "image. A defence is as good as the best attack on it, and the attack's own prior is part of the attack."
        ),
    )


@app.cell(hide_code=True)
def _(noisy, scale):
    mo.md(rf"""
    ## The claim

    Differential privacy does not ask how clever the attacker is. Replace one record of an agent by another: its
    gradient changes by at most $B$ in the ℓ1 norm, and what it sends by $\eta B$. Laplace noise of scale $b$ makes
    that cost $\eta B/b$, and {scene.ROUNDS - 1} of the messages hold a gradient:

    $$\varepsilon \;=\; (K-1)\,\frac{{\eta B}}{{b}}, \qquad B = \sqrt{{d}}\,\frac{{2R}}{{m}},$$

    with images of norm at most $R = {scene.NORM:g}$, $d = {noisy.played.experiment.problem.dimension}$ pixels and
    $m$ records per agent. With the {min(noisy.played.experiment.problem.records)} records of the agent that
    has fewest, $B = {show(noisy.change)}$, and at b = {show(scale.value)}: **ε = {show(noisy.epsilon, 4)}**. With
    a single image, as in the pictures above, one record is all there is, and ε = {show(noisy.epsilon_alone, 4)}.

    A claim of ε = 1 says: whatever the attacker sees, its odds on which of two records an agent holds change by at
    most a factor of e. A claim of ε = 100 says nothing that could matter.
    """)


@app.cell(hide_code=True)
def _(all_scales, noisy):
    plain = scene.noisy(0.0)
    _ends = [one.played.final_error for one in all_scales]
    _trade = figures.Curve("one scale each", [one.epsilon for one in all_scales], _ends)
    _rows = [
        [one.scale, one.epsilon, end, one.score.median, one.played.skill("naive"), one.played.skill("MAP")]
        for one, end in zip(all_scales, _ends, strict=True)
    ]
    page.stack(
        mo.md(rf"""
    ## The price

    The noise that hides the gradient from the eavesdropper hides it from the neighbors too. After {scene.ROUNDS}
    rounds the farthest agent is at a relative distance $\|x - x^\star\|/\|x^\star\|$ of
    **{show(noisy.played.final_error)}** from the optimum $x^\star$. Without noise it would be
    {show(plain.played.final_error)}; it began at 1, with x = 0.

    Here is the whole trade, one marker for each scale of the slider: to the left is privacy, below is accuracy.
    """),
        figures.curves(
            [_trade],
            "ε claimed, for one record",
            "relative error at the end",
            log_x=True,
            log_y=True,
            level=(1.0, "x = 0: never begun"),
            at=noisy.epsilon if noisy.scale else None,
        ),
        figures.table(
            ["b", "ε claimed", "error at the end", "gradient error", "skill, naive", "skill, MAP"],
            _rows,
            marked=[index for index, one in enumerate(all_scales) if one.scale == noisy.scale],
        ),
    )


@app.cell(hide_code=True)
def _():
    reference = scene.noisy(0.03)
    answer_1 = page.number()
    answer_2 = page.choice(
        "Yes: no attack does better than a guess",
        "No: the likeliest image is far better than a guess",
        "No: even the naive attack is better than a guess",
    )
    mo.md("## Questions")
    return answer_1, answer_2, reference


@app.cell(hide_code=True)
def _(answer_1, reference):
    pixels = reference.played.experiment.problem.dimension
    right = math.sqrt(2 * pixels) * reference.scale / scene.STEP
    question_1 = Number(
        reference.distance,
        f"√(2d)·b/η = {show(right)}. Over the {reference.distances.size} estimates of this run it was "
        f"{show(reference.distance)}.",
        tolerance=0.05,
        traps=(
            (math.sqrt(2) * reference.scale / scene.STEP, f"That is one coordinate; there are {pixels} of them."),
            (math.sqrt(pixels) * reference.scale / scene.STEP, "That takes b for the deviation; it is √2·b."),
            (math.sqrt(2 * pixels) * reference.scale, "That is the noise on the message; the gradient is it over η."),
            (2 * pixels * reference.scale / scene.STEP, "Squares add up over the coordinates, lengths do not."),
        ),
        hint=lambda _: f"The error is n/η with {pixels} independent coordinates, η = {scene.STEP}.",
        ask=f"1. A Laplace draw of scale b has variance 2b². At b = {show(reference.scale)}, what is the root mean "
        "square of ‖ĝ − g‖₂, the length of the error of a gradient?",
    )
    page.ask(question_1, answer_1)
    return (question_1,)


@app.cell(hide_code=True)
def _(answer_2, reference):
    naive, likeliest = reference.played.skill("naive"), reference.played.skill("MAP")
    measured = (
        f"Gradient error {show(reference.score.median)} against {show(reference.score.baseline)}; skill "
        f"{show(likeliest)} of the likeliest image, {show(naive)} of the naive one."
    )
    question_2 = Choice.of(
        answer_2,
        Option(
            max(naive, likeliest) <= scene.BEATEN,
            f"The error of one gradient is not the error of what many gradients tell. {measured}",
        ),
        Option(
            likeliest > scene.BEATEN >= naive,
            f"Many weak estimates, weighed rightly and with a prior, make a picture. {measured}",
        ),
        Option(naive > scene.BEATEN, f"Not that one: it takes the noise for the image. {measured}"),
        ask=f"2. At b = {show(0.03)} an inferred gradient is farther off than the public part ρx alone. Are the "
        "images safe?",
    )
    page.ask(question_2, answer_2)
    return (question_2,)


@app.cell(hide_code=True)
def _(noisy):
    skills = {name: noisy.played.skill(name) for name in ("naive", "MAP")}
    question_3 = Until(
        max(skills.values()) <= scene.BEATEN,
        "Still better than a guess: "
        + ", ".join(f"{name} with a skill of {show(skill)}" for name, skill in skills.items() if skill > scene.BEATEN)
        + ".",
        f"The images are hidden, at a claimed ε of {show(noisy.epsilon_alone, 4)} for an agent with a single "
        f"one. And "
        f"the agents end at an error of {show(noisy.played.final_error)}, where never to have begun has 1. Six "
        "agents with so few images cannot have both.",
        ask=f"3. **Move the slider** until neither attack has a skill above {scene.BEATEN}. What do ε and the "
        "error at the end say there?",
        by={"scale": scene.SCALES[-1]},
    )
    page.ask(question_3)
    return (question_3,)


@app.cell(hide_code=True)
def _():
    further = {
        "netsim run private-descent": "The same kind of descent with its claim audited.",
        "netsim run private-descent-noise-floor": "How near it gets to the optimum, by the noise.",
        "netsim run leakage": "Errors of gradients and skills on images, by the noise and by what is tapped.",
    }
    page.go_on(further)
    return (further,)


if __name__ == "__main__":
    app.run()
