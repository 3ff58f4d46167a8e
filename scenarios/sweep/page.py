# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""A sweep's folder as the table of its page."""

from pathlib import Path
from typing import cast

from pyarrow import ArrowException, parquet

from netsim.errors import ScenarioError
from netsim.files import read_json
from scenarios.files.folders import SWEEP, SWEPT
from scenarios.render.page.sweep import Point, SweptTable
from scenarios.sweep.folder import POINT


def swept(folder: Path) -> SweptTable:
    """The points that are done. You get a `ScenarioError` for a folder without a table, or a damaged one."""
    path = folder / SWEPT
    if not path.is_file():
        raise ScenarioError("folder", str(folder), f"has no {SWEPT}", "a sweep of which a point is done")
    try:
        manifest = cast("dict[str, dict[str, object]]", read_json(folder / SWEEP))
        scenario, command = str(manifest["scenario"]["name"]), str(manifest.get("command", ""))
        version = str(manifest["versions"].get("netsim-lab", ""))
        table = parquet.read_table(path)
        names: list[str] = table.column_names
        fields = tuple(names[: names.index(next(iter(POINT)))])
        return SweptTable(scenario, command, version, fields, cast("list[Point]", table.to_pylist()))
    except (ArrowException, OSError, ValueError, LookupError, TypeError) as error:
        why = str(error).splitlines()[0]
        raise ScenarioError("folder", str(folder), f"damaged ({why})", "what `netsim sweep` wrote") from None
