"""Traffic analysis in scenarios: results, sentences, and the page."""

import re

import pytest

from scenarios import run
from scenarios.render.sentences import traffic
from scenarios.results.folder import read_results


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    folder = tmp_path_factory.mktemp("heard")
    run("traffic-only", folder)
    return read_results(folder), folder


@pytest.fixture(scope="module")
def missed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("missed")
    run("traffic-missed", folder)
    return read_results(folder), folder


def inferred(results):
    return [entry.traffic_analysis for entry in results.algorithms]


def test_times_and_sizes_alone_tell_who_acted_and_who_is_slow(heard):
    for found in inferred(heard[0]):
        assert found.activity.found == found.activity.activations > 0
        assert found.activity.wrong == 0
        assert found.computing.slowest == found.computing.slowest_truth == 3
        assert found.dimension.low == found.dimension.high == found.dimension.truth == 64
        (sentence,) = traffic(found)
        assert "agent 3 computes slowest; dimension 64" in sentence


def test_a_lossy_tap_leaves_the_dimension(missed):
    for found in inferred(missed[0]):
        assert found.activity.found == found.activity.wrong == 0
        assert found.computing.refused
        assert found.dimension.low == found.dimension.high == 64
        first, second = traffic(found)
        assert first == "Times and sizes alone reveal: dimension 64."
        assert second.startswith("Who acted when is not identifiable: the tap missed packets")


def test_the_page_has_a_table_for_each(heard, missed):
    for results, folder in (heard, missed):
        page = (folder / "report.html").read_text()
        assert page.count('<h2 id="traffic-title">') == 1
        tables = page.split("What times and sizes of ")[1:]
        assert len(tables) == len(inferred(results))
        for table in tables:
            names = re.findall(r'<th scope="row">([^<]*)</th>', table.partition("</table>")[0])
            assert (names[0], names[-1], len(names)) == ("Who acted when", "Dimension", 7)


@pytest.mark.slow
def test_who_does_not_ask_is_told_nothing(tmp_path):
    run("traffic-only", tmp_path, options=["attacks.traffic=false", "algorithms[0].activations=50"])
    assert inferred(read_results(tmp_path)) == [None, None]
    assert "traffic-title" not in (tmp_path / "report.html").read_text()


def test_what_cannot_be_analysed_is_refused_in_words(tmp_path):
    options = ["adversary.links=[]", "adversary.nodes=[1]", "algorithms[0].activations=50"]
    run("traffic-only", tmp_path, options=options, page=False)
    for found in inferred(read_results(tmp_path)):
        (sentence,) = traffic(found)
        assert sentence.startswith("No traffic analysis: no packet was observed on a link")
