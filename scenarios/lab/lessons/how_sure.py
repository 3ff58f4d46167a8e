"""How sure is an audit.

An audit guesses which of two worlds it looks at, counts, and concludes. What its number proves, at which confidence,
what it cannot prove, and how one fools oneself with it.
"""

import marimo

app = marimo.App(app_title="How sure is an audit", width="medium")


with app.setup(hide_code=True):
    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Number, Option, Until
    from scenarios.lab.scenes import audits as scene
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    epsilon = mo.ui.slider(0.5, 4.0, step=0.5, value=2.0, label="True ε =", show_value=True)
    threshold = mo.ui.slider(0.0, 3.0, step=0.1, value=0.0, label="silent within ½ ±", show_value=True)
    trials = mo.ui.slider(
        steps=[20, 50, 100, 200, 500, 1000, 2000, 5000, 10000], value=200, label="coins", show_value=True
    )
    page.stack(
        mo.md(r"""
    # How sure is an audit

    A fair coin picks one of two worlds. An agent there releases one number, 0 or 1, under Laplace noise of scale
    $1/\varepsilon$; you see it and guess the world, or say nothing. If the mechanism is $\varepsilon$-private, then
    whatever your rule is,

    $$P(\text{right}) \;\le\; e^{\varepsilon}\,P(\text{wrong}).$$

    So who guesses well proves that $\varepsilon$ is large. If $p$ is the probability that a guess is right,
    $\varepsilon \ge \ln\frac{p}{1-p}$. You do not know $p$; you know that $k$ of $n$ guesses were right. *Clopper and
    Pearson*'s bound $\underline p$ is the largest $p$ for which $k$ right ones or more would have happened with
    probability 5 % at most. Then, with 95 % confidence,

    $$\varepsilon \;\ge\; \varepsilon_{\text{audited}} = \ln\frac{\underline p}{1-\underline p}.$$

    ## Play it

    The numbers below were released by runs of netsim. The rule: a number of $1/2 + t$ or more is from world 1, one of
    $1/2 - t$ or less from world 0, and you say nothing between.
    """),
        page.panel(epsilon, threshold, trials),
    )
    return epsilon, threshold, trials


@app.cell(hide_code=True)
def _(epsilon, threshold, trials):
    both = scene.seen(epsilon.value, 10_000)
    game = both.tally(threshold.value, trials.value)
    _middles, _zero, _one = (list(found) for found in both.shares())
    _curves = [figures.Curve("world 0", _middles, _zero), figures.Curve("world 1", _middles, _one)]
    _rows = [[game.trials, game.guesses, game.right, game.accuracy, game.lower, game.epsilon_audited, epsilon.value]]
    page.stack(
        figures.curves(_curves, "the number that is seen", "share of 10,000 trials", at=0.5 + threshold.value),
        figures.table(["coins", "guesses", "right", "share right", "of which p ≥", "ε audited", "ε true"], _rows),
        mo.md(
            f"This rule is right in {show(100 * game.truth)} % of its guesses in the long run. Laplace noise "
            "shows all of its ε where the number lies beyond both 0 and 1, from $t = 1/2$ on: there the odds are "
            f"$e^\\varepsilon$ to 1, {show(100 * both.true_accuracy(0.5))} %. A larger $t$ only "
            "leaves fewer guesses, and fewer guesses prove less. **Silence in the middle makes a game "
            "sharp; too much of it wastes trials.**"
        ),
    )
    return both, game


@app.cell(hide_code=True)
def _(epsilon):
    grown = scene.by_trials(epsilon.value, (100, 300, 1000, 3000))
    coins = [int(one) for one in grown.trials]
    _curves = [
        figures.Curve(
            "ε audited: median, and 80 % of the games", coins, list(grown.median), list(grown.low), list(grown.high)
        ),
        figures.Curve("ceiling", coins, list(grown.ceiling), dashed=True),
    ]
    page.stack(
        mo.md(r"""
    ## More trials

    netsim's own game, a hundred times for each number of coins. It chooses its thresholds on trials that it does not
    play: a rule chosen on the very trials that it is judged by would be lucky. Even if all $N$ guesses are right they
    prove no more than the *ceiling* $\ln\frac{\alpha^{1/N}}{1-\alpha^{1/N}}$: a claim above it cannot be refuted,
    whatever the truth.
    """),
        figures.curves(_curves, "coins", "ε", log_x=True, level=(epsilon.value, "true ε")),
        mo.md(
            f"Of all these games {show(100 * grown.above)} % claim more than the truth; 5 % may. That is what "
            "“with 95 % confidence” means: a statement on the procedure, not on the one game that you play."
        ),
    )
    return coins, grown


