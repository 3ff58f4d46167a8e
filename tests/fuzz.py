"""Damaged scenario files and damaged results, given to the commands that read them.

By hand: `python -m tests.fuzz scenarios|artefacts COUNT SEED [only this CASE]`. What fails is kept in results/fuzz.

Each case runs in a process of its own with a limit of memory and of time, and must end in a status that the command
documents, with a line of words, without a traceback and before memory is at its limit. It may have written nothing
outside of its folder, and run no code but what a command that runs code has named.
"""

import argparse
import contextlib
import functools
import gc
import io
import json
import math
import os
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.scenarios.own_algorithm import MINE

SECONDS, MEMORY, WAIT = 10.0, 2 * 2**30, 6
STATUSES = {0, 1, 2, 3, 70}
OWN = "own.py"
"""In each folder; a scenario may name it, and nothing else may be run there."""
STARTS = (
    "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.system", "pty.spawn",
    "socket.bind", "socket.connect", "subprocess.Popen",
)  # fmt: skip
"""Events that no command of these has a reason for."""
SCENARIO = """\
name: small
seed: 5
replicas: 2
problem:
  kind: ridge
  ridge: 0.5
  data: {name: synthetic, kind: regression, records: 40, dimension: 3}
topology: {kind: ring, agents: 6}
links:
  delay: {kind: uniform, low: 0.01, high: 0.03}
  loss: 0.1
  reliable: true
adversary:
  links: [[0, 1], [1, 2], [0, 5], [2, 3], [3, 4], [4, 5]]
transcript: {spool: kept}
algorithms:
  - {kind: private_gradient_descent, name: mine, rounds: 6, clip: {bound: 1.0}, scale: {epsilon: 4.0}}
  - {kind: planted_fault, fault: second_message, name: second}
attacks: {gradients: true}
audit: {agent: 1, adjacency: {change: 1.0, direction: even}, trials: 50, chunk: 50}
"""
WITH_CODE = SCENARIO.replace(
    "kind: planted_fault, fault: second_message, name: second",
    f"kind: python, path: {OWN}:TwoExchanges, name: second, parameters: {{rounds: 3}}",
).replace(", chunk: 50", "")
SWEEP = """\
scenario: scenario.yaml
grid: {links.loss: [0.0, 0.1]}
"""


@dataclass(frozen=True)
class Outcome:
    """What a command did: its status (None: it was killed, by what `signal` says), its words, its seconds, whether
    these words are the file's own, and what it wrote outside of its folder, or ran without a word."""

    status: int | None
    signal: int
    words: str
    seconds: float
    shows: bool
    outside: tuple[str, ...]
    ran: tuple[str, ...]

    @property
    def fault(self) -> str:
        """What is wrong with it; empty where nothing is."""
        if self.status is None:
            return "no end" if self.seconds >= SECONDS else f"died of signal {self.signal}"
        if "Traceback" in self.words:
            return next(
                (
                    one
                    for one in reversed(self.words.splitlines())
                    if re.match(r"[\w.]+(Error|Exception|Interrupt|Warning)\b", one)
                ),
                "traceback",
            )
        if re.search(r"^MemoryError\b", self.words, re.MULTILINE):
            return "memory at its limit, unforeseen"
        if self.outside:
            return f"wrote outside: {self.outside[0]}"
        if self.ran:
            return f"ran: {self.ran[0]}"
        if self.status not in STATUSES:
            return f"status {self.status}"
        if self.status == 2 and not self.words.strip():
            return "no word"
        if not self.shows and max(map(len, self.words.splitlines()), default=0) > 4000:
            return "a line of more than 4,000 characters"
        return ""


