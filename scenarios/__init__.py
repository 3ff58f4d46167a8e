"""Experiments as data: schema, runner, reports, command line.

```python
from scenarios import Scenario, load, run
from scenarios.schema import DpRecal, Links, Ring

scenario = Scenario(name="first", topology=Ring(agents=8), links=Links(loss=0.1), algorithms=[DpRecal(per_agent=10)])
results = run(scenario.with_options("links.loss=0.2"), "results/eight")
```

The names below are loaded when they are first asked for.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenarios.api import load, run
    from scenarios.files.dump import dump
    from scenarios.schema.scenario import Scenario

__all__ = ["Scenario", "dump", "load", "run"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "Scenario":
        from scenarios.schema.scenario import Scenario

        return Scenario
    from scenarios import api as doing

    return getattr(doing, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
