"""The glossary has every verdict, and the bibliography every paper that the code cites."""

import re
from pathlib import Path
from typing import get_args

import pytest

from attacks.audit.verdict import Verdict
from attacks.reconstruction.verdict import Name
from scenarios.render import sentences as words
from scenarios.results.reproduction import Outcome

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
BIBLIOGRAPHY = (ROOT / "docs" / "bibliography.md").read_text()
CITED = re.compile(
    r"\b([A-ZÉ][\w’-]*[a-zéšćïöüß])(?: et al\.| and others|'s)?,? \(?((?:1[89]|20)\d\d)\b(?! competition)"
)
NO_AUTHORS = {"Channel", "Channels", "Convergence", "Gradients"}
"""Last words of titles."""


def sources():
    """All but the papers' items, which quote what the papers themselves cite."""
    for folder, ending in (
        ("netsim", "py"),
        ("attacks", "py"),
        ("scenarios", "py"),
        ("scenarios", "yaml"),
        ("docs", "md"),
    ):
        found = sorted((ROOT / folder).rglob(f"*.{ending}"))
        yield from (
            one for one in found if one.parent.name != "papers" and one.name not in ("papers.md", "claims.md")
        )


def test_every_verdict_and_every_word_in_its_place_is_in_the_glossary():
    terms = re.findall(r"^\| \*\*([^*]+)\*\* \| [^|]{20,} \|$", GLOSSARY, flags=re.MULTILINE)
    wanted = {one.value for one in Verdict} | set(words.MARKS) | set(get_args(Name))
    wanted |= set(get_args(Outcome))
    assert sorted(terms) == sorted(wanted)


def test_a_term_has_one_entry():
    section = GLOSSARY.split("\n## Terms")[1]
    terms = re.findall(r"^\| ([^|]+?) \| [^|\\]+(?:\\\|[^|\\]+)* \|$", section, flags=re.MULTILINE)[1:]
    assert len(terms) == len(set(terms)) == len(section.strip().splitlines()) - 2


def test_every_preprint_that_is_cited_is_in_the_bibliography():
    cited = {n for path in sources() for n in re.findall(r"arXiv[: ](\d{4}\.\d{4,5})", path.read_text())}
    assert {"2212.10859", "2001.02610"} <= cited
    assert {number for number in cited if number not in BIBLIOGRAPHY} == set()


def test_every_author_and_year_that_is_cited_is_in_the_bibliography():
    entries = re.split(r"^- ", " ".join(BIBLIOGRAPHY.split(" ")), flags=re.MULTILINE)
    told = {
        (name, year) for one in entries for name in re.findall(r"[\w’-]+", one) for year in re.findall(r"\d{4}", one)
    }
    cited = {found for path in sources() for found in CITED.findall(" ".join(path.read_text().split()))}
    assert len(cited) > 50
    assert {(name, year) for name, year in cited - told if name not in NO_AUTHORS} == set()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:netsim|attacks)/[\w/]+\.py)`", BIBLIOGRAPHY))))
def test_the_files_that_the_bibliography_names_exist(path):
    assert (ROOT / path).is_file()