@app.cell(hide_code=True)
def _():
    claim = mo.ui.slider(0.5, 4.0, step=0.5, value=1.0, label="Claimed ε =", show_value=True)
    factor = mo.ui.slider(1.1, 4.0, step=0.1, value=1.5, label="the truth is so many times more:", show_value=True)
    page.stack(
        mo.md(r"""
    ## Power

    A claim is wrong. How likely is it that a game finds that out? It depends on the trials, on how wrong it is, and
    on where the $\varepsilon$ sits: spread over many small releases it shows only where all of them point the same
    way.
    (netsim's exact loss does not play, and has no such limit; but only the game needs no trust in it.)
    """),
        page.panel(claim, factor),
    )
    return claim, factor


@app.cell(hide_code=True)
def _(claim, factor):
    spread_of = [30, 100, 300, 1000, 3000, 10000, 30000, 100000]
    powers = {
        releases: scene.chances(claim.value, factor.value, tuple(spread_of), releases) for releases in (1, 2, 4, 8)
    }
    _curves = [
        figures.Curve(f"in {releases} release{'s' if releases > 1 else ''}", spread_of, chance)
        for releases, chance in powers.items()
    ]
    figures.curves(_curves, "coins", "probability that the claim is refuted", log_x=True, level=(0.8, "80 %"))
    return powers, spread_of


@app.cell(hide_code=True)
def _():
    judged = scene.three_verdicts()
    _exact = {what: max(world.epsilon.lower for world in one.exact) for what, one in judged.items()}
    _rows = [
        [
            what,
            one.claim.epsilon,
            f"≥ {show(_exact[what], 4)}",
            f"≥ {show(one.epsilon_audited, 4)}",
            str(one.judgement.verdict),
        ]
        for what, one in judged.items()
    ]
    page.stack(
        mo.md(r"""
    ## What “consistent” can and cannot prove

    A claim is about *all* adjacent pairs. A game looks at one. So it can prove a claim false, and never true:
    that takes a bound over all pairs, which an audit reads off the code where noise covers all that is sent.
    """),
        figures.table(["audited", "ε claimed", "ε exact", "ε audited", "verdict"], _rows),
        mo.md(
            "The first two are *the same mechanism*, with one claim, which is false. On the first pair nothing is "
            "wrong with it. In the third row the claim is true, and **proven** by a bound. Its game could not have "
            "refuted it with so few trials, so that not refuting it says nothing."
        ),
    )
    return (judged,)


@app.cell(hide_code=True)
def _():
    looks = mo.ui.slider(steps=[1, 2, 5, 10, 20, 50], value=10, label="Looks", show_value=True)
    tries = mo.ui.slider(1, 40, value=10, label="audits of which the best is reported", show_value=True)
    page.stack(
        mo.md(r"""
    ## Two ways to fool oneself

    A thousand audits of a claim that is *true*, and just so: each false alarm is an innocent accused. **Peeking**:
    look after some coins, stop if the claim is refuted, else go on. Each look errs in 5 % of audits at most, but one
    of them errs more often. **Many tries**: run several audits, with other seeds or pairs, and tell the one that
    refutes.
    """),
        page.panel(looks, tries),
    )
    return looks, tries


@app.cell(hide_code=True)
def _(epsilon, looks, tries):
    fooled = scene.alarms(epsilon.value, looks.value)
    many = list(range(1, 41))
    _rows = [
        ["by one look at the end", 100 * float(fooled.fixed[-1])],
        [f"by one of {len(fooled.coins)} looks", 100 * float(fooled.peeking[-1])],
        [f"by at least one of {tries.value} audits", 100 * fooled.any_of(tries.value)],
        [f"by the game that may be stopped at any coin ({fooled.anytime_runs} audits)", 100 * fooled.anytime],
    ]
    _curves = [
        figures.Curve("measured", many, [100 * fooled.any_of(one) for one in many]),
        figures.Curve("1 − 0.95^K", many, [100 * (1 - 0.95**one) for one in many], dashed=True),
    ]
    page.stack(
        figures.table(["of audits of a true claim, refuted", "%"], _rows),
        figures.curves(_curves, "audits K, each right with 95 %", "false alarms (%)", at=float(tries.value)),
        mo.md(
            r"""
    The remedy for tries: divide $\alpha$ by their number, $0.05/K$ each, and say how many there were; netsim's ledger
    does. The remedy for peeking is a game made for it: a bettor's wealth against the claim is multiplied after every
    coin so that its mean never grows under the claim. By Ville it ever reaches $1/\alpha$ with probability $\alpha$
    at most, so that one may look at every coin (`audit: {stop: refuted}`).
    """
        ),
    )
    return fooled, many


@app.cell(hide_code=True)
def _():
    repetitions = mo.ui.slider(10, 60, step=10, value=10, label="Whole audits", show_value=True)
    page.stack(
        mo.md(r"""
    ## The auditor audited

    Who checks the auditor? It is run on mechanisms whose claim is true and tight, again and again with new seeds, and
    every accusation is counted; and on planted faults, where every miss is. That is its *certificate*,
    `docs/certificate.md`: thousands of audits. Here a few of one mechanism, whole: exact loss, games, verdict.
    """),
        page.panel(repetitions),
    )
    return (repetitions,)


