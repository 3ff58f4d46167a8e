"""Who sees what.

The same run is another thing at a door, on a link, for a curious agent two hops away and for two agents who put
together what they have. What does each of them learn, exactly, and whom does noise that cancels hide it from?
"""

import marimo

app = marimo.App(app_title="Who sees what", width="medium")


with app.setup(hide_code=True):
    import math

    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Number, Option, Until
    from scenarios.lab.scenes import seeing as scene
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    topology = mo.ui.dropdown(["ring", "path", "star", "complete"], value="ring", label="Graph")
    own = mo.ui.slider(steps=list(scene.OWN), value=0.5, label="own noise σ =", show_value=True)
    shared = mo.ui.slider(steps=list(scene.SHARED), value=4.0, label="shared noise σ′ =", show_value=True)
    victim = mo.ui.slider(0, scene.AGENTS - 1, step=1, value=0, label="about agent", show_value=True)
    page.stack(
        mo.md(rf"""
    # Who sees what

    "The algorithm is ε-private" leaves out a word: against whom? A message passes a link, arrives at an agent that
    knows its own data and its own noise, and is mixed into what that agent sends. So there are as many ε as there are
    listeners. Here are {scene.AGENTS} agents, {scene.ROUNDS} rounds of descent on least squares, with
    $\eta = {scene.STEP}$. Agent $i$ puts noise of two kinds on its gradient:

    $$x_i^{{k+1/2}} = x_i^k - \eta\Big(\nabla f_i(x_i^k) + \xi_i + \sum_{{j \sim i}} v_{{ij}}\Big), \qquad
    \xi_i \sim \mathcal N(0, \sigma^2 I), \quad v_{{ij}} = -v_{{ji}} \sim \mathcal N(0, \sigma'^2 I) .$$

    The first is its own. The second it shares with each neighbor: both draw it from a seed that they agreed on, one
    adds it and the other subtracts it, so that in the mean of all agents it cancels. Then each sends $x^{{k+1/2}}$ to
    its neighbors and mixes. (The algorithm is DECOR, of Allouah et al. 2024.)

    **The setting.** Two worlds differ in the gradient of one agent, by a constant vector of length {scene.CHANGE:g}.
    All messages are linear in that vector and in the noise, so that every ε below is exact, not an estimate, and no
    attack can do better.
    """),
        page.panel(topology, own, shared, victim),
    )
    return own, shared, topology, victim


@app.cell(hide_code=True)
def _(own, shared, topology, victim):
    seen = scene.Seen(topology.value, own.value, shared.value, victim.value)
    page.stack(
        mo.md(rf"""
    ## Agents that listen

    Every agent follows the protocol, and looks at what arrives. The matrix has ε at δ = {show(seen.delta)} of each
    victim (row) at each listener (column); the network shows the row of agent {victim.value}.
    """),
        page.side_by_side([figures.chart(seen.matrix), figures.chart(seen.exposure)]),
    )
    return (seen,)


@app.cell(hide_code=True)
def _(seen, victim):
    page.stack(
        mo.md(f"""
    ## Taps

    Somebody outside may tap a link, or sit at agent {victim.value}'s door and hear all that it sends and receives,
    but holds nobody's seeds. Beside the agents next to it:
    """),
        figures.table(["view", "who", f"ε of agent {victim.value}"], seen.rows()),
    )


@app.cell(hide_code=True)
def _(own, seen, shared, topology, victim):
    sizes = list(range(1, scene.AGENTS))
    without = scene.Seen(topology.value, own.value, 0.0, victim.value)
    members, _pair = seen.together(2)
    page.stack(
        mo.md(r"""
    ## Coalitions

    Agents may put together what they have: messages, noise, seeds. Of all coalitions of each size the one that
    learns most:
    """),
        figures.curves(
            [
                figures.Curve("as set above", sizes, seen.by_size),
                figures.Curve("without shared noise", sizes, without.by_size, dashed=True),
            ],
            "agents in the coalition",
            f"ε of agent {victim.value}",
            log_y=True,
            level=(seen.door, "a tap at its door"),
        ),
        mo.md(
            f"The costliest two are agents {members[0]} and {members[1]}, with ε = {show(_pair, 4)}."
            + (
                " Without shared noise the two curves are one: **give σ′ a value**. It costs the mean of all agents "
                "nothing."
                if shared.value == 0
                else f" Who holds all seeds of agent {victim.value} subtracts that noise as if it were not there."
            )
        ),
    )
    return members, without


@app.cell(hide_code=True)
def _():
    reference = scene.Seen("ring", 0.5, 8.0)
    end = scene.Seen("path", 0.5, 8.0)
    answer_1 = page.number()
    answer_2 = page.choice("a tap at its door", "one of its neighbors", "its two neighbors together")
    answer_3 = page.number()
    answer_4 = page.choice(
        "the tap: it hears all that agent 0 sends and receives",
        "agent 1: it holds the seed, and hears the same",
        "neither: they hear the same messages",
    )
    mo.md("## Questions")
    return answer_1, answer_2, answer_3, answer_4, end, reference


