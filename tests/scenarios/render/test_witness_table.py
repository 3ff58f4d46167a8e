"""The table of `netsim witness`: at the width of an old terminal nothing of it is cut."""

from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console

from attacks.audit.witness import Account, Item
from scenarios.cli import witness

FIELD = "compressed_difference_of_the_tracked_gradient"


def account(laws=("Gaussian",)):
    """Three releases in a field with a long name."""
    items = tuple(
        Item(k, k + 1, k, (2, 3), laws[k % len(laws)], 0.0931234, 9.92e-4, 3.14e-4, -9.72e-4, True, FIELD)
        for k in range(3)
    )
    return Account(1, items, None, True, None)


def shown(monkeypatch, width, account):
    console = Console(width=width, record=True, file=StringIO())
    monkeypatch.setattr(witness, "console", console)
    found = SimpleNamespace(first_above=1, step="activation", file=SimpleNamespace(intact=True))
    for table in witness._tables(found, account, every=False):
        console.print(table)
    return console.export_text()


@pytest.mark.few("80")
@pytest.mark.parametrize("width", [40, 50, 66, 80, 120])
def test_no_name_and_no_number_is_cut(monkeypatch, width):
    text = shown(monkeypatch, width, account())
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert (text.count("0.000314"), text.count("-0.002916"), text.count("< above")) == (3, 1, 1)
    assert FIELD in (text if width >= 66 else "".join(text.split()))


def test_the_norm_is_in_the_head_where_all_rows_have_the_same(monkeypatch):
    assert "‖Δ‖₂" in shown(monkeypatch, 100, account())
    assert "ℓ" not in shown(monkeypatch, 100, account())
    mixed = shown(monkeypatch, 100, account(("Gaussian", "Laplace")))
    assert "‖Δ‖ " in mixed
    assert "ℓ₁ 0.000992" in mixed
    assert "ℓ₂ 0.000314" in mixed
