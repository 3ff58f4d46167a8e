"""What a finished run writes beside its results.json: tables, the page, and figures for papers, as `outputs` says."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from scenarios.places import PAGE
from scenarios.schema.outputs import OutputsSpec
from scenarios.telling import Progress

Results = Mapping[str, Any]
FIGURES, FIGURE_LIST = "figures", "figures.json"


def write_outputs(
    results: Results,
    runs: Mapping[Any, Results],
    folder: Path,
    outputs: OutputsSpec,
    render: Callable[[Results, Path], None],
    progress: Progress,
) -> None:
    """The tables of `runs` (by variant), the page that `render` makes of `results`, and its figures."""
    if outputs.tables:
        from scenarios.summary import write_tables  # needs pyarrow, which takes its time to load

        write_tables(runs, folder)
    progress.begin("writing the report", 1)
    render(results, folder / PAGE)
    progress.advance(1)
    if outputs.figures:
        from scenarios.report.export import export_figures

        look: dict[str, Any] = {"dpi": outputs.dpi, "width": outputs.width, "progress": progress}
        export_figures(results, folder / FIGURES, formats=outputs.figures, **look)


def clear_figures(folder: Path) -> None:
    """Remove the figures that a former run wrote to `folder`/figures, and nothing else there."""
    place = folder / FIGURES
    try:
        listed: list[dict[str, Any]] = json.loads((place / FIGURE_LIST).read_text(encoding="utf-8"))
        names = [name for one in listed for name in (f"{one['name']}.txt", *one["files"])]
    except (OSError, ValueError, KeyError, TypeError):
        return
    for name in [*names, FIGURE_LIST]:
        (place / Path(name).name).unlink(missing_ok=True)
    if not any(place.iterdir()):
        place.rmdir()
