"""ℓ1 or ℓ2.

A bound on how far a gradient may change is stated in one norm, and noise protects in one. Where they are not the same
the claim is off by a factor that grows with the dimension, and papers have published that.
"""

import marimo

app = marimo.App(app_title="ℓ1 or ℓ2", width="medium")


with app.setup(hide_code=True):
    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Number, Option, Until
    from scenarios.lab.scenes import budgets as scene
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    dimension = mo.ui.slider(steps=[1, 2, 4, 9, 16, 25, 49, 100], value=9, label="Dimension d =", show_value=True)
    epsilon = mo.ui.slider(0.5, 3.0, step=0.5, value=1.0, label="claimed ε =", show_value=True)
    way = mo.ui.dropdown(["even", "coordinate", "random"], value="coordinate", label="The change points")
    _remedies = ["Laplace noise for ℓ1: b = √d/ε", "Gaussian noise for ℓ2, at δ = 0.01"]
    remedy = mo.ui.dropdown(_remedies, value=_remedies[0], label="The remedy")
    page.stack(
        mo.md(r"""
    # ℓ1 or ℓ2

    An agent releases a vector $v$ of dimension $d$ once, under Laplace noise of scale $b$ in every coordinate. In the
    other world it would have been $v + \Delta$. Noise with density $\propto e^{-\|n\|_1/b}$ loses

    $$L \;=\; \frac{\|n+\Delta\|_1 - \|n\|_1}{b} \;\le\; \frac{\|\Delta\|_1}{b},$$

    so Laplace noise is priced in $\ell_1$, the *sum* of the coordinates' changes. But gradients are bounded, and
    clipped, in $\ell_2$. Somebody takes $b = \|\Delta\|_2/\varepsilon$ and claims $\varepsilon$. What is it really?
    """),
        page.panel(
            mo.md("**The setting**: a change of $\\ell_2$ norm 1, and noise for it."), dimension, epsilon, way
        ),
    )
    return dimension, epsilon, remedy, way


@app.cell(hide_code=True)
def _(dimension, epsilon, way):
    mixed = scene.released(dimension.value, epsilon.value, way.value, "Laplace")
    _proven = f"≥ {show(mixed.found.epsilon_audited, 4)}"
    _rows = [[mixed.l2, mixed.l1, mixed.claimed, mixed.exact, _proven, mixed.verdict]]
    page.stack(
        mo.md("""
    ## What an audit says

    Two agents run, agent 1 with one gradient or the other; its release is replayed under both hypotheses and the
    distinguishing game is played with 1,000 transcripts of each world.
    """),
        figures.table(["‖Δ‖₂", "‖Δ‖₁", "ε claimed", "ε exact", "ε audited, by the game", "verdict"], _rows),
        mo.md(
            "A change in one coordinate is as long in $\\ell_1$ as in $\\ell_2$: nothing shows. **Let it point in "
            "all coordinates alike** (even), or anywhere (random)."
            if mixed.ratio < 1 + 1e-6
            else f"The same noise, the same length in $\\ell_2$: {mixed.ratio:.3g} times the claimed ε. An even "
            r"change has $\|\Delta\|_1 = \sqrt d\,\|\Delta\|_2$, the most there is, and a random one still about "
            r"$\sqrt{2d/\pi}$."
        ),
    )
    return (mixed,)


@app.cell(hide_code=True)
def _(epsilon):
    dimensions = [1, 2, 4, 9, 16, 25, 49, 100]
    even = [scene.released(d, epsilon.value, "even", "Laplace") for d in dimensions]
    tail = [scene.epsilon_at(d, epsilon.value, 1e-6) for d in dimensions]
    _curves = [
        figures.Curve("exact, δ = 0", dimensions, [one.exact for one in even]),
        figures.Curve("exact, δ = 10⁻⁶", dimensions, tail),
        figures.Curve("proven by the game", dimensions, [one.found.epsilon_audited for one in even]),
    ]
    page.stack(
        mo.md(r"""
    ## By dimension

    Audits of an even change, one for each dimension. The exact $\varepsilon$ follows $\sqrt d$. What the game finds
    does not: it sees typical transcripts, and their losses have a variance of about
    $\sum_c (\Delta_c/b)^2 = \varepsilon^2$ whatever $d$ is. The coordinates' small losses rarely all point the same
    way. At $\delta = 0$ it counts that they can; at a small $\delta > 0$ it does not, and the price levels off.
    """),
        figures.curves(_curves, "dimension d", "ε", log_x=True, level=(epsilon.value, "claimed")),
    )
    return dimensions, even, tail


