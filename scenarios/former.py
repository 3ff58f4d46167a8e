"""What a former run left in a results folder, so that nobody takes it for a result of the run that follows."""

import shutil
from collections.abc import Container
from pathlib import Path

from attacks.audit.archive import MARK
from scenarios.written import clear_figures

FILES = (
    "witness-*.json", "audit-*.json", "attack-*.json", "metrics-*.parquet", "transcript-*.parquet",
    "second-*.parquet", "estimates-*.parquet", "records-*.parquet", "algorithms.parquet", "attacks.parquet",
)  # fmt: skip


def clear(folder: Path, slugs: Container[str] = ()) -> None:
    """Remove a former run's witnesses, audits, metrics and transcripts, each of which the next run writes anew, and
    what audits that were stopped have seen, except that of algorithms whose `slugs` are named: their audits go on
    with it, if it is of the same."""
    for pattern in FILES:
        for file in folder.glob(pattern):
            if file.is_file():
                file.unlink()
    clear_figures(folder)
    for spools in folder.glob("transcript-*/"):
        _clear_spools(spools)
    for evidence in folder.glob("audit-*/"):
        if evidence.name.removeprefix("audit-") not in slugs and (evidence / MARK).is_file():
            shutil.rmtree(evidence)


def _clear_spools(folder: Path) -> None:
    for spool in folder.glob("*.spool"):
        spool.unlink()
    if not any(folder.iterdir()):
        folder.rmdir()