@app.cell(hide_code=True)
def _(repetitions):
    row, accused, rate = scene.small_certificate(repetitions.value)
    mo.md(
        f"Of {row.repetitions} audits of a Laplace mechanism **{accused} accused it**. Even with none the true rate "
        f"may be up to {show(100 * rate)} % (Clopper–Pearson, 95 %): an "
        "absence of alarms is as sure as its number of trials. In the median the game proved "
        f"{show(100 * row.medians['proven by the game, of the truth'])} % of the true ε with 400 transcripts of each "
        "world."
    )
    return accused, rate, row


@app.cell(hide_code=True)
def _():
    answer_1 = page.number()
    answer_2 = page.number()
    answer_3 = page.choice(
        "The claim is true.",
        "The claim is true with 95 % confidence.",
        "On this pair nothing was found that exceeds it.",
    )
    mo.md("## Questions")
    return answer_1, answer_2, answer_3


@app.cell(hide_code=True)
def _(answer_1):
    fewest, proven, proven_by_less = scene.fewest_coins(3.0)
    question_1 = Number(
        float(fewest),
        f"{fewest} right guesses of {fewest} prove ε ≥ {show(proven, 4)}, one less {show(proven_by_less, 4)}.",
        absolute=1.0,
        tolerance=0.0,
        traps=(
            (20.0, "20 right guesses are possible by luck in a row, too; under ε = 3, p is 0.953, and that is 38 %."),
        ),
        hint=lambda _: (
            "Under ε = 3 a guess is right with p = e³/(1 + e³). How many right ones in a row have less than 5 %?"
        ),
        ask="1. You want to refute a claim of ε = 3 with 95 % confidence. How many coins do you need at least, "
        "even if you guess every one of them right?",
    )
    page.ask(question_1, answer_1)
    return fewest, proven, proven_by_less, question_1


@app.cell(hide_code=True)
def _(answer_2, fooled):
    question_2 = Number(
        100 * (1 - 0.95**20),
        f"1 − 0.95²⁰ = {show(100 * (1 - 0.95**20))} %. Of groups of 20 of the audits above "
        f"{show(100 * fooled.any_of(20))} % had one; a bound for counts errs a little less often than it may.",
        absolute=1.5,
        tolerance=0.0,
        traps=(
            (5.0, "That is the probability for one audit; there are 20 chances."),
            (100.0, "20 · 5 % counts audits in which several err several times; it is less."),
        ),
        hint=lambda _: "All 20 are right with probability 0.95²⁰.",
        ask="2. A paper ran 20 independent audits of 20 true claims, each at 95 %, and reports the one that "
        "refuted. With which probability (in %) is there at least one?",
    )
    page.ask(question_2, answer_2)
    return (question_2,)


@app.cell(hide_code=True)
def _(answer_3, judged):
    fine, broken, _ = judged.values()
    both_true = broken.epsilon_exact <= broken.claim.epsilon
    why = (
        f"The mechanism above was {fine.judgement.verdict} on one pair, and on another its exact ε is "
        f"{show(broken.epsilon_exact, 4)} of {show(broken.claim.epsilon, 4)} claimed: {broken.judgement.verdict}."
    )
    question_3 = Choice.of(
        answer_3,
        Option(both_true, why),
        Option(both_true, f"{why} More transcripts make the statement on this pair surer; they look at no other."),
        Option(not both_true, why),
        ask="3. An audit with a million transcripts ends with “consistent”. What is proven?",
    )
    page.ask(question_3, answer_3)
    return both_true, broken, fine, question_3, why


@app.cell(hide_code=True)
def _(epsilon, game):
    share = game.epsilon_audited / epsilon.value
    question_4 = Until(
        share >= 0.9,
        f"It proves ε ≥ {show(game.epsilon_audited, 4)}, {show(100 * share)} % of {show(epsilon.value, 4)}, by "
        f"{game.guesses:,} guesses: are their odds the best there are, and are they enough?",
        f"It proves ε ≥ {show(game.epsilon_audited, 4)}, {show(100 * share)} % of {show(epsilon.value, 4)}. The "
        f"rest is "
        "the price of 95 %.",
        ask="4. **Change the rule and the number of coins** in the game at the top until it proves at least 90 % "
        r"of the true $\varepsilon$.",
        by={"threshold": 0.5, "trials": 10_000},
    )
    page.ask(question_4)
    return question_4, share


@app.cell(hide_code=True)
def _():
    further = {
        "netsim certificate --repetitions 40": "The certificate, smaller: false alarms and planted faults.",
        "netsim run private-descent -o audit.trials=4000 -o audit.stop=refuted": "An audit that may stop as soon as "
        "it has refuted the claim; here there is nothing to refute.",
        "netsim show colluding-neighbors": "Audits from many views at once, with e-values in place of many tries.",
    }
    page.go_on(further)
    return (further,)


if __name__ == "__main__":
    app.run()
