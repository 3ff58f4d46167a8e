"""Figures of results and audits for notebooks are the page's."""

import pytest

import scenarios
from netsim.errors import ScenarioError
from scenarios.render.page.report import figures
from tests.scenarios.small import TINY


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return scenarios.run(scenarios.load(TINY), tmp_path_factory.mktemp("r") / "run", page=False)


def test_a_figure_is_chosen_by_its_title(results):
    titles = [one.title for one in figures(results)]
    assert [scenarios.plot(results, one).title for one in titles] == titles
    assert scenarios.plot(results).title == titles[0]
    with pytest.raises(ScenarioError, match="Does it converge"):
        scenarios.plot(results, "Does it converge")


def test_results_and_their_audit_are_one_line(results):
    (entry,) = results.algorithms
    assert repr(results) == f"Results(name: tiny, status: complete, seed: 0, mine: {entry.audit.verdict})"
    assert f"verdict: {entry.audit.verdict}" in repr(entry.audit)
    assert entry.audit.verdict in results._repr_html_()
