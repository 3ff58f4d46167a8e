"""Where data sets are looked for, what is downloaded when, and that a changed file is noticed."""

import hashlib
import shutil
import subprocess
from http.client import IncompleteRead
from pathlib import Path

import pytest

from netsim.errors import ScenarioError
from netsim.problems import load
from netsim.problems.data import named as images
from netsim.problems.data.cache import Cache, Remote, fetched, folder
from tests.netsim.problems.data import written
from tests.worlds import refusal

CONTENT = b"what is published"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
FILE = Remote("set/file.bin", ("https://one.test/file.bin", "https://two.test/file.bin"), DIGEST)


class Network:
    """Addresses and what they answer; counts what was asked."""

    def __init__(self, **answers: bytes) -> None:
        self.answers, self.asked = answers, list[str]()

    def __call__(self, url: str) -> bytes:
        self.asked.append(url)
        host = url.split("/")[2].split(".")[0]
        if host not in self.answers:
            raise OSError("no route")
        return self.answers[host]


def no_network(url: str) -> bytes:
    raise AssertionError(f"asked for {url}")


def test_nothing_is_downloaded_unless_asked(tmp_path: Path) -> None:
    error = refusal(Cache(tmp_path, fetch=no_network).files, "set", [FILE])
    assert error.field == "name"
    assert str(tmp_path) in error.problem
    assert "set/file.bin" in error.problem
    assert "download: true (-o problem.data.download=true)" in error.allowed
    assert f"`netsim data fetch {error.value}`" in error.allowed
    assert "NETSIM_DATA" in error.allowed
    assert not list(tmp_path.iterdir())


def test_a_download_is_kept_with_its_digest_and_read_back_without_a_network(tmp_path: Path) -> None:
    network = Network(one=CONTENT)
    layout, (path,) = Cache(tmp_path, True, network).files("set", [FILE])
    assert (layout, path.read_bytes(), network.asked) == (0, CONTENT, ["https://one.test/file.bin"])
    assert (path.parent / "file.bin.sha256").read_text() == f"{DIGEST}  file.bin\n"
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["file.bin", "file.bin.sha256"]
    for download in (False, True):
        assert Cache(tmp_path, download, no_network).files("set", [FILE]) == (0, [path])


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum")
def test_sha256sum_agrees(tmp_path: Path) -> None:
    Cache(tmp_path, True, Network(one=CONTENT)).files("set", [FILE])
    subprocess.run(["sha256sum", "-c", "file.bin.sha256"], cwd=tmp_path / "set", check=True, capture_output=True)


def test_the_next_address_is_tried_where_one_is_silent_or_lies(tmp_path: Path) -> None:
    network = Network(two=CONTENT)
    Cache(tmp_path / "a", True, network).files("set", [FILE])
    assert len(network.asked) == 2
    Cache(tmp_path / "b", True, Network(one=b"something else", two=CONTENT)).files("set", [FILE])
    assert (tmp_path / "b" / "set" / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("answers", "said"), [({}, "no route"), ({"one": b"else", "two": b"else"}, f"published is {DIGEST}")]
)
def test_what_cannot_be_had_is_said_and_nothing_is_kept(tmp_path: Path, answers: dict[str, bytes], said: str) -> None:
    with pytest.raises(ScenarioError, match="cannot be downloaded") as caught:
        Cache(tmp_path, True, Network(**answers)).files("set", [FILE])
    assert said in caught.value.problem
    assert "https://two.test/file.bin" in caught.value.problem
    assert not list(tmp_path.rglob("*"))


def test_only_what_is_missing_is_fetched(tmp_path: Path) -> None:
    other = Remote("set/other.bin", ("https://two.test/other.bin",))
    Cache(tmp_path, True, Network(one=CONTENT)).files("set", [FILE])
    network = Network(two=b"more")
    Cache(tmp_path, True, network).files("set", [FILE, other])
    assert network.asked == ["https://two.test/other.bin"]


