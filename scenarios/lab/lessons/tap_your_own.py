"""Tap your own implementation.

A program that knows nothing of netsim is one of four agents, on real sockets. Its packets are captured, the
transcript is rebuilt from them and inverted, and the public algorithm is replayed on what it sent: does it do what it
should?
"""

import marimo

app = marimo.App(app_title="Tap your own implementation", width="medium")


with app.setup(hide_code=True):
    from html import escape

    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Number, Option, Until
    from scenarios.lab.scenes import tapping as scene
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    change = mo.ui.dropdown([*scene.CHANGES], value=scene.FAITHFUL, label="The program")
    scale = mo.ui.slider(steps=list(scene.SCALES), value=0.3, label="Published noise, b", show_value=True)
    page.stack(
        mo.md(rf"""
    # Tap your own implementation

    What was audited is an algorithm. What runs on somebody's machine is a program, and nobody has audited that. Four
    agents on a ring run private gradient descent,

    $$\tilde x_i^k = x_i^k + \mathrm{{Lap}}(b), \qquad
    x_i^{{k+1}} \;=\; \sum_j w_{{ij}}\,\tilde x_j^k \;-\; \eta\,\mathrm{{clip}}\big(\nabla f_i(x_i^k)\big),$$

    for {scene.ROUNDS} rounds, $\eta = 0.1$, in {scene.DIMENSION} dimensions. Three of them are netsim's own, each a
    process by itself. Agent {scene.AGENT} is the program below: sixty lines of plain Python that open sockets and
    write bytes. All links are TCP connections on this machine, and all of them are tapped.

    *The program is run on this machine, with your rights, by the page that you opened yourself: paste nothing that
    you would not run.* It is a process that lives for a second or two, and so is every agent, whenever you change
    something.
    """),
        page.panel(change, scale),
    )
    return change, scale


@app.cell(hide_code=True)
def _(change, scale):
    text = scene.source(change.value, scale.value)
    return (text,)


@app.cell(hide_code=True)
def _(text):
    code = mo.ui.code_editor(value=text, language="python", min_height=200, max_height=420, debounce=True)
    code
    return (code,)


@app.cell(hide_code=True)
def _(code, scale):
    found = scene.tapped(code.value, scale.value)
    broken = isinstance(found, str)
    shown = (
        mo.callout(mo.Html(f"<p>The run ended: {escape(found)}</p>"), kind="danger")
        if broken
        else page.side_by_side(
            [
                figures.network(found.experiment),
                page.facts({"packets captured": len(found.packets), "messages rebuilt": len(found.view.messages())}),
            ]
        )
    )
    shown
    return broken, found, shown


@app.cell(hide_code=True)
def _():
    answer_1 = page.number()
    return (answer_1,)


@app.cell(hide_code=True)
def _(answer_1):
    size = 20 + 8 * scene.DIMENSION
    question_1 = Number(
        size,
        "20 bytes of header (sender, receiver, kind, number, length: 4 bytes each), and 8 for every number.",
        0,
        traps=(
            (8.0 * scene.DIMENSION, "Those are the numbers alone: a message also says who sent it, and which it is."),
            (size + 40.0, "That counts the headers of IP and TCP, which are not the agents' own."),
        ),
        hint=lambda _: "A header of five words of 4 bytes each, then the numbers, 8 bytes each.",
        ask=f"1. **Predict first**; the capture is shown when you have. How many bytes does an agent hand to TCP for "
        f"one message, a header of five words of 4 bytes and {scene.DIMENSION} numbers?",
    )
    page.stack(mo.md("## The capture"), page.ask(question_1, answer_1))
    return question_1, size


@app.cell(hide_code=True)
def _(answer_1, broken, found, question_1):
    _look = {"selection": None, "show_column_summaries": False, "show_data_types": False, "show_download": False}
    None if broken or question_1.check(answer_1.value) is None else page.stack(
        mo.ui.table(found.listed(), page_size=10, **_look),
        mo.md(f"""
    These are the packets of one file, `capture-eavesdropper.pcapng`, which Wireshark opens too. Two neighbors greet,
    each says the name of the value that will come, and then come the messages. From these bytes alone the
    transcript is put together again: a stream for each way of each link, in the order of TCP's sequence numbers;
    frames by their lengths; values by their names. It has **{len(found.view.messages())}** messages:
    {scene.AGENTS} agents send {scene.ROUNDS} times to 2 neighbors.
    """),
    )