def warm() -> None:
    """Load what commands load, once, for all processes that are forked from this one."""
    import matplotlib.figure  # noqa: F401
    import typer.main

    import attacks.audit.check_witness  # noqa: F401
    import scenarios.build.experiment
    import scenarios.cli.app
    import scenarios.render.comparison
    import scenarios.render.page.report
    import scenarios.render.page.several
    import scenarios.render.page.sweep
    import scenarios.schema.load
    import scenarios.stages.reaudit
    import scenarios.stages.recorded_attack
    import scenarios.stages.study
    import scenarios.stages.witness
    import scenarios.sweep.run
    from scenarios.files.library import library
    from scenarios.results.tree import Manifest, Results, adapter

    library()
    adapter(Results), adapter(Manifest)
    typer.main.get_command = functools.cache(typer.main.get_command)  # the same tree of commands for every case
    for words in ("check private-descent", "show private-descent --resolved"):
        arguments, sys.argv = sys.argv, ["netsim", *words.split()]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            scenarios.cli.app.main()
        sys.argv = arguments
    gc.collect()
    gc.freeze()


def run(arguments: Sequence[str], folder: Path, seconds: float = SECONDS, memory: int = MEMORY) -> Outcome:
    """One command in a process of its own, in `folder`, with so many seconds of a processor and `WAIT` times as many
    of a clock."""
    before = _around(folder)
    reads, writes = os.pipe()
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(reads)
        _command(arguments, folder, writes, memory, seconds)
    os.close(writes)
    words = b""
    end = begun + WAIT * seconds
    while True:
        left = end - time.monotonic()
        ready = select.select([reads], [], [], max(0, left))[0]
        if not ready:
            os.killpg(child, signal.SIGKILL) if os.getpgid(child) == child else os.kill(child, signal.SIGKILL)
            break
        part = os.read(reads, 65536)
        if not part:
            break
        words = (words + part)[-200_000:]
    os.close(reads)
    _, status, used = os.wait4(child, 0)
    took = used.ru_utime + used.ru_stime
    limits = (signal.SIGKILL, signal.SIGXCPU)
    took = max(took, SECONDS) if os.WIFSIGNALED(status) and os.WTERMSIG(status) in limits else took
    text = words.decode(errors="replace")
    outside, ran = (tuple(re.findall(rf"^@{what} (.*)$", text, re.MULTILINE)) for what in ("outside", "ran"))
    outside += tuple(sorted(_around(folder) - before))
    if may_run_code(arguments):
        ran = tuple(
            one for one in ran if one != OWN or not re.search(rf"^The scenario has .*{OWN}", text, re.MULTILINE)
        )
    ended = os.WIFEXITED(status)
    code, killed = (os.WEXITSTATUS(status), 0) if ended else (None, os.WTERMSIG(status))
    return Outcome(code, killed, text, took, arguments[:1] == ["show"], outside, ran)


def may_run_code(arguments: Sequence[str]) -> bool:
    """Whether this command runs files that a scenario names."""
    from scenarios.cli.options import RUNS_CODE

    return bool(arguments) and arguments[0] in RUNS_CODE and "--no-code" not in arguments


def _around(folder: Path) -> set[str]:
    """Files beside the folder and above, and those of the system that a case names, as they are: also what libraries
    write that are not of Python is seen there."""
    places = [*folder.parent.iterdir(), *folder.parent.parent.iterdir(), Path("/etc/passwd"), Path.home()]
    found: set[str] = set()
    for one in places:
        if one not in (folder, folder.parent):
            at = one.stat()
            found.add(f"{one} ({at.st_size} bytes, {at.st_mtime_ns})")
    return found


def _command(arguments: Sequence[str], folder: Path, writes: int, memory: int, seconds: float) -> None:
    status = 99
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        nowhere = os.open(os.devnull, os.O_RDONLY)
        for number, source in ((0, nowhere), (1, writes), (2, writes)):
            os.dup2(source, number)
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        from scenarios.render import terminal

        terminal.console.file, terminal.problems.file = sys.stdout, sys.stderr
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds)))
        inside = str(folder.resolve())

        def watch(event: str, given: tuple[object, ...]) -> None:
            paths: list[object] = []
            if event == "open" and isinstance(given[0], str) and isinstance(given[2], int):
                if given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                    paths = [given[0]]
            elif event in STARTS:
                os.write(2, f"\n@ran {event}\n".encode())
            elif event == "exec" and (place := str(getattr(given[0], "co_filename", ""))).startswith(inside):
                os.write(2, f"\n@ran {os.path.relpath(place, inside)}\n".encode())
            elif event in ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.link", "os.symlink", "os.truncate"):
                paths = [one for one in given[:2] if isinstance(one, str)]
            for one in paths:
                place = os.path.realpath(str(one))
                if not f"{place}/".startswith((f"{inside}/", "/dev/", "/proc/")):
                    os.write(2, f"\n@outside {event} {place}\n".encode())

        sys.addaudithook(watch)
        os.environ["MPLCONFIGDIR"] = os.environ["TMPDIR"] = inside
        tempfile.tempdir = inside
        os.environ["LOKY_MAX_CPU_COUNT"] = "1"
        os.environ["NETSIM_MEMORY"] = str(memory)
        sys.argv = ["netsim", *arguments]
        from scenarios.cli.app import main

        main()
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)