@app.cell(hide_code=True)
def _(dimension, epsilon, remedy):
    laplace_now = remedy.value.startswith("Laplace")
    ways = ["even", "coordinate", "random"]
    noise = "Laplace for ℓ1" if laplace_now else "Gaussian"
    mended = [scene.released(dimension.value, epsilon.value, one, noise) for one in ways]
    _rows = [
        [one, found.l1, found.claimed, found.exact, found.verdict] for one, found in zip(ways, mended, strict=True)
    ]
    page.stack(
        mo.md(r"""
    ## Two remedies

    Pay for $\ell_1$: $\|\Delta\|_1 \le \sqrt d\,\|\Delta\|_2$, so $b = \sqrt d\,\|\Delta\|_2/\varepsilon$. Or take
    noise that is priced in $\ell_2$: the density of $N(0,\sigma^2 I)$ is the same in all directions, and one release
    costs $\mu = \|\Delta\|_2/\sigma$ wherever $\Delta$ points,

    $$\delta(\varepsilon) = \Phi\Big(\frac\mu2-\frac\varepsilon\mu\Big) -
    e^{\varepsilon}\,\Phi\Big({-\frac\mu2}-\frac\varepsilon\mu\Big) .$$

    The price for that is a $\delta > 0$: at $\delta = 0$ Gaussian noise has no finite $\varepsilon$.
    """),
        page.panel(remedy),
        figures.table(["the change points", "‖Δ‖₁", "ε claimed", "ε exact", "verdict"], _rows),
    )
    return laplace_now, mended, noise, ways


@app.cell(hide_code=True)
def _(epsilon):
    many = [1, 2, 3, 5, 8, 12, 20, 30, 50, 100]
    sizes = [scene.noise_sizes(d, epsilon.value, 1e-6) for d in many]
    _curves = [figures.Curve(name, many, [one[name] for one in sizes]) for name in sizes[0]]
    page.stack(
        mo.md(r"""
    ## What each costs in accuracy

    The length of the noise, $\sqrt{\mathbb E\|n\|_2^2}$, that makes a change of $\ell_2$ norm 1 private:
    $\sqrt{2d}\,b = \sqrt2\,d/\varepsilon$ for Laplace noise, $\sqrt d\,\sigma$ for Gaussian noise at
    $\delta = 10^{-6}$.
    """),
        figures.curves(_curves, "dimension d", "length of the noise", log_x=True, log_y=True),
    )
    return many, sizes


@app.cell(hide_code=True)
def _(dimension):
    root = dimension.value**0.5
    published = {one: scene.published(dimension.value, one) for one in ("coordinate", "even")}
    _rows = [
        [one, found.claimed, f"{found.exact:.4g}", f"{found.ratio:.4g}", f"{root:.4g}", found.verdict]
        for one, found in published.items()
    ]
    page.stack(
        mo.md(r"""
    ## It was published

    CPGT's eq. 23 bounds the $\ell_2$ norm of a constant change of a gradient, and DiaDSP and CPGT add Laplace noise.
    Here DiaDSP with the noise for which it claims $\varepsilon = 1$, all its conditions met, in the dimension set
    above:
    """),
        figures.table(["the change points", "ε claimed", "ε exact", "exact/claimed", "√d", "verdict"], _rows),
        mo.md(
            "One transcript above the claim is enough to refute it at δ = 0, and the audit keeps one: a *witness*, "
            "that anybody can replay. (In one coordinate it is broken too, by less than a per cent: the noise of the "
            "wrong round, lesson 5.)"
        ),
    )
    return published, root


@app.cell(hide_code=True)
def _():
    answer_1 = page.number()
    answer_2 = page.number()
    answer_3 = page.choice(
        "about √d times the claim, like the exact ε",
        "more than the claim, but far less than the exact ε",
        "nothing: the claim is not exceeded",
    )
    mo.md("## Questions")
    return answer_1, answer_2, answer_3