@app.cell(hide_code=True)
def _(broken, found):
    None if broken else page.stack(
        mo.md(r"""
    ## What follows from it

    Whoever hears all of an agent's links knows every term of its update but the gradient, and solves for it:
    $\mathrm{clip}(\nabla f_i) = \frac1\eta\big(\sum_j w_{ij}\tilde x_j^k - \tilde x_i^{k+1}\big)$, plus the noise of
    one message over $\eta$. The eavesdropper asks nobody what the program is: of its gradients as many follow as of
    the others', and what protects them is the noise, if it is there.
    """),
        figures.table(
            ["agent", "gradients that follow", "median relative error"],
            [[one.agent, one.gradients, one.error] for one in found.inferred],
            marked=[scene.AGENT],
        ),
    )


@app.cell(hide_code=True)
def _(scale):
    judged = {change: scene.published(change, scale.value) for change in scene.CHANGES}
    return (judged,)


@app.cell(hide_code=True)
def _():
    answer_2 = page.choice(*(f"One that {change}." for change in scene.CHANGES))
    return (answer_2,)


@app.cell(hide_code=True)
def _(answer_2, judged, scale):
    question_2 = Choice.of(
        answer_2,
        *(
            Option(
                one.finding.follows is True,
                f"The replay says of it: {one.finding.reason}."
                if one.finding.follows is not True or change == scene.FAITHFUL
                else f"It is not found: {one.finding.reason}, as far as {one.finding.noise_numbers} numbers show. "
                f"What it changes is small beside noise of b = {show(scale.value)}.",
            )
            for change, one in judged.items()
        ),
        ask="2. **Predict.** The auditor has agent 2's own data and the public code, and replays the code on what "
        "the program sent and received. Name a program that passes.",
    )
    page.stack(
        mo.md(r"""
    ## Replay

    Now somebody who may know the data, say the company that runs the program, asks whether it does what was audited.
    The public algorithm is run again, as agent 2. Its messages are given what arrived; its gradients are computed;
    and where it adds noise it is handed what was sent, so that the difference is the noise that the program must have
    added:

    $$n^k \;=\; \tilde x_2^k - x_2^k .$$

    What carries no noise has to be equal, up to rounding. The $n^k$ have to be draws of the published law:
    independent, and Laplace with scale $b$.
    """),
        page.ask(question_2, answer_2),
    )
    return (question_2,)


@app.cell(hide_code=True)
def _(answer_2, broken, found, judged, question_2):
    _words = {True: "follows", False: "does not follow", None: "was not judged"}
    _rows = [
        [change, _words[one.finding.follows], one.finding.reason, one.finding.p_value]
        for change, one in judged.items()
    ]
    if not broken:
        finding = found.finding
        _rows.append(["the one above, now", _words[finding.follows], finding.reason, finding.p_value])
    None if question_2.check(answer_2.value) is None else page.stack(
        figures.table(["the program", "by replay it", "because", "p"], _rows, marked=[len(judged)]),
        mo.md(
            "p is of all tests of the noise together. A program that follows is below 0.0001 in one of 10,000 runs."
        ),
    )


@app.cell(hide_code=True)
def _(broken, found):
    None if broken or not found.noise[0] else page.stack(
        mo.md(
            "The noise that the program above must have added, in ascending order, against what the published law "
            "would have there. On the dashed line the two are equal."
        ),
        figures.curves(
            [
                figures.Curve("found by replay", found.noise[1], found.noise[0]),
                figures.Curve("the published law", found.noise[1], found.noise[1], dashed=True),
            ],
            "expected of Laplace noise",
            "added",
        ),
    )