# ── scenario files ──────────────────────────────────────────────────────────────────────────────────────
NUMBERS = (
    "0", "-1", "1", "2", "3.5", "1e300", "-1e300", "1e308", "1e-300", "1e400", ".nan", ".inf", "-.inf", "10000000",
    "9999999", "100000", "2147483648", "9223372036854775808", "1" + "0" * 60, "9" * 5000, "true", "null", "''",
    "text", "[]", "{}", "[1]", "{a: 1}", "0x7fffffffffffffff", "1e5", "1000", "300000", "auto",
)  # fmt: skip
TEXTS = (
    "a/../../b", "/etc/passwd", "../x", "/dev/zero", "/dev/stdin", "/dev/null", "pipe", "'\\0'", '"\\0"',
    '"\\ud800"', '"\\u202e"', "x" * 300, "x" * 100_000, '"' + "é" * 200 + '"', "~", "*a", "&a [*a]",
    "!!python/object:os.system ls", "!!python/object/apply:os.system [ls]", "!!python/name:own.TwoExchanges",
    f"{OWN}:TwoExchanges", OWN, "own", "{kind: python, path: own.py:TwoExchanges}", "!tag x", "|", ">", "[" * 2000,
    "{" * 500, "- " * 500, "a: " * 300, "<<: *a", "'", '"', "\t", "\\", "%", "@", "`", "nan", "-o", "--help", "$HOME",
    "{{7*7}}", "[bold]", "[/]",
)  # fmt: skip
WHOLES = re.compile(r"-?\d+(?:\.\d+)?")
VALUES = re.compile(r"(?<=: )[^\[\]{},\n#]+")


