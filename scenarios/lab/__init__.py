"""The teaching lab: lessons that run live (`netsim lab`), each a marimo notebook beside typed, tested code.

`lessons/` holds the notebooks, `scenes/` what a lesson computes, `live` the runs, `page` the questions, their checks
and the widgets, `figures` what is drawn; `server` finds the lessons and opens them.
"""
