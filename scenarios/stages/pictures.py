"""Figures of the page for objects in a notebook: of a run, of an audit, of results."""

from netsim.arrays import unknown
from netsim.simulation import Run
from scenarios.render.page.charts import charts
from scenarios.render.page.drawing import Chart, Series
from scenarios.render.page.epsilons import epsilons
from scenarios.render.page.report import figures
from scenarios.render.sentences import Finding, terms
from scenarios.results.audit import AuditResult
from scenarios.results.measured import convergence
from scenarios.results.run import Convergence
from scenarios.results.tree import AlgorithmResult, Results


def plot(found: Run | Results, title: str | None = None) -> Chart:
    """`scenarios.plot`."""
    if isinstance(found, Results):
        drawn = figures(found)
    else:
        algorithm = found.simulation.algorithm
        entry = _entry(type(algorithm).__name__, algorithm.summary, algorithm.noisy, convergence=convergence(found))
        drawn = charts([(Finding(entry), Series(0))], "")
    for one in drawn:
        if title in (None, one.title):
            return one
    raise unknown("title", title or "", [one.title for one in drawn])


def epsilons_of(name: str, audit: AuditResult) -> Chart:
    """The three epsilons of one audit."""
    finding = Finding(_entry(name, "", True, audit=audit))
    drawn = epsilons([(name, finding.entry)], terms([finding]))
    assert drawn is not None  # there is an audit
    return drawn


def _entry(
    name: str, summary: str, noise: bool, convergence: Convergence | None = None, audit: AuditResult | None = None
) -> AlgorithmResult:
    return AlgorithmResult(
        name=name,
        slug="",
        kind=name,
        baseline=False,
        summary=summary,
        noise=noise,
        audit_status="not requested" if audit is None else "done",
        convergence=convergence,
        audit=audit,
    )
