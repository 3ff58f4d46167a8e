"""What an eavesdropper sees.

Six agents pass messages over links that lose some. Somebody taps a few of the links. What is in the recording, what
does encryption take out of it, and what follows from the rest?
"""

import marimo

__generated_with = "0.25.2"
app = marimo.App(app_title="What an eavesdropper sees", width="medium")


with app.setup(hide_code=True):
    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Number, Option, Until
    from scenarios.lab.scenes import listening as scene
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    topology = mo.ui.dropdown(["ring", "path", "star", "complete"], value="ring", label="Graph")
    loss = mo.ui.slider(0.0, 0.4, step=0.1, value=0.2, label="Links lose", show_value=True)
    mo.md(r"""
    # What an eavesdropper sees

    Six agents want to learn one classifier together: is a handwritten digit a zero or a one? Each has images of its
    own and sends them to nobody. What it sends is its current model $x_i$, a vector of 64 numbers, and each round it
    mixes what it heard and takes a step along its own gradient:

    $$x_i^{k+1} \;=\; \sum_{j} w_{ij}\, x_j^{k} \;-\; \eta\, \nabla f_i(x_i^{k}).$$

    The images stay at home. Is that enough? To find out we sit down at some of the links and listen. We know the
    algorithm, the graph, the weights $w_{ij}$ and the step $\eta$, for these are no secrets; we see no data.
    """)
    return loss, topology


@app.cell(hide_code=True)
def _(topology):
    links = scene.links(topology.value)
    return (links,)


@app.cell(hide_code=True)
def _(links):
    taps = mo.ui.multiselect(links, value=links[:1] + [one for one in links if one in ("1–2", "2–3")], label="Tapped")
    encrypted = mo.ui.multiselect(links, value=[one for one in links if one == "2–3"], label="Encrypted")
    return encrypted, taps


@app.cell(hide_code=True)
def _(encrypted, loss, taps, topology):
    seen = scene.seen(topology.value, loss.value, taps.value, encrypted.value)
    _setting = mo.md("**The setting.** Change it whenever you like: everything below is computed again.")
    _counts = {
        "packets heard": len(seen.rows),
        "of them readable, with a model in them": len(seen.data),
        "acknowledgements": seen.of_kind("ack"),
        "encrypted": seen.of_kind("sealed"),
    }
    page.stack(
        page.panel(_setting, topology, loss, taps, encrypted),
        page.side_by_side([figures.network(seen.played.experiment), page.facts(_counts)]),
    )
    return (seen,)


@app.cell(hide_code=True)
def _(seen):
    _look = {"selection": None, "show_column_summaries": False, "show_data_types": False, "show_download": False}
    mo.vstack(
        [
            mo.md(f"""
    ## The recording

    The agents ran for {scene.ROUNDS} rounds, which took {seen.played.run.time:.1f} seconds of the network's time.
    This is the recording, packet by packet; of a model three of its {seen.dimension} numbers are shown.
    """),
            mo.ui.table(seen.listed(), page_size=10, **_look),
        ]
    )


@app.cell(hide_code=True)
def _():
    miss = mo.ui.slider(0.0, 0.6, step=0.1, value=0.3, label="The tap misses", show_value=True)
    page.stack(
        mo.md(r"""
    ## Loss makes an eavesdropper's work no harder

    A link that loses packets has to repeat them. The sender waits for an acknowledgement, and an acknowledgement can
    be lost too: an attempt counts only if both get through. With a share $p$ of packets lost each way, the number of
    attempts of a message is geometric, with mean

    $$\mathbb{E}[\text{attempts}] \;=\; \frac{1}{(1-p)^2}.$$

    Every attempt is on the air, for the tap as well. So suppose that the tap is not perfect and misses some packets:
    how many of the messages does it get to hear at least once?
    """),
        miss,
    )
    return (miss,)


@app.cell(hide_code=True)
def _(links, loss, miss, topology):
    losses = [0.0, 0.1, 0.2, 0.3, 0.4]
    shares = scene.captured_by_loss(topology.value, links, miss.value, losses)
    _curves = [
        figures.Curve("measured, a tap on every link", losses, shares),
        figures.Curve("expected", losses, [scene.expected_share(one, miss.value) for one in losses], dashed=True),
    ]
    figures.curves(_curves, "share of packets that links lose", "share of messages heard", at=loss.value)
    return (shares,)


@app.cell(hide_code=True)
def _(topology, links, loss):
    closed = scene.seen(topology.value, loss.value, links, links)
    sizes = sorted({row.size for row in closed.rows})
    mo.md(f"""
    ## What encryption leaves

    Now encrypt every link, and tap every link. No value can be read any more. The recording still has
    {len(closed.rows):,} rows: who sent to whom, when, and how many bytes: {" or ".join(map(str, sizes))}.
    The small packets are acknowledgements. The large ones carry a model: 20 bytes of header, a 16-byte tag that
    authenticates the packet, and 8 bytes for every number. That tells how large the model is, who works with whom,
    how fast each agent computes, and when they stop. This is *traffic analysis*.
    """)
    return closed, sizes


