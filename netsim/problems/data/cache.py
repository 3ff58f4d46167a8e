"""The folder where data sets are kept, and the only place that downloads: on request, and checked.

The folder is `NETSIM_DATA` or, without it, the platform's cache folder of the user. A set has a folder of its
own in it. What is downloaded is written as it came, and its SHA-256 beside it (`NAME.sha256`, which
`sha256sum -c` reads too). At each load a file is compared with the digest recorded there, or in a `SHA256SUMS`
at the root of the folder; a file that nobody recorded is taken as it is.
"""

import hashlib
import os
import sys
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path

from netsim.errors import AbsentDataError, ScenarioError

VARIABLE = "NETSIM_DATA"
_SUMS = "SHA256SUMS"
BLOCK = 1 << 16
_DOWNLOAD_TIMEOUT = 60.0
"""Real seconds without an answer after which a download is given up."""


@dataclass(frozen=True)
class Remote:
    """A file of the cache: its path in there, where it can be had (the first that answers), and the SHA-256
    that is published for it, if one is. A file without `urls` can only be put there by hand."""

    path: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None


def folder() -> Path:
    """`NETSIM_DATA`, or netsim's folder among the user's caches."""
    if given := os.environ.get(VARIABLE):
        return Path(given).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "netsim" / "data"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "netsim" / "data"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "netsim" / "data"


def fetched(url: str, progress: Callable[[int, int | None], None] | None = None) -> bytes:
    """What the address answers. You get an `OSError` where it does not.

    `progress` is called at the start with 0, and as bytes arrive with how many are new; and with how many there are
    in all, if the address says so.
    """
    try:
        with urllib.request.urlopen(url, timeout=_DOWNLOAD_TIMEOUT) as answer:
            said: str | None = answer.headers.get("Content-Length")
            size = int(said) if said is not None else None
            blocks: list[bytes] = [b""]
            while blocks[-1] or len(blocks) == 1:
                if progress is not None:
                    progress(len(blocks[-1]), size)
                blocks.append(answer.read(BLOCK))
            content = b"".join(blocks)
            if size is not None and len(content) != size:
                raise OSError(f"the answer breaks off after {len(content):,} of {size:,} bytes")
            return content
    except HTTPException as error:  # an answer that breaks off
        raise OSError(str(error)) from error


@dataclass(frozen=True)
class Cache:
    """A folder of data sets; with `download`, what is missing is fetched into it by `fetch`."""

    folder: Path = field(default_factory=folder)
    download: bool = False
    fetch: Callable[[str], bytes] = fetched

    def files(self, name: str, *layouts: Sequence[Remote]) -> tuple[int, list[Path]]:
        """Which of the layouts is there, the first that is whole, and its files, checked.

        With `download` and none there, the first layout is fetched. You get a `ScenarioError` for a set that
        is not there, that cannot be downloaded, or that has changed since its digest was recorded.
        """
        for index, layout in enumerate(layouts):
            paths = [self.folder / remote.path for remote in layout]
            if all(path.is_file() for path in paths):
                for path in paths:
                    self._verify(name, path)
                return index, paths
        if self.download:
            return 0, [self._downloaded(name, remote) for remote in layouts[0]]
        wanted = " or ".join(
            ", ".join(r.path for r in layout if not (self.folder / r.path).is_file()) for layout in layouts
        )
        problem = f"not in the data folder {self.folder}, which lacks {wanted}"
        allowed = (
            f"`netsim data fetch {name}`, download: true (-o problem.data.download=true), or {VARIABLE} = a folder "
            "that has it"
        )
        raise AbsentDataError("name", name, problem, allowed)

    def _verify(self, name: str, path: Path) -> None:
        """Compare a file with every digest on record for it."""
        recorded: list[tuple[str, Path]] = []
        beside = path.with_name(path.name + ".sha256")
        below = path.relative_to(self.folder).as_posix()
        try:
            for source, relative in ((beside, path.name), (self.folder / _SUMS, below)):
                for line in source.read_text(encoding="utf-8").splitlines() if source.is_file() else ():
                    digest, _, entry = line.strip().partition(" ")
                    if entry.strip().removeprefix("*").removeprefix("./") == relative:
                        recorded.append((digest.lower(), source))
            found = _digest(path.read_bytes()) if recorded else ""
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(
                "name", name, f"{path} cannot be checked ({error})", "files that can be read"
            ) from error
        for expected, source in recorded:
            if found != expected:
                problem = f"{path} has changed: its SHA-256 is {found}, and {source} says {expected}"
                raise ScenarioError("name", name, problem, "the file as it was, or none, to download it again")

    def _downloaded(self, name: str, remote: Remote) -> Path:
        path = self.folder / remote.path
        if path.is_file():
            self._verify(name, path)
            return path
        content = self._fetched(name, remote)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(path.name + ".sha256")
            partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
            partial.write_bytes(content)
            beside.write_text(f"{_digest(content)}  {path.name}\n", encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            allowed = f"{VARIABLE} = a folder that can be written"
            raise ScenarioError("name", name, f"cannot be kept in {self.folder} ({error})", allowed) from error
        return path

    def _fetched(self, name: str, remote: Remote) -> bytes:
        failures: list[str] = []
        for url in remote.urls:
            try:
                content = self.fetch(url)
            except OSError as error:
                failures.append(f"{url} ({error})")
                continue
            if remote.sha256 is None or _digest(content) == remote.sha256:
                return content
            failures.append(f"{url} (its SHA-256 is {_digest(content)}, published is {remote.sha256})")
        tried = "; ".join(failures) or f"there is no address for {remote.path}"
        allowed = f"a network that reaches it, or {VARIABLE} = a folder that has {remote.path}"
        raise ScenarioError("name", name, f"cannot be downloaded: {tried}", allowed)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
