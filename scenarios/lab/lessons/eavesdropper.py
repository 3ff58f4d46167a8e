"""What an eavesdropper sees.

Agents on a ring pass messages over links that lose some. Somebody taps a few of the links. What is in the recording,
and what does encryption take out of it?
"""

import marimo

app = marimo.App(app_title="What an eavesdropper sees", width="medium")


@app.cell
def _():
    import marimo as mo

    from scenarios.lab import figures, page
    from scenarios.lab.questions import Choice, Number, Option, Until
    from scenarios.lab.scenes import eavesdropper as scene

    return Choice, Number, Option, Until, figures, mo, page, scene


@app.cell
def _(mo):
    mo.md(r"""
    # What an eavesdropper sees
    """)
    return


if __name__ == "__main__":
    app.run()