@app.cell(hide_code=True)
def _(seen):
    counts = seen.inferred
    page.stack(
        mo.md(rf"""
    ## What follows from the rest

    Look at the update again. Whoever hears agent $i$'s model, and all those that it mixes, knows every term but one:

    $$\nabla f_i(x_i^k) \;=\; \frac1\eta\Big(\sum_j w_{{ij}}\,x_j^k - x_i^{{k+1}}\Big).$$

    So a private gradient is as good as sent. Of each agent's {scene.ROUNDS} gradients we can compute, from the
    recording made with the setting above:
    """),
        figures.table(["agent", *range(scene.AGENTS)], [["gradients computed", *counts]]),
        mo.md(
            f"The largest relative error of any of them is {show(seen.played.worst)}, which is rounding. The last "
            "gradient of an agent never follows: the run ends before it enters a message."
            if any(counts)
            else "None: of every agent some message was not heard in the clear."
        ),
    )
    return (counts,)


@app.cell(hide_code=True)
def _():
    answer_1 = page.number()
    answer_2 = page.choice("who talks to whom", "when somebody sends", "the models", "how many bytes are sent")
    answer_3 = page.number()
    mo.md("## Questions")
    return answer_1, answer_2, answer_3


@app.cell(hide_code=True)
def _(answer_1, links, loss, topology):
    everywhere = scene.seen(topology.value, loss.value, links)
    p = loss.value
    question_1 = Number(
        everywhere.attempts,
        f"A tap on every link counted {len(everywhere.data):,} packets for {everywhere.messages:,} messages. The "
        f"formula says {show(1 / (1 - p) ** 2)}; the run ends before the last repeats, so a little less is counted.",
        tolerance=0.12,
        traps=((1 / (1 - p), "That is 1/(1 − p): it forgets that the acknowledgement can be lost as well."),),
        hint=lambda _: (
            f"Both the packet and its acknowledgement must get through, with probability {1 - p:.1f}² each time."
        ),
        ask="1. How many packets does one message take on average, at the share of loss that is set above? (First "
        "decide by the formula, then the answer is compared with what was counted.)",
    )
    page.ask(question_1, answer_1)
    return everywhere, p, question_1


@app.cell(hide_code=True)
def _(answer_2, closed, sizes):
    pairs = {(row.sender, row.receiver) for row in closed.rows}
    times = {row.time for row in closed.rows}
    readable = sum(bool(row.values) for row in closed.rows)
    question_2 = Choice.of(
        answer_2,
        Option(not pairs, f"It is: the rows name {len(pairs)} pairs of sender and receiver."),
        Option(not times, f"It is: the rows have {len(times):,} different times."),
        Option(readable == 0, f"Of {len(closed.rows):,} packets {readable} can be read."),
        Option(not sizes, f"It is: {sum(row.size for row in closed.rows):,} bytes in all, packet by packet."),
        ask="2. Every link is tapped and every link is encrypted. What is *not* in the recording?",
    )
    page.ask(question_2, answer_2)
    return (question_2,)


@app.cell(hide_code=True)
def _(answer_3, closed, sizes):
    question_3 = Number(
        (max(sizes) - 20 - 16) / 8,
        f"({max(sizes)} − 20 − 16)/8 numbers, and the model does have {closed.dimension}.",
        tolerance=0.0,
        traps=(
            (max(sizes) / 8, "That counts the header and the tag as numbers of the model."),
            ((max(sizes) - 20) / 8, "That counts the tag, 16 bytes, as two numbers of the model."),
            (max(sizes) - 36, "Those are bytes, and a number takes 8 of them."),
        ),
        hint=lambda _: "Take header and tag off, and divide by the 8 bytes of a number.",
        ask=f"3. The large encrypted packets have {max(sizes)} bytes. How many numbers has the model, then?",
    )
    page.ask(question_3, answer_3)
    return (question_3,)


@app.cell(hide_code=True)
def _(counts, links, seen, taps):
    target = scene.TARGET
    needed, deaf = seen.links_of_target()
    enough = counts[target] > 0
    question_4 = Until(
        enough and len(taps.value) <= needed,
        f"{counts[target]} of its gradients can be computed, but {len(taps.value)} links are tapped, and "
        f"{needed} are enough."
        if enough
        else f"None of its gradients can be computed. Of its {needed} links these are not heard in the clear: "
        f"{', '.join(deaf)}.",
        f"{counts[target]} of {scene.ROUNDS}: all that it tells and all that it hears passes its own {needed} links.",
        ask=f"4. **Change the setting** until the gradients of agent {target} can be computed, with no more taps "
        "than it takes.",
        by={"taps": [one for one in links if str(target) in one.split("–")], "encrypted": []},
    )
    page.ask(question_4)
    return question_4, target


@app.cell(hide_code=True)
def _():
    further = {
        "netsim run lossy-tap": "A tap that misses packets itself, on an algorithm whose gradients pile up in a "
        "dual.",
        "netsim run leakage": "How much leaks by the share of links that are tapped, the packets that are missed, "
        "and the graph.",
        "netsim run radio-corner": "No links but radio, and an eavesdropper in a corner of the room.",
        "netsim show lossy-tap": "How such an experiment is written down: one file.",
    }
    page.go_on(further)
    return (further,)


if __name__ == "__main__":
    app.run()
