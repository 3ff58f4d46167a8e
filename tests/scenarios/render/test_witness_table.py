"""The table of `netsim witness`: at the width of an old terminal nothing of it is cut."""

from io import StringIO
from types import SimpleNamespace

import pytest

from attacks.audit.witness import Account, Item
from scenarios.cli import witness
from scenarios.render import terminal
from scenarios.render.tables import print_tables

FIELD = "compressed_difference_of_the_tracked_gradient"


def account(laws=("Gaussian",)):
    """Three releases in a field with a long name."""
    items = tuple(
        Item(k, k + 1, k, (2, 3), laws[k % len(laws)], 0.0931234, 9.92e-4, 3.14e-4, -9.72e-4, True, FIELD)
        for k in range(3)
    )
    return Account(1, items, None, True, None)


def shown(width, account):
    console = type(terminal.console)(width=width, file=StringIO())
    found = SimpleNamespace(first_above=1, step="activation", file=SimpleNamespace(intact=True))
    first, *others = witness._columns(found, account, every=False)
    print_tables(first, [others], console)
    return console.file.getvalue()


@pytest.mark.few("80")
@pytest.mark.parametrize("width", [40, 50, 66, 80, 120])
def test_no_name_and_no_number_is_cut(width):
    text = shown(width, account())
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    assert (text.count("0.000314"), text.count("-0.002916"), text.count("< above")) == (3, 1, 1)
    assert FIELD in (text if width >= 66 else "".join(text.split()))
    assert (text.count("act."), text.count("sum")) == ((3, 3) if width < 60 else (1, 1) if width > 80 else (2, 1))


def test_the_norm_is_in_the_head_where_all_rows_have_the_same():
    assert "‖Δ‖₂" in shown(100, account())
    assert "ℓ" not in shown(100, account())
    mixed = shown(100, account(("Gaussian", "Laplace")))
    assert "‖Δ‖ " in mixed
    assert "ℓ₁ 0.000992" in mixed
    assert "ℓ₂ 0.000314" in mixed