def test_a_second_layout_is_taken_as_it_is(tmp_path: Path) -> None:
    own = Remote("set/own.bin")
    written.write(tmp_path / "set", {"own.bin": b"mine"})
    assert Cache(tmp_path, True, no_network).files("set", [FILE], [own]) == (1, [tmp_path / "set" / "own.bin"])


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    cache = Cache(tmp_path, True, Network(one=CONTENT))
    _, (path,) = cache.files("set", [FILE])
    path.write_bytes(CONTENT + b"!")
    with pytest.raises(ScenarioError, match="has changed") as caught:
        cache.files("set", [FILE])
    assert DIGEST in caught.value.problem
    path.unlink()
    cache.files("set", [FILE])
    assert path.read_bytes() == CONTENT


def test_a_list_of_digests_at_the_root_counts_too(tmp_path: Path) -> None:
    written.write(tmp_path / "set", {"file.bin": CONTENT})
    sums = tmp_path / "SHA256SUMS"
    sums.write_text(f"{'0' * 64}  ./set/other.bin\n{DIGEST}  ./set/file.bin\n")
    Cache(tmp_path).files("set", [FILE])
    sums.write_text(f"{'0' * 64}  ./set/file.bin\n")
    with pytest.raises(ScenarioError, match="SHA256SUMS"):
        Cache(tmp_path).files("set", [FILE])


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "set").write_text("a file where a folder should be")
    with pytest.raises(ScenarioError, match="cannot be kept"):
        Cache(tmp_path, True, Network(one=CONTENT)).files("set", [FILE])


def test_a_list_of_digests_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    written.write(tmp_path / "set", {"file.bin": CONTENT, "file.bin.sha256": b"\xff\xfe"})
    with pytest.raises(ScenarioError, match="cannot be checked"):
        Cache(tmp_path).files("set", [FILE])


def test_an_answer_that_breaks_off_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks_off(url: str, timeout: float) -> None:
        raise IncompleteRead(b"wh", 17)

    monkeypatch.setattr("urllib.request.urlopen", breaks_off)
    with pytest.raises(OSError, match="IncompleteRead"):
        fetched("https://one.test/file.bin")


def test_the_folder_is_named_by_the_environment_or_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETSIM_DATA", str(tmp_path))
    assert folder() == tmp_path
    monkeypatch.delenv("NETSIM_DATA")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert folder() == tmp_path / "xdg" / "netsim" / "data"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert folder() == Path.home() / ".cache" / "netsim" / "data"
    monkeypatch.setattr("sys.platform", "darwin")
    assert folder() == Path.home() / "Library" / "Caches" / "netsim" / "data"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert folder() == tmp_path / "local" / "netsim" / "data"


def test_a_downloaded_set_is_the_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pixels, labels = written.images()
    published = written.mnist_files(pixels, labels)
    digests = {f"mnist/{name}": hashlib.sha256(content).hexdigest() for name, content in published.items()}
    monkeypatch.setattr(images, "DIGESTS", images.DIGESTS | digests)
    cache = Cache(tmp_path, fetch=lambda url: published[url.rsplit("/", 1)[1]])
    with pytest.raises(ScenarioError, match="not in the data folder"):
        load("mnist", cache=cache)
    fresh = load("mnist", cache=cache, download=True)
    again = load("mnist", cache=Cache(tmp_path, fetch=no_network))
    assert fresh.features.tobytes() == again.features.tobytes()
    assert fresh.records == 6


def test_a_published_digest_is_checked(tmp_path: Path) -> None:
    published = written.mnist_files(*written.images())
    cache = Cache(tmp_path, fetch=lambda url: published[url.rsplit("/", 1)[1]])
    with pytest.raises(ScenarioError, match="published is 440fcabf73cc"):
        load("mnist", cache=cache, download=True)


def test_sets_that_need_no_file_are_not_downloaded() -> None:
    with pytest.raises(ScenarioError, match="option") as caught:
        load("digits", download=True)
    assert caught.value.value == "download"