@app.cell(hide_code=True)
def _(answer_1, epsilon):
    at_64 = scene.released(64, epsilon.value, "even", "Laplace", trials=400)
    question_1 = Number(
        at_64.exact,
        f"√64 = 8 times the claim, and an audit of the even change finds {show(at_64.exact, 4)}.",
        tolerance=0.01,
        traps=(
            (epsilon.value, "That is the claim, which holds for a change in one coordinate only."),
            (64 * epsilon.value, "A factor of d is that from ℓ∞ to ℓ1; from ℓ2 it is less."),
        ),
        hint=lambda _: "How large can the ℓ1 norm be of a vector whose ℓ2 norm is 1?",
        ask="1. Gradients are clipped to change by 1 at most in ℓ2, in d = 64 dimensions, and get Laplace noise "
        f"for a claim of ε = {show(epsilon.value, 4)} by that bound. What is the true ε at δ = 0?",
    )
    page.ask(question_1, answer_1)
    return at_64, question_1


@app.cell(hide_code=True)
def _(answer_2, epsilon):
    crossing = scene.crossover(epsilon.value, 1e-6)
    spread = scene.noise_sizes(1, epsilon.value, 1e-6)["Gaussian for ℓ2"]
    at_crossing = scene.noise_sizes(crossing, epsilon.value, 1e-6)
    question_2 = Number(
        float(crossing),
        f"σ = {show(spread)}, and √d·σ < √2·d/ε from d > σ²ε²/2 = {show(spread**2 * epsilon.value**2 / 2)} on. At "
        f"d = {crossing}: {', '.join(f'{name} {show(size)}' for name, size in at_crossing.items())}.",
        absolute=1.0,
        tolerance=0.0,
        hint=lambda _: "Where do √2·d/ε and √d·σ meet? σ is read off the Gaussian curve at d = 1.",
        ask=f"2. From which dimension on is the Gaussian noise the shorter one, at ε = {show(epsilon.value, 4)} "
        f"and δ "
        "= 10⁻⁶? (Read it off the curves, or compute.)",
    )
    page.ask(question_2, answer_2)
    return at_crossing, crossing, question_2, spread


@app.cell(hide_code=True)
def _(answer_3, even):
    last = even[-1]
    proven = last.found.epsilon_audited
    said = (
        f"In the audit above the game proves ε ≥ {show(proven, 4)}; claimed {show(last.claimed, 4)}, "
        f"exact {show(last.exact, 4)}."
    )
    question_3 = Choice.of(
        answer_3,
        Option(proven > 0.8 * last.exact, said),
        Option(last.claimed < proven <= 0.8 * last.exact, said),
        Option(proven <= last.claimed, said),
        ask="3. Somebody audits this mix-up by the game alone, d = 100, even change. What does it tell?",
    )
    page.ask(question_3, answer_3)
    return last, proven, question_3, said


@app.cell(hide_code=True)
def _(mixed):
    question_4 = Until(
        mixed.ratio >= 5 - 1e-9,
        f"Exact is {show(mixed.exact, 4)}, {show(mixed.ratio)} times the claim: ‖Δ‖₁ = {show(mixed.l1)} at ‖Δ‖₂ = 1.",
        f"Exact is {show(mixed.exact, 4)}, {show(mixed.ratio)} times the claim: as much as ‖Δ‖₁ = "
        f"{show(mixed.l1)} is "
        "more than ‖Δ‖₂ = 1.",
        ask="4. **Change the setting** at the top until the audit finds at least five times the claimed "
        r"$\varepsilon$.",
        by={"dimension": 25, "way": "even"},
    )
    page.ask(question_4)
    return (question_4,)


@app.cell(hide_code=True)
def _():
    further = {
        "netsim run cpgt-eq-23 --out results/eq-23": "The same change, even and in one coordinate, with the paper's "
        "problem; exit status 1: refuted.",
        "netsim witness results/eq-23/even/witness-diadsp.json": "The transcript that refutes it, release by "
        "release.",
        "netsim ledger cpgt": "CPGT with and without compression, in the ledger.",
    }
    page.go_on(further)
    return (further,)


if __name__ == "__main__":
    app.run()
