"""The teaching lab: lessons that run live (`netsim lab`), each a marimo notebook beside typed, tested code.

`lessons/` holds the notebooks, `scenes/` what a lesson computes, `live` the runs, `questions` the questions and their
checks, `figures` what is drawn, `page` the few widgets; `catalogue`, `server` and `command` open it all.
"""