@app.cell(hide_code=True)
def _():
    answer_3 = page.number()
    answer_4 = page.choice(
        "Nothing: an eavesdropper does not know that it forgets.",
        "Its gradients, to the last digits.",
        "Only its last message.",
    )
    answer_5 = page.choice(
        "Yes: its messages are the algorithm's.", "No: what is small beside the noise hides in it."
    )
    mo.md("## Questions")
    return answer_3, answer_4, answer_5


@app.cell(hide_code=True)
def _(answer_3, judged):
    tested = judged[scene.FAITHFUL].finding.noise_numbers
    question_3 = Number(
        tested,
        f"One for every coordinate of every message: {scene.ROUNDS} × {scene.DIMENSION}.",
        0,
        traps=(
            (2.0 * tested, "Both neighbors get the same message, with the same noise."),
            (float(scene.ROUNDS), "That is the messages; noise is on each coordinate."),
            (4.0 * tested, "Only agent 2's door is looked at: the others' noise needs the others' data."),
        ),
        hint=lambda _: "How many messages does agent 2 make, and how many numbers has each?",
        ask="3. How many numbers of noise does the replay test?",
    )
    page.ask(question_3, answer_3)
    return question_3, tested


@app.cell(hide_code=True)
def _(answer_4, judged):
    bare, covered = (judged[one].inferred[scene.AGENT] for one in (scene.FORGETS, scene.FAITHFUL))
    _told = (
        f"The very same equation has a median error of {show(bare.error)} for the program that forgets, and of "
        f"{show(covered.error)} for the faithful one."
    )
    question_4 = Choice.of(
        answer_4,
        Option(False, f"It need not know: it solves the same equation, and sees what comes out. {_told}"),
        Option(bare.error < 1e-9, f"{bare.gradients} of {scene.ROUNDS}. {_told}"),
        Option(False, f"{bare.gradients} of its {scene.ROUNDS} gradients follow. {_told}"),
        ask="4. What does a program that forgets the noise give away on its links?",
    )
    page.ask(question_4, answer_4)
    return bare, covered, question_4


@app.cell(hide_code=True)
def _(answer_5, judged, scale):
    step = judged[scene.STEPS].finding
    _why = (
        f"At b = {show(scale.value)} the program that takes twice the step "
        f"{'passes, too' if step.follows else 'does not pass; at a larger b it does'}: its gradients are clipped to "
        "1, and the wrong step moves a message by 0.1 at most."
    )
    question_5 = Choice.of(
        answer_5,
        Option(False, f"Noise covers the algorithm's own deviations as well as private data. {_why}"),
        Option(True, f"{_why} A replay refutes a program, and never proves one; longer runs show more."),
        ask="5. A program passed. Is it shown to be the algorithm?",
    )
    page.ask(question_5, answer_5)
    return question_5, step


@app.cell(hide_code=True)
def _(broken, change, found, scale, text, code):
    doubled = change.value == scene.STEPS and code.value == text
    caught = doubled and not broken and found.finding.follows is False
    question_6 = Until(
        caught,
        "Choose the program that takes twice the step."
        if not doubled
        else f"The run ended: {found}"
        if broken
        else f"At b = {show(scale.value)} it passes, p = {show(found.finding.p_value)}: the wrong step hides in "
        "the noise.",
        "" if broken else f"At b = {show(scale.value)} the replay says: {found.finding.reason}.",
        ask="6. **Change the setting** until the program that takes twice the step is found.",
        by={"change": scene.STEPS, "scale": 0.0003},
    )
    page.ask(question_6)
    return caught, doubled, question_6


@app.cell(hide_code=True)
def _():
    further = {
        "netsim deploy private-descent --out results/processes": "The same for a shipped scenario, with captures and "
        "logs in its folder; `--outside 2=PROGRAM` puts a program of yours in a place (docs/tap-your-own.md has this "
        "one).",
        "netsim deploy private-descent --tls --out results/sealed": "The links are TLS: a tap has times and sizes.",
        "netsim trace results/processes --summary": "Who sent how much on which link, of the first of these.",
    }
    page.go_on(further)
    return (further,)


if __name__ == "__main__":
    app.run()
