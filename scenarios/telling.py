"""Who is told how far a run is."""

from typing import Protocol


class Progress(Protocol):
    """Who is told how far the run is: `begin` a stage of `total` steps, `advance` by some, and what else to `say`."""

    def begin(self, stage: str, total: int) -> None: ...

    def advance(self, steps: int) -> None: ...

    def say(self, sentence: str) -> None: ...


class Silent:
    """Tells nobody."""

    def begin(self, stage: str, total: int) -> None:
        pass

    def advance(self, steps: int) -> None:
        pass

    def say(self, sentence: str) -> None:
        pass
