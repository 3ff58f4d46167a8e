"""What a run writes to its folder beside results.json, the manifest and the page."""

from typing import Annotated, Literal

from pydantic import Field

from scenarios.schema.base import Model


class OutputsSpec(Model):
    """`metrics`: metrics-ALGORITHM.parquet. `tables`: algorithms.parquet and attacks.parquet. `figures`: every figure
    of the page in these formats, in the folder figures; `width` in inches, and the `dpi` of PNG. The transcripts are
    the business of `transcript`."""

    metrics: bool = True
    tables: bool = True
    figures: list[Literal["svg", "png", "pdf"]] = []
    width: Annotated[float, Field(ge=1, le=40)] = 3.5
    dpi: Annotated[int, Field(ge=30, le=2400)] = 300
