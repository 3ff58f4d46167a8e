"""From messages to gradients to pictures.

What agents send determines their gradients, by linear algebra. A gradient determines the image behind it, by one more
equation. Both steps are done here, live, and the pictures are laid beside the originals.
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="From messages to gradients to pictures", width="medium")


with app.setup(hide_code=True):
    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Number, Option, Until
    from scenarios.lab.scenes import listening as scene
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    algorithm = mo.ui.dropdown(list(scene.ALGORITHMS), value="gradient descent", label="Algorithm")
    images = mo.ui.slider(1, 3, step=1, value=1, label="Images per agent", show_value=True)
    miss = mo.ui.slider(0.0, 0.4, step=0.1, value=0.0, label="The taps miss", show_value=True)
    page.stack(
        mo.md(r"""
    # From messages to gradients to pictures

    Six agents on a ring, each with images that never leave it. An eavesdropper hears every link and wants the
    images. It goes in two steps: first the gradients that the agents computed, then the images that the gradients
    were computed from. Neither step needs luck, and neither needs learning. Both are equations.
    """),
        page.panel(mo.md("**The setting.**"), algorithm, images, miss),
    )
    return algorithm, images, miss


@app.cell(hide_code=True)
def _(algorithm, images, miss):
    attacked = scene.attacked(algorithm.value, images.value, miss.value)
    page.stack(
        mo.md(r"""
    ## From messages to gradients

    Everything about agent $i$ is public but its data: its code, its weights, its step, and what it was told. So we
    run its code ourselves, on the messages that it received, and put an unknown $g^k$ wherever it asks for the
    gradient $\nabla f_i(x^k)$. For most algorithms every message that it sends is then an affine function of
    the unknowns,

    $$m \;=\; A\,(g^0, g^1, g^2, \dots) + c,$$

    with $A$ and $c$ known. What was heard on the link is $m$. One linear system, and the gradients are out; where the
    equations do not determine a gradient, the rank of $A$ says so. No part of this depends on which algorithm it is:
    the code is *probed*. For a few algorithms a little algebra of their own goes further.
    """),
        page.facts(
            {
                "gradients that the agents computed": attacked.played.queries,
                "of them follow from the recording": len(attacked.estimates),
                "largest relative error": attacked.played.worst,
                "by": attacked.inversion,
            }
        ),
    )
    return (attacked,)


@app.cell(hide_code=True)
def _(attacked, images):
    largest = max((float(abs(one).max()) for one in attacked.first_gradients if one is not None), default=1.0)
    _made = {
        what: ["" if error != error else f"± {show(error, 2)}" for error in attacked.errors(what)]
        for what in ("rebuilt", "guess")
    }
    page.stack(
        mo.md(r"""
    ## From a gradient to the image

    Let an agent hold a single image $a$ with label $b = \pm 1$. Its logistic loss with ridge term has the gradient

    $$\nabla f(x) \;=\; -\,b\,\sigma(-b\,a^\top x)\;a \;+\; \rho\,x .$$

    The last term is public: take it away, and what is left is the image times a number, $d = c\,a$. It already *is* a
    picture. The number follows too, since $c = -b\,\sigma(-b\,a^\top x)$ is an equation in $c$ alone once $a$ is
    written as $d/c$, and $x$ is known from the wire.
    """),
        mo.md("The first gradient of each agent that follows from the recording, without its public term:"),
        figures.pictures(
            {"gradient": attacked.first_gradients},
            attacked.first.reconstructions.shape,
            (-largest, largest),
            captions={"gradient": [f"agent {i}" for i in range(scene.AGENTS)]},
        ),
        mo.md(f"The images, and what was made of the recording ({images.value} for each agent):"),
        figures.pictures(
            {"original": attacked.first.originals} | {what: attacked.pictured(what) for what in _made},
            attacked.first.reconstructions.shape,
            attacked.first.reconstructions.range,
            captions=_made,
        ),
        mo.md(
            f"Below a picture: its root mean square error, as a share of a pixel's range. All images of "
            f"**{attacked.rebuilt} of {scene.AGENTS} agents** were rebuilt to within 0.05."
        ),
    )


@app.cell(hide_code=True)
def _(attacked):
    def spectrum(label, found):
        values = [max(value, 1e-18) for value in found.singular_values]
        curve = figures.Curve(label, list(range(1, len(values) + 1)), values)
        return figures.curves([curve], "number", "singular value, of the largest", log_y=True)

    page.stack(
        mo.md(r"""
    The last row is an honest opponent. It never heard a packet: it is the mean of the images that *nobody* holds, of
    the right class. Whoever claims to have rebuilt an image has to beat it, and how well that is done is the *skill*,

    $$1 - \frac{\text{MSE of the picture}}{\text{MSE of the guess}},$$

    which is 1 for the image itself and 0 for what one could have guessed.

    ## Several images

    An agent with $m$ images sends the mean of $m$ such terms, $\frac1m \sum_k c_k(x)\,a_k$, and one gradient alone
    is a double exposure. But it sends many, at different $x$, and each is another mixture of the *same* $m$ images.
    Lay them below each other: a matrix whose rows all lie in the span of the images. Its singular values fall to
    rounding after the $m$-th. That says how many images there are, and leaves $m^2$ numbers to be found, however many
    pixels an image has.
    """),
        spectrum("agent 0", attacked)
        if attacked.singular_values
        else mo.md("*No gradient of agent 0 follows from this recording.*"),
    )
    return (spectrum,)


@app.cell(hide_code=True)
def _(algorithm, spectrum):
    secret = scene.attacked(algorithm.value, scene.SECRET)
    page.stack(
        mo.md("## Questions"),
        mo.md(
            "These are the singular values of agent 0's gradients in another run, in which all agents hold a number "
            "of images that is not told here."
        ),
        spectrum("agent 0, another run", secret),
    )
    return (secret,)


@app.cell(hide_code=True)
def _():
    answer_1 = page.number()
    answer_2 = page.choice(
        "the image, up to its sign",
        "half of the image, up to its sign",
        "nothing that looks like it: the step to the image is random",
        "0, since the start is",
    )
    None
    return answer_1, answer_2


@app.cell(hide_code=True)
def _(answer_1, secret):
    count = len(secret.singular_values)
    question_1 = Number(
        secret.rank,
        f"The {secret.rank}th singular value is {show(secret.singular_values[secret.rank - 1])} of the largest, the "
        f"next one {show(secret.singular_values[secret.rank])}: rounding.",
        tolerance=0.0,
        traps=(
            (count, f"{count} gradients follow, but they lie in a space of fewer dimensions."),
            (count - secret.rank, "Those are the singular values that are rounding."),
        ),
        hint=lambda _: "Count the singular values that are not rounding: those above the cliff.",
        ask="1. How many images does agent 0 hold in that run?",
    )
    page.ask(question_1, answer_1)
    return (question_1,)


@app.cell(hide_code=True)
def _(answer_2):
    half, beside = scene.attacked("gradient descent", 1).along_image()
    measured = (
        f"In a run just made, |⟨∇f(0), a⟩|/⟨a, a⟩ is {show(half)}, and what is left of the gradient beside a "
        f"is {show(beside)} of it."
    )
    question_2 = Choice.of(
        answer_2,
        Option(abs(half - 1) < 1e-6 and beside < 1e-6, f"The number before a is σ(0). {measured}"),
        Option(abs(half - 0.5) < 1e-6 and beside < 1e-6, f"σ(0) = ½. {measured}"),
        Option(beside > 0.1, f"Nothing is random in a gradient of all records. {measured}"),
        Option(half < 1e-6, f"Only the ridge term ρx is 0 there. {measured}"),
        ask="2. Gradient descent starts at x = 0, and each agent holds one image a. What is its first gradient?",
    )
    page.ask(question_2, answer_2)
    return beside, half, measured, question_2


@app.cell(hide_code=True)
def _(attacked, images):
    share = len(attacked.estimates) / attacked.played.queries
    question_3 = Until(
        share < 0.5 and attacked.rebuilt == scene.AGENTS,
        f"{share:.0%} of the gradients follow, and the images of {attacked.rebuilt} of "
        f"{scene.AGENTS} agents are "
        "rebuilt. " + ("Let the taps miss more." if share >= 0.5 else "Some agent was not heard often enough."),
        f"{share:.0%} of the gradients follow. With {images.value} image(s) for each agent, {images.value} gradients "
        "of an agent are as good as all of them: what was missed, was told before or will be told again.",
        ask="3. **Change the setting** until fewer than half of the gradients follow from the recording, and "
        "every image is rebuilt all the same.",
        by={"miss": 0.4},
    )
    page.ask(question_3)
    return (question_3,)


@app.cell(hide_code=True)
def _():
    further = {
        "netsim run images-from-dp-recal": "Three published attacks on images, on algorithms with and without noise.",
        "netsim run leakage": "How well images are rebuilt by the share of links that are tapped, and by the noise.",
        "netsim run colluding-neighbors": "No tap on any link: two neighbors who put together what they are told.",
    }
    page.go_on(further)
    return (further,)


if __name__ == "__main__":
    app.run()
