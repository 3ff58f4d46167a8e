"""Write your own algorithm and have it audited.

Your code is run, probed, replayed and audited as you type it. First find what is wrong with somebody else's: seven
small algorithms, each with one fault, each one line or two away from being right.
"""

import marimo

app = marimo.App(app_title="Write your own algorithm", width="medium")


with app.setup(hide_code=True):
    from html import escape

    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.page import Choice, Option, Until
    from scenarios.lab.scenes import own as scene
    from scenarios.lab.scenes.own import PLANTED, SOUND
    from scenarios.results.numbers import show


@app.cell(hide_code=True)
def _():
    start = mo.ui.dropdown(
        [*(f"algorithm {one.name}" for one in PLANTED), "a sound one, to make my own of"],
        value=f"algorithm {PLANTED[0].name}",
        label="Begin with",
    )
    mo.md(r"""
    # Write your own algorithm and have it audited

    In netsim an algorithm is a coroutine that touches the world through one small port, the `node`: private
    gradients, noise, messages. So the same unchanged code can be read in four ways.

    | reader | `gradient` | `privatize` | gives |
    |:--|:--|:--|:--|
    | **run** | asks the private data | adds fresh noise | the messages, the error |
    | **probe** | answers unit impulses | returns what was seen | gradients, from what was sent |
    | **replay** | asks the true data again | returns what was seen | every message again, to the last bit |
    | **audit** | asks both hypotheses | notes the noise that explains what was seen | the exact loss, the verdict |

    Below you see somebody's algorithm, and you may change it. The world: four agents on a ring with
    $f_i = \frac12\|x - c_i\|^2$ in four dimensions; the auditor sits at agent 1's door. *The code in the field is run
    on this machine, with your rights, by the page that you opened yourself: paste nothing that you would not run.*
    """)
    return (start,)


@app.cell(hide_code=True)
def _(start):
    exercise = next((one for one in PLANTED if start.value == f"algorithm {one.name}"), None)
    text = SOUND if exercise is None else exercise.source
    return exercise, text


@app.cell(hide_code=True)
def _(exercise, start, text):
    code = mo.ui.code_editor(value=text, language="python", min_height=300, show_copy_button=True, debounce=600)
    changes = mo.ui.dropdown(
        {"by a constant of ℓ2 norm 1": "moved", "in any way": "anything"},
        value="in any way"
        if exercise is not None and exercise.changes == "anything"
        else "by a constant of ℓ2 norm 1",
        label="In the other world agent 1's gradient differs",
    )
    mo.vstack(
        [
            mo.hstack([start, changes], justify="start", wrap=True, gap=1.5),
            mo.md("" if exercise is None else f"Its author says: *“{exercise.author}”*"),
            code,
        ]
    )
    return changes, code


@app.cell(hide_code=True)
def _(changes, code):
    found = scene.examine(code.value, changes.value)
    mistaken = isinstance(found, scene.Mistake)
    broken = not mistaken and found.verdict in scene.BROKEN
    if mistaken:
        line = "" if found.line is None else f"<p><b>Line {found.line}</b>: <code>{escape(found.excerpt)}</code></p>"
        shown = mo.callout(
            mo.Html(f"{line}<p>It could not be {found.doing}. {escape(found.says)}</p>"), kind="danger"
        )
    else:
        kind = "danger" if broken else "success" if found.verdict in ("proven", "consistent") else "warn"
        shown = mo.callout(mo.md(f"**{found.verdict}**: {found.worst.judgement.reason}"), kind=kind)
    shown
    return broken, found, mistaken, shown


@app.cell(hide_code=True)
def _(found, mistaken):
    None if mistaken else page.stack(
        mo.md("## What each reader found"),
        figures.table(["reader", "what it found"], found.readers()),
        figures.curves(
            [figures.Curve("median of 50 draws of the noise", found.rounds, list(found.errors))],
            "round",
            "relative error of the worst agent",
        ),
    )


