"""The page over all variants: their three epsilons first, and a verdict in every row."""

import json
import re

import pytest

from scenarios.render.page.report import page
from scenarios.results.tree import loads
from scenarios.schema.load import parse
from scenarios.stages.study import run_study
from tests.scenarios.pair import AUDIT, TEXT
from tests.scenarios.render.page.test_report import Page


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audited") / "sizes"
    run_study(parse(TEXT + AUDIT + "grid:\n  topology.agents: [5, 6]\n", "study.yaml"), folder)
    return folder


@pytest.mark.slow
def test_the_summary_of_a_variant_has_the_three_epsilons_of_its_audit(audited):
    told = json.loads((audited / "results.json").read_text())
    for variant in told["variants"]:
        whole = json.loads((audited / variant["name"] / "results.json").read_text())
        for brief, entry in zip(variant["algorithms"], whole["algorithms"], strict=True):
            assert brief["audit_status"] == entry["audit_status"]
            for key in ("verdict", "epsilon_claimed", "epsilon_exact", "epsilon_audited", "confidence"):
                assert (brief["audit"] or {}).get(key) == (entry["audit"] or {}).get(key)


@pytest.mark.slow
def test_the_page_begins_with_the_three_epsilons_of_all_variants(audited):
    results = loads((audited / "results.json").read_text())
    text = page(results)
    read = Page(text)
    assert len(read.ids) == len(set(read.ids))
    assert read.unlabelled == []
    assert text.index('id="epsilons"') < text.index('id="variants"')
    names = [f"{variant.name} · noisy" for variant in results.variants]
    picture = text[text.index('data-figure="wide"') : text.index('id="variants"')]
    assert all(name in picture for name in names)
    table = text[text.index('id="variants"') :]
    words = re.findall(r'<span class="word \w+"><span aria-hidden="true">.</span>([\w ]+)</span>', table)
    said = [one.audit.verdict if one.audit else "no claim" for v in results.variants for one in v.algorithms]
    assert words == said
    assert len(words) == 4


def test_results_without_audits_have_no_picture_of_them(study_folder):
    text = page(loads((study_folder / "results.json").read_text()))
    assert 'id="epsilons"' not in text


@pytest.fixture
def study_folder(request):
    return request.getfixturevalue("study")