@app.cell(hide_code=True)
def _(answer_1, seen, victim):
    question_1 = Number(
        seen.nearest / seen.farthest if seen.farthest > 0 else 0.0,
        f"{show(seen.nearest, 4)} at a neighbor, {show(seen.farthest, 4)} where agent {victim.value} is "
        f"farthest: what it "
        "told was mixed with others' messages, and others' noise, on the way."
        if seen.farthest > 0
        else f"What arrives there is so faint that δ = {show(seen.delta)} covers all of it.",
        tolerance=0.05,
        traps=(
            (
                seen.farthest / seen.nearest if seen.farthest > 0 else math.inf,
                "That is the other way round: the farthest over the neighbor.",
            ),
            (seen.nearest - seen.farthest, "That is how much more, not how many times as much."),
        ),
        hint=lambda _: (
            f"Divide the largest ε among neighbors by the largest among the farthest, in row {victim.value}."
        ),
        ask=f"1. In row {victim.value} of the matrix, as set above: the neighbor that learns most, how many times as "
        "much does it learn as the agent that is the most hops away? (0 if that ε is 0.)",
    )
    page.ask(question_1, answer_1)
    return (question_1,)


@app.cell(hide_code=True)
def _(answer_2, reference):
    _pair = reference.together(2)[1]
    _most = max(reference.door, reference.nearest, _pair)
    _said = (
        f"ε is {show(reference.door, 4)} at the door, {show(reference.nearest, 4)} at a neighbor and "
        f"{show(_pair, 4)} at both "
        "together. "
    )
    question_2 = Choice.of(
        answer_2,
        Option(reference.door == _most, f"{_said}The door has every message, and no seed."),
        Option(reference.nearest == _most, f"{_said}A neighbor holds one seed of two: the other still hides."),
        Option(_pair == _most, f"{_said}Both seeds are theirs: they subtract all of it, and σ alone is left."),
        ask="2. On the ring, with σ = 0.5 and σ′ = 8: who learns most of agent 0?",
    )
    page.ask(question_2, answer_2)
    return (question_2,)


@app.cell(hide_code=True)
def _(answer_3, seen, topology, victim):
    question_3 = Number(
        float(seen.holders),
        f"Agent {victim.value} has {len(seen.neighbors)} neighbor(s) on the {topology.value}.",
        tolerance=0.0,
        traps=(
            (float(scene.AGENTS - 1), "All others can, but fewer are enough here."),
            (float(scene.AGENTS), f"Agent {victim.value} itself is not asked."),
        ),
        hint=lambda _: (
            "Where does the curve of coalitions reach its end? Whose seeds, and whose messages, are needed?"
        ),
        ask=f"3. As set above: how many agents does it take to learn of agent {victim.value} all that anybody can?",
    )
    page.ask(question_3, answer_3)
    return (question_3,)


@app.cell(hide_code=True)
def _(answer_4, end):
    _alone = end.alone[1]
    _said = f"At its door ε is {show(end.door, 4)}, at agent 1 {show(_alone, 4)}."
    question_4 = Choice.of(
        answer_4,
        Option(end.door > _alone * (1 + 1e-6), _said),
        Option(_alone > end.door * (1 + 1e-6), f"{_said} What is heard is the same; what is known beside it is not."),
        Option(abs(_alone - end.door) <= 1e-6 * _alone, f"{_said} They hear the same, but agent 1 knows the seed."),
        ask="4. On the path agent 0 has one neighbor, agent 1. With σ = 0.5 and σ′ = 8, who learns more of agent 0: "
        "agent 1, or a tap at agent 0's door?",
    )
    page.ask(question_4, answer_4)
    return (question_4,)


@app.cell(hide_code=True)
def _(members, own, seen, victim):
    pair = seen.together(2)[1]
    question_5 = Until(
        own.value == scene.OWN[0] and pair <= 1,
        f"Own noise is σ = {show(own.value)}: the mean of all agents pays for it."
        if own.value != scene.OWN[0]
        else f"Agents {members[0]} and {members[1]} learn ε = {show(pair, 4)} of agent {victim.value}. Where has it "
        "more than two neighbors who do not hear each other?",
        f"No two learn more of agent {victim.value} than {show(pair, 4)}, with the least own noise. Its door is "
        f"another "
        f"matter: ε = {show(seen.door, 4)} for who hears all that passes there, since shared noise cancels in "
        f"the sum.",
        ask="5. **Change the setting** until no two agents together learn more than ε = 1 of the victim, and own "
        f"noise stays at σ = {show(scene.OWN[0])}.",
        by={"topology": "star", "shared": 8.0},
    )
    page.ask(question_5)
    return pair, question_5


@app.cell(hide_code=True)
def _():
    further = {
        "netsim views price-of-a-view --listener 3": "Private descent on a ring, and what agent 3 learns.",
        "netsim views gossip-pairs": "All ordered pairs of a larger network, beside a claim of each pair.",
        "netsim run colluding-neighbors": "Two neighbors who put together what they are told.",
    }
    page.go_on(further)
    return (further,)


if __name__ == "__main__":
    app.run()