@app.cell(hide_code=True)
def _(broken, found):
    page.stack(
        mo.md(r"""
    ## The witness

    One transcript that shows it. Every line is a message of agent 1, replayed under both hypotheses; its loss is
    $\ln p(\text{seen} \mid D)/p(\text{seen} \mid D')$, and $\Delta$ is the difference that the two worlds make.
    """),
        figures.table(
            ["round", "to agents", "what", "loss", "sum"],
            [
                [one.round, ", ".join(map(str, one.receivers)) or "nobody", one.what, show(one.loss), show(one.sum)]
                for one in found.witness
            ],
            marked=[len(found.witness) - 1],
        ),
    ) if broken else None


@app.cell(hide_code=True)
def _(exercise):
    asked = PLANTED[0] if exercise is None else exercise
    listed = dict(asked.body)
    answer_1 = page.choice(*listed)
    answer_2 = page.choice("Yes: nothing came from elsewhere.", "No: that says only that the code is understood.")
    mo.md("## Questions")
    return answer_1, answer_2, asked, listed


@app.cell(hide_code=True)
def _(answer_1, asked, listed):
    unsound, _ = asked.examined()
    question_1 = Choice(
        {
            line: Option(
                number in asked.lines,
                f"{asked.lesson} {asked.compared()}"
                if number in asked.lines
                else f"This line is the same in the sound twin. The audit says: {unsound.worst.judgement.reason}",
            )
            for line, number in listed.items()
        },
        ask=f"1. At which line would you change algorithm {asked.name}, as its author wrote it?",
    )
    page.ask(question_1, answer_1)
    return question_1, unsound


@app.cell(hide_code=True)
def _(answer_2, asked, unsound):
    leaky = unsound.identical and unsound.verdict in scene.BROKEN
    said = (
        f"Algorithm {asked.name} was reproduced to the last bit, and is {unsound.verdict}. Replay is what an audit "
        "stands on: only who can explain every message under one hypothesis can ask what it would be under the other."
    )
    question_2 = Choice.of(
        answer_2,
        Option(not leaky, said),
        Option(leaky, said),
        ask="2. A replay reproduces every message of an algorithm to the last bit. Is the algorithm private, then?",
    )
    page.ask(question_2, answer_2)
    return leaky, question_2, said


@app.cell(hide_code=True)
def _(asked, found, mistaken):
    missing = f"The code does not run yet: {found.says}" if mistaken else found.missing(asked)
    question_3 = Until(
        not missing,
        missing,
        ""
        if mistaken
        else f"Claimed {show(found.claim.epsilon, 4)}, exact {show(found.worst.epsilon_exact, 4)}, error "
        f"{show(found.error)}. {asked.lesson}",
        ask=f"3. **Repair algorithm {asked.name}** in the field above: until nothing is found against its claim, "
        "the claim is at most twice that of the sound twin, and the error too. (Fewer rounds, or more noise, is no "
        "repair.)",
        by={"code": asked.sound, "changes": asked.changes},
    )
    page.ask(question_3)
    return missing, question_3


@app.cell(hide_code=True)
def _():
    mo.md("""
    ## The rules that make it work

    - All randomness and all private data come through the node: `node.gradient`, `node.privatize`, `node.coins`.
    - A value that carries noise is made by `privatize` and by nothing else; send what it returned, or a step of it.
    - Sums over neighbors use `received.mix` or `received.sum`, which have a fixed order.
    - Call `node.estimate(x)` last in every round.
    - Every field of the class has a default; without a `claim` you are taken to claim ε = 1.

    `netsim lab your-own --edit` opens this page as a notebook of your own, with its code.
    """)


@app.cell(hide_code=True)
def _():
    further = {
        "netsim certificate --repetitions 10": "All ten faults of netsim's gallery, planted and looked for.",
        "netsim ledger": "The ledger: every shipped algorithm, audited at its paper's parameters.",
        "netsim show private-descent": "The same audit as a scenario, for the algorithms that come with netsim.",
    }
    key_at = [{"start": f"algorithm {one.name}"} for one in PLANTED]
    page.go_on(further)
    return further, key_at


if __name__ == "__main__":
    app.run()