def damaged_text(text: str, rng: random.Random) -> bytes:
    """A YAML text with one to three damages."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(DAMAGES)(text, rng)
    data = text.encode("utf-8", "surrogatepass")
    if rng.random() < 0.05:
        where = rng.randrange(len(data) + 1)
        data = data[:where] + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 5))) + data[where:]
    if rng.random() < 0.01:
        data = data[: rng.randrange(len(data) + 1)]
    return data


def _replaced(pattern: re.Pattern[str], words: Sequence[str]) -> Callable[[str, random.Random], str]:
    def damage(text: str, rng: random.Random) -> str:
        found = list(pattern.finditer(text))
        if not found:
            return text
        one = rng.choice(found)
        return text[: one.start()] + rng.choice(words) + text[one.end() :]

    return damage


def _line(text: str, rng: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    here, there = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[here]
        case 1:
            lines.insert(there, lines[here])
        case 2:
            lines[here], lines[there] = lines[there], lines[here]
        case 3:
            lines[here] = " " * rng.randrange(1, 5) + lines[here]
        case _:
            lines[here] = lines[here].lstrip()
    return "".join(lines)


SIGNS = (
    "\0", "\ufeff", "\u2028", "\x1b[2J", "{", "}", "[", "]", ",", ":", "- ", "#", "&a ", "*a", "\n", "\t", "'", '"',
    "\ud800", "!x ", "? ",
)  # fmt: skip


def _signs(text: str, rng: random.Random) -> str:
    where = rng.randrange(len(text) + 1)
    sign = rng.choice(SIGNS)
    return text[:where] + sign + text[where + rng.choice((0, 0, 1, 5)) :]


def _spliced(text: str, rng: random.Random) -> str:
    from scenarios.files.library import library

    other = library()[rng.choice(sorted(library()))]
    blocks = re.split(r"\n(?=\w)", text)
    more = [one for one in re.split(r"\n(?=\w)", other) if one.split(":")[0] not in ("figures", "reproduces")]
    blocks[rng.randrange(len(blocks))] = rng.choice(more)
    return "\n".join(blocks)


DAMAGES = (
    _replaced(WHOLES, NUMBERS), _replaced(WHOLES, NUMBERS), _replaced(VALUES, NUMBERS), _replaced(VALUES, TEXTS),
    _replaced(re.compile(r"\w+(?=:)"), TEXTS), _line, _signs, _spliced,
)  # fmt: skip


def scenario_cases(rng: random.Random) -> Iterator[tuple[str, list[str], Callable[[Path], None]]]:
    """Name, arguments, and what prepares the folder, without end."""
    from scenarios.files.library import library

    texts = library()
    names = sorted(texts)
    while True:
        name = rng.choice(names)
        text = texts[name] if (share := rng.random()) < 0.8 else SCENARIO if share < 0.9 else WITH_CODE
        data = damaged_text(text, rng)
        command = rng.choice(
            ("check", "check", "check", "check", "check --json", "check --no-code", "show", "show --resolved")
        ).split()

        def prepare(folder: Path, data: bytes = data) -> None:
            (folder / "scenario.yaml").write_bytes(data)
            (folder / OWN).write_text(MINE)
            os.mkfifo(folder / "pipe")

        yield name, [*command, "scenario.yaml"], prepare


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────
VALUE = (
    None, True, False, 0, -1, 1, 1.5, 1e300, 1e308, -1e300, 10**7, 10**12, 2**63, 10**400, float("nan"),
    float("inf"), "", "nan", "inf", "-inf", "text", "x" * 100_000, "../../x", "/etc/passwd", "\0", "\ud800",
    f"{OWN}:TwoExchanges", {"kind": "python", "path": f"{OWN}:TwoExchanges", "parameters": {"rounds": 2}},
    "[/bold]", [], {}, [[]], [None], [1], {"a": 1}, [[[[[[1]]]]]], "<script>", 2**53,
)  # fmt: skip


def _leaves(tree: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield from _leaves(value, (*path, key))


def damaged_json(data: bytes, rng: random.Random) -> bytes:
    """A JSON file with a value, a key or a list altered, or its bytes."""
    if rng.random() < 0.12:
        return damaged_bytes(data, rng)
    tree = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        paths = [one for one in _leaves(tree) if one]
        if not paths:
            break
        path = rng.choice(paths)
        around = tree
        for key in path[:-1]:
            around = around[key]
        key = path[-1]
        match rng.randrange(8):
            case 0:
                del around[key]
            case 1 if isinstance(around, dict):
                around[rng.choice(("", "new", "__class__", "\0", "x" * 5000))] = around.pop(key)
            case 2 if isinstance(around, list):
                around.extend([around[key]] * rng.choice((1, 3, 1000)))
            case 3 if isinstance(around[key], list):
                rng.shuffle(around[key])
            case 4:
                deep: object = 1
                for _ in range(rng.choice((50, 900, 100_000))):
                    deep = [deep] if rng.random() < 0.9 else {"a": deep}
                return _json_deep(tree, around, key, deep)
            case _:
                around[key] = rng.choice(VALUE)
    return json.dumps(tree, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def _json_deep(tree: object, around: object, key: object, deep: object) -> bytes:
    around[key] = "@@"  # type: ignore[index]
    depth = 0
    while isinstance(deep, list | dict):
        deep, depth = deep[0] if isinstance(deep, list) else deep["a"], depth + 1
    return json.dumps(tree).replace('"@@"', "[" * depth + "1" + "]" * depth, 1).encode()


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """The bytes cut, with some flipped, repeated, or others."""
    match rng.randrange(7):
        case 0:
            return data[: rng.randrange(len(data) + 1)]
        case 1:
            return data + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 200)))
        case 2:
            where, count = rng.randrange(len(data) + 1), rng.randrange(1, 200)
            return data[:where] + data[where + count :]
        case 3:
            return b"" if rng.random() < 0.3 else os.urandom(rng.randrange(1, 5000))
        case 4:
            where = rng.randrange(len(data) + 1)
            return data[:where] + data[where // 2 : where] + data[where:]
        case _:
            changed = bytearray(data)
            for _ in range(rng.choice((1, 1, 2, 8, 64))):
                if changed:
                    changed[rng.randrange(len(changed))] = rng.choice((0, 255, 127, rng.randrange(256)))
            return bytes(changed)


def damaged_table(data: bytes, rng: random.Random) -> bytes:
    """A Parquet file with a column of another type, missing, scalar, nested, or with absurd numbers; or its bytes."""
    if rng.random() < 0.3:
        return damaged_bytes(data, rng)
    table = pq.read_table(pa.BufferReader(data))
    metadata = dict(table.schema.metadata or {})
    for _ in range(rng.choice((1, 1, 2))):
        if not table.num_columns:
            break
        at = rng.randrange(table.num_columns)
        name, rows = table.column_names[at], table.num_rows
        match rng.randrange(9):
            case 0:
                table = table.remove_column(at)
            case 1:
                table = table.rename_columns(
                    [
                        one if k != at else rng.choice(("", "x", "value.", "value.\0", "time"))
                        for k, one in enumerate(table.column_names)
                    ]
                )
            case 2:
                key = rng.choice(list(metadata) or [b"replicas"])
                metadata[key] = rng.choice(
                    (b"", b"0", b"-1", b"3", b"1e9", b"x", b"1000000000000", b"9" * 5000, b"2.5", b"\xff")
                )
                table = table.replace_schema_metadata(metadata)
            case 3:
                table = table.slice(0, 0) if rng.random() < 0.5 else pa.concat_tables([table] * rng.choice((2, 50)))
            case 4:
                table = table.slice(rows // 2)
            case 5:
                table = table.append_column("value.more", pa.array([rng.choice((None, 1.0))] * rows, pa.float64()))
            case _:
                table = table.set_column(at, name, _column(rows, rng))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=rng.choice(("zstd", "none", "snappy", "gzip")))
    return sink.getvalue().to_pybytes()


def _bomb(rows: int) -> pa.ChunkedArray:
    """So many rows of 100,000 numbers, small here and in a file: all are one row."""
    row = pa.array([[0.0] * 100_000])
    return pa.chunked_array([row] * rows, row.type)


def _column(rows: int, rng: random.Random) -> pa.Array | pa.ChunkedArray:
    makers: list[Callable[[], pa.Array | pa.ChunkedArray]] = [
        lambda: pa.array(["text"] * rows),
        lambda: pa.array([rng.choice((1e300, float("nan"), float("inf"), -1.0, 0.0)) for _ in range(rows)]),
        lambda: pa.array([rng.choice((0, -1, 2**62, 5, 10**9)) for _ in range(rows)], pa.int64()),
        lambda: pa.nulls(rows), lambda: pa.array([None] * rows, pa.list_(pa.float64())),
        lambda: pa.array([[1.0] * rng.randrange(8) for _ in range(rows)]), lambda: pa.array([["a"]] * rows),
        lambda: pa.array([[[[1.0]]]] * rows), lambda: pa.array([{"a": 1}] * rows), lambda: pa.array([True] * rows),
        lambda: pa.array([b"\xff"] * rows),
        lambda: pa.array([None if rng.random() < 0.5 else 1 for _ in range(rows)], pa.int64()),
        lambda: pa.array([None if rng.random() < 0.5 else "link" for _ in range(rows)]),
        lambda: pa.array(np.zeros(rows, "datetime64[s]")),
        lambda: pa.array(["x" * 10_000] * rows).dictionary_encode(), lambda: _bomb(rows),
        lambda: pa.array([[float("nan")] * 6] * rows), lambda: pa.array([[1.0, None, 2.0, 3.0, 4.0, 5.0]] * rows),
        lambda: pa.array([[1, 2, 3, 4, 5, 6]] * rows),
    ]  # fmt: skip
    return rng.choice(makers)()


def damaged_spool(data: bytes, rng: random.Random) -> bytes:
    """A spool with other columns, metadata or bytes."""
    if rng.random() < 0.5:
        return damaged_bytes(data, rng)
    reader = pa.ipc.open_stream(pa.BufferReader(data))
    batches = []
    while True:
        try:
            batches.append(reader.read_next_batch_with_custom_metadata())
        except (StopIteration, OSError):
            break
    schema = reader.schema
    at = rng.randrange(len(schema))
    way = rng.randrange(6)
    facts_way = rng.randrange(4)
    made = []
    for batch, facts in batches:
        columns = list(batch.columns)
        if way < 3:
            column = _column(batch.num_rows, rng)
            columns[at] = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        elif way == 3 and facts:
            tree = json.loads(facts[b"netsim"])
            key = rng.choice(sorted(tree))
            tree[key] = rng.choice(VALUE)
            facts = {"netsim": json.dumps(tree)} if facts_way else {"other": "x"}
        names = [one if way != 4 or k != at else "x" for k, one in enumerate(schema.names)]
        made.append((pa.RecordBatch.from_arrays(columns, names=names), facts))
    metadata = dict(schema.metadata or {})
    if way == 5:
        metadata[b"replicas"] = rng.choice((b"", b"0", b"-1", b"3", b"1e9", b"x", b"1000000000000"))
    target = made[0][0].schema.with_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, target) as writer:
        for batch, facts in made:
            try:
                writer.write_batch(batch.cast(target) if batch.schema != target else batch, custom_metadata=facts)
            except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError, ValueError):
                continue
    return sink.getvalue().to_pybytes()


WAYS: dict[str, tuple[Callable[[bytes, random.Random], bytes], tuple[str, ...]]] = {
    "run/transcript-mine.parquet": (
        damaged_table,
        (
            "trace run/transcript-mine.parquet --limit 3", "trace run/transcript-mine.parquet --summary",
            "trace run/transcript-mine.parquet --jsonl --values",
            "trace run/transcript-mine.parquet --pcapng out.pcapng",
            "attack run/transcript-mine.parquet --scenario scenario.yaml --algorithm mine --out out",
            "attack run --no-score --out out",
            "attack run/transcript-mine.parquet --scenario scenario.yaml --algorithm mine --attack traffic --out out",
        ),
    ),
    "run/transcript-mine/eavesdropper.spool": (
        damaged_spool,
        (
            "trace run/transcript-mine/eavesdropper.spool --limit 3",
            "trace run/transcript-mine/eavesdropper.spool --summary",
            "trace run/transcript-mine/eavesdropper.spool --jsonl --values",
            "trace run/transcript-mine/eavesdropper.spool --pcapng out.pcapng",
            "attack run/transcript-mine/eavesdropper.spool --scenario scenario.yaml --algorithm mine --out out",
        ),
    ),
    "run/results.json": (
        damaged_json,
        (
            "report run --out page.html", "report run --figures --tables --into figures --format svg",
            "compare run whole --out c.html", "compare run --json", "trace run", "attack run --no-score --out out",
            "audit run --trials 100", "views run", "run scenario.yaml --out run",
        ),
    ),
    "run/manifest.json": (
        damaged_json,
        (
            "attack run --no-score --out out", "trace run", "compare run whole --out c.html",
            "audit run --trials 100", "run scenario.yaml --out run", "views run",
        ),
    ),
    "run/witness-second.json": (
        damaged_json,
        (
            "witness run/witness-second.json", "witness run/witness-second.json --prove",
            "witness run/witness-second.json --json",
        ),
    ),
    "run/audit-mine.json": (damaged_json, ("run scenario.yaml --out run", "audit run --trials 100")),
    "run/metrics-mine.parquet": (damaged_table, ("report run --out page.html", "run scenario.yaml --out run")),
    "run/algorithms.parquet": (damaged_table, ("report run --out page.html", "run scenario.yaml --out run")),
    "swept/sweep.json": (damaged_json, ("sweep sweep.yaml --out swept",)),
    "swept/points/000000.json": (damaged_json, ("sweep sweep.yaml --out swept",)),
    "swept/sweep.parquet": (damaged_table, ("sweep sweep.yaml --out swept",)),
}  # fmt: skip
HEAVY = float(os.environ.get("FUZZ_HEAVY", "0.02"))
"""Share of the cases in which a run or a sweep goes on in the damaged folder, which takes its time."""


def make_whole(folder: Path) -> None:
    """A folder with a run, a sweep, and their scenario."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scenario.yaml").write_text(SCENARIO)
    (folder / "sweep.yaml").write_text(SWEEP)
    for words in ("run scenario.yaml --out run --jobs 1", "sweep sweep.yaml --out swept --jobs 1"):
        done = run(words.split(), folder, 300)
        assert done.status in (0, 1), done.words
    shutil.copytree(folder / "run", folder / "whole")


