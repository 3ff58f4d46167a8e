"""The teaching lab: lessons that run live (`netsim lab`), each a marimo notebook beside typed, tested code.

`lessons/` holds the notebooks, `scenes/` what a lesson computes, `course` finds and runs lessons, `live` makes runs,
`page` has the questions, their checks and the widgets, `figures` what is drawn, `answers` puts a student's answers on
the score sheet, `key` has the answer key and grades a sheet.
"""