def artefact_cases(whole: Path, rng: random.Random) -> Iterator[tuple[str, list[str], Callable[[Path], None]]]:
    """Name, arguments, and what prepares the folder, without end."""
    names = sorted(WAYS)
    while True:
        name = rng.choice(names)
        if all(one.split()[0] in ("run", "sweep") for one in WAYS[name][1]) and rng.random() > HEAVY:
            continue
        damage, commands = WAYS[name]
        source = (whole / name).read_bytes()
        data = damage(source, rng)
        heavy = rng.random() < HEAVY
        quick = [one for one in commands if one.split()[0] not in ("run", "sweep", "audit")]
        words = rng.choice(commands if heavy or not quick else quick).split()
        if words[0] in ("run", "sweep", "audit"):
            words += ["--jobs", "1"]

        def prepare(folder: Path, name: str = name, data: bytes = data) -> None:
            shutil.copytree(whole, folder, dirs_exist_ok=True)
            (folder / name).write_bytes(data)
            (folder / OWN).write_text(MINE)

        yield name, words, prepare


def print_faults(found: dict[str, list[int]]) -> None:
    """Every fault with its cases, the most frequent first."""
    for fault, cases in sorted(found.items(), key=lambda one: -len(one[1])):
        print(f"{len(cases):5}  {fault}   e.g. {cases[:6]}")


def main() -> None:
    ask = argparse.ArgumentParser(description="Damaged scenario files and damaged results, given to commands.")
    ask.add_argument("kind", choices=("scenarios", "artefacts"))
    ask.add_argument("count", type=int)
    ask.add_argument("seed", type=int, nargs="?", default=0)
    ask.add_argument("only", type=int, nargs="?", help="this case alone; what it wrote is kept")
    given = ask.parse_args()
    kind, count, seed, only = given.kind, given.count, given.seed, given.only
    base = Path(tempfile.mkdtemp(prefix="fuzz-"))
    kept = Path("results/fuzz") / f"{kind}-{seed}"
    warm()
    whole = Path(os.environ.get("FUZZ_WHOLE", base / "whole"))
    if kind == "artefacts" and not (whole / "swept").exists():
        make_whole(whole)
    found: dict[str, list[int]] = {}
    statuses: dict[object, int] = {}
    slowest = 0.0
    for k in range(count):
        if only is not None and k != only:
            continue
        rng = random.Random(f"{seed}/{k}")
        case = next(scenario_cases(rng) if kind == "scenarios" else artefact_cases(whole, rng))
        name, words, prepare = case
        folder = base / "above" / "case"
        folder.mkdir(parents=True)
        prepare(folder)
        outcome = run(words, folder, 6 * SECONDS if words[0] in ("run", "sweep", "audit") else SECONDS)
        if k % 100 == 99:
            print(f"{k + 1} cases: {statuses}, slowest {slowest:.1f} s", flush=True)
        statuses[outcome.status] = statuses.get(outcome.status, 0) + 1
        slowest = max(slowest, outcome.seconds)
        if outcome.fault or only is not None:
            found.setdefault(outcome.fault[:120], []).append(k)
            print(f"{k} {name}: {' '.join(words)}: {outcome.fault[:160]} ({outcome.seconds:.1f} s)", flush=True)
            target = kept / str(k)
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            (target / "words").write_text(f"{' '.join(words)}\n{outcome.words[-20000:]}", errors="replace")
            changed = folder / (name if kind == "artefacts" else "scenario.yaml")
            if changed.exists():
                shutil.copy(changed, target / changed.name)
        shutil.rmtree(folder)
    shutil.rmtree(base)
    print(f"{count} cases, seed {seed}: statuses {statuses}, slowest {slowest:.1f} s")
    print_faults(found)


if __name__ == "__main__":
    main()
