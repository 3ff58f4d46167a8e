"""A transcript from elsewhere gives the same attacks and the same exact loss, to the last bit."""

import csv
import json

import pyarrow
import pytest
from pyarrow import parquet

from tests.scenarios.command import cli

SCENARIO = """\
name: home
problem: {kind: logistic, data: {name: synthetic, records: 20, dimension: 2, norm_bound: 1.0}, ridge: 0.5}
topology: {kind: file, path: cities.csv}
replicas: 2
transcript: {replicas: all}
algorithms:
  - {kind: private_gradient_descent, name: mine, rounds: 3, clip: {bound: 1.0}, scale: 0.5}
audit: {adjacency: {change: 2.0}, trials: 50, chunk: 50}
attacks: {gradients: true}
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with the scenario, and the run's transcript as JSON lines."""
    place = tmp_path_factory.mktemp("home")
    (place / "cities.csv").write_text("Lima,Oslo\nOslo,Bern\nBern,Lima\n")
    (place / "home.yaml").write_text(SCENARIO)
    cli("run", place / "home.yaml", "-o", "audit=null", "--out", place / "run", ends=0)
    lines = cli("trace", place / "run", "--jsonl", "--values", "--limit", 0)
    (place / "lines.jsonl").write_text(lines.stdout)
    return place


def attacked(home, file, *more):
    out = home / f"of-{file.stem}{file.suffix[1:]}"
    options = ["--scenario", home / "home.yaml", "--attack", "gradients", "--attack", "loss", "--out", out, "--json"]
    done = cli("attack", file, *options, *more, ends=0)
    (report,) = json.loads(done.stdout)["algorithms"]
    estimates = parquet.read_table(out / "estimates-mine.parquet")
    return report, [estimates[name].to_pylist() for name in estimates.column_names if name != "truth"]


@pytest.fixture(scope="module")
def own(home):
    return attacked(home, home / "run" / "transcript-mine.parquet")


def written(home, name, delimiter=",", keep=lambda row: True, broken=lambda text: text):
    """The rows as a CSV file of somebody else's: other names, agents by name, a vector in a cell or in columns."""
    path = home / name
    rows = [json.loads(line) for line in (home / "lines.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["place"] == "link" and row["values"]]
    with path.open("w", newline="") as file:
        table = csv.writer(file, delimiter=delimiter)
        table.writerow(["when", "src", "dst", "g"])
        for row in filter(keep, rows):
            (values,) = row["values"].values()
            table.writerow([repr(row["time"]), row["from"], row["to"], json.dumps(values)])
    path.write_text(broken(path.read_text()))
    (field,) = rows[0]["values"]
    mapped = ("time=when", "sender=src", "receiver=dst", f"{field}=g")
    return path, [word for one in mapped for word in ("--column", one)]


def test_json_lines_give_the_same_to_the_last_bit(home, own):
    report, estimates = attacked(home, home / "lines.jsonl")
    assert estimates == own[1]
    assert report["loss"] == own[0]["loss"]
    assert report["loss"]["refused"] is None
    assert report["loss"]["world"] == 0
    assert report["loss"]["releases"] == 3
    assert len(report["loss"]["losses"]) == 2
    assert all(loss != 0 for loss in report["loss"]["losses"])


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_so_does_a_csv_file_with_a_map_of_columns(home, own, delimiter):
    path, columns = written(home, f"rows{ord(delimiter)}.csv", delimiter)
    report, estimates = attacked(home, path, *columns)
    assert estimates == own[1]
    assert report["loss"] == own[0]["loss"]


def test_and_one_with_a_numbered_column_for_each_number_without_a_map(home, tmp_path):
    """A vector is one value, whatever separates the number; what is wrong with it is said of the file's columns."""
    rows = [json.loads(line) for line in (home / "lines.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["place"] == "link" and row["values"]]
    for part in (".{}", "[{}]", "{}"):
        path = tmp_path / "numbered.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["time", "sender", "receiver", *(f"value.x{part.format(k)}" for k in range(2))])
            for row in rows:
                table.writerow([repr(row["time"]), row["from"], row["to"], *row["values"]["x"][0]])
        report, _ = attacked(home, path)
        assert sum(report["gradients"]["inferred"]) > 0
    text = path.read_text().replace("value.x0", "value.x.0").replace("value.x1", "value.x.1").splitlines()
    path.write_text("\n".join([text[0], text[1].rpartition(",")[0] + ",oops"]))
    cli(
        "attack", path, "--scenario", home / "home.yaml", ends=2,
        output="numbered.csv:2: column 'value.x.1' = 'oops': no number; allowed: a number",
    )  # fmt: skip


def test_and_a_pcapng_file_of_one_replica(home, own):
    cli("trace", home / "run", "--pcapng", home / "one.pcapng", ends=0)
    report, _ = attacked(home, home / "one.pcapng")
    assert report["loss"]["losses"] == own[0]["loss"]["losses"][:1]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            lambda text: text.replace("Oslo", "Rome", 1),
            ":2: column 'dst' = 'Rome': no such agent in the scenario; allowed: 0 … 2, or",
        ),
        (
            lambda text: text.replace("when", "then", 1),
            "--column time = 'when': unknown; did you mean 'then'?; allowed: then",
        ),
        (lambda text: text.replace("[[", "[[7, ", 1), ":2: column 'g' = "),
        (lambda text: text.replace("[[", "[[x, ", 1), "no vector"),
        (lambda text: text + "1.0,Lima\n", "has 2 fields, not 4"),
        (lambda text: text.partition("\n")[0], "has no row"),
        (lambda text: text.replace("0.0,", "soon,", 1), "column 'when' = 'soon': no number"),
    ],
)
def test_a_mistake_is_one_line_with_file_line_and_column(home, broken, said):
    path, columns = written(home, "broken.csv", broken=broken)
    done = cli("attack", path, "--scenario", home / "home.yaml", *columns, ends=2)
    assert said in done.output.replace("\n", "")


@pytest.mark.parametrize(("rows", "status", "said"), [
    (0, 2, "has no row; allowed: a packet a row"),
    (1, 0, "1 row captured (2 replicas)"),
    (1, 0, "No gradient is estimated: the messages captured are too few to tell one of any agent."),
])  # fmt: skip
def test_a_table_of_few_rows_says_so(home, rows, status, said):
    path, columns = written(home, "few.csv")
    cli("attack", path, "--scenario", home / "home.yaml", *columns, ends=0)
    whole = home / "few-imported.parquet"
    parquet.write_table(parquet.read_table(whole).slice(0, rows), home / "few.parquet")
    done = cli("attack", home / "few.parquet", "--scenario", home / "home.yaml", ends=status)
    assert said in " ".join(done.output.split())
    assert "0 gradients" not in done.output


@pytest.mark.parametrize("which", [0, 3, -1])
def test_a_row_that_is_there_twice_is_said_and_not_those_after_it(home, which):
    path, columns = written(home, "again.csv")
    head, *lines = [line.partition(",")[2] for line in path.read_text().splitlines()]
    which %= len(lines)
    path.write_text("\n".join([head, *lines[: which + 1], *lines[which:]]))
    done = cli("attack", path, "--scenario", home / "home.yaml", *columns[2:], ends=2)
    assert f"again.csv:{which + 3}: column 'dst' = " in done.output
    assert f"line {which + 2} is the same message of agent " in " ".join(done.output.split())
    assert done.output.count("again.csv:") == 1


SLIPS = {"sender": "sendr", "receiver": "reciever"}


@pytest.mark.parametrize("name", SLIPS)
def test_the_misspelt_name_of_a_column_is_said(home, name):
    path, columns = written(home, "slip.csv")
    slip = [one.replace(f"{name}=", f"{SLIPS[name]}=") for one in columns]
    done = cli("attack", path, "--scenario", home / "home.yaml", *slip, ends=2)
    assert SLIPS[name] in done.output
    assert f"did you mean '{name}'?" in " ".join(done.output.split())


NAMES = {
    "of a column": ("y=g", "--column = 'y=g': the algorithm sends 'x', the file has 'y'; allowed: --column x=g"),
    "of none": ("", "the algorithm sends 'x', the file has 'g'; allowed: --column x=g"),
}


@pytest.mark.parametrize("case", NAMES)
def test_other_names_than_the_algorithms_are_said(home, case):
    now, said = NAMES[case]
    path, columns = written(home, "names.csv")
    columns[-1] = now
    if not now:
        path.write_text(path.read_text().replace("when,src,dst", "time,sender,receiver"))
        columns = []
    done = cli("attack", path, "--scenario", home / "home.yaml", *columns, ends=2)
    assert said in done.output.replace("\n", "")


def test_two_copies_of_one_exchange_that_differ_are_refused(home):
    def altered(text):
        lines = text.splitlines()
        of_first = [k for k, line in enumerate(lines) if line.split(",")[1] == lines[1].split(",")[1]]
        lines[of_first[1]] = lines[of_first[1]].replace("[[", "[[1", 1).replace("[[1-", "[[-1")
        return "\n".join(lines)

    path, columns = written(home, "copies.csv", broken=altered)
    done = cli("attack", path, "--scenario", home / "home.yaml", *columns, ends=2)
    assert "other values than in line 2: both are of exchange 0 of agent " in done.output.replace("\n", "")


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_attacked(home):
    (home / "a-file").touch()
    for what in ([home / "run"], [home / "lines.jsonl", "--scenario", home / "home.yaml"]):
        done = cli("attack", *what, "--out", home / "a-file", ends=2)
        assert "a-file': cannot be written (File exists); allowed: a folder to write to" in done.output
        assert "inferring" not in done.output


def test_a_folder_without_its_transcript_is_said(home, tmp_path):
    for name in ("manifest.json", "results.json"):
        (tmp_path / name).write_text((home / "run" / name).read_text())
    says = "it has no transcript, which would be transcript-mine.parquet; allowed: a folder of `netsim run` as it was"
    cli("attack", tmp_path, ends=2, output=says)
    (tmp_path / "transcript-mine.parquet").mkdir()
    cli(
        "attack",
        tmp_path,
        ends=2,
        output="transcript-mine.parquet: cannot be read (Is a directory); give transcript-",
    )
    results = json.loads((tmp_path / "results.json").read_text())
    for slug, says in (
        ("../mine", "results.json: algorithms[0].slug = '../mine': "),
        (None, "no algorithm was begun"),
    ):
        results["algorithms"] = [results["algorithms"][0] | {"slug": slug}] if slug else []
        (tmp_path / "results.json").write_text(json.dumps(results))
        cli("attack", tmp_path, ends=2, output=says)


def test_a_transcript_of_another_kind_of_algorithm_is_refused(home, tmp_path):
    kind = "{kind: private_gradient_descent, name: mine, rounds: 3, clip: {bound: 1.0}, scale: 0.5}"
    walk = SCENARIO.replace(kind, "{kind: recal, name: mine, step: 0.5, activations: 9}").replace("audit:", "# ")
    (tmp_path / "cities.csv").write_text((home / "cities.csv").read_text())
    (tmp_path / "walk.yaml").write_text(walk)
    says = (
        "row 1, column 'kind' = 'exchange': the algorithm begins with a message of kind 'direct': the file has none; "
    )
    done = cli("attack", home / "run" / "transcript-mine.parquet", "--scenario", tmp_path / "walk.yaml", ends=2)
    assert says in done.output


def test_messages_of_neither_world_have_no_loss(home):
    path, columns = written(home, "few.csv", keep=lambda row: row["number"] == 0 or row["sender"] == 0)
    report, _ = attacked(home, path, *columns)
    assert report["loss"]["refused"]


HEADER = "when,src,dst,k,w0,w1"
ROWS = [
    f"{k}.5,{i},{j},{k},{k + 0.25 * i},{-k - 0.5}"
    for k in range(3)
    for i, neighbors in enumerate(([1], [0, 2], [1, 3], [2]))
    for j in neighbors
]
"""A transcript of a path of four agents, in three rounds."""
MAP = ("time=when", "sender=src", "receiver=dst", "number=k", "x=w")
FOREIGN = {
    "a link that is not there": ({2: "0.5,1,3,0,0.25,-0.5"}, ":4: column 'dst' = 3: agent 1 has no link to it in th"),
    "a message to oneself": ({2: "0.5,1,1,0,0.25,-0.5"}, ":4: column 'dst' = 1: agent 1 is the sender, too; allowed"),
    "an agent too many": ({2: "0.5,7,2,0,0.25,-0.5"}, ":4: column 'src' = 7: no such agent in the scenario; allowed"),
    "infinitely many agents": ({2: "0.5,inf,2,0,0.25,-0.5"}, ":4: column 'src' = 'inf': out of range; allowed: a wh"),
    "no number in a vector": ({2: "0.5,1,2,0,0.25,nan"}, ":4: column 'w1' = nan: not finite (coordinate 1); allowed"),
    "no end of a vector": ({2: "0.5,1,2,0,-inf,-0.5"}, ":4: column 'w0' = -inf: not finite (coordinate 0); allowed:"),
    "an underscore in a number": ({2: "0.5,1,2,0,0.25,1_0"}, ":4: column 'w1' = '1_0': no number; allowed: a number"),
    "half of a vector": ({2: "0.5,1,2,0,0.25,"}, ":4: column 'w1' = '': empty, beside columns that are not; allowed"),
    "no vector": ({2: "0.5,1,2,0,,"}, ":4: columns 'w0', 'w1': missing: the algorithm sends 'x' in exchange 0 of ag"),
    "a round that is never reached": (
        {18: "9,0,1,3,0.1,0.2"}, ":20: column 'k' = 3: an agent sends 3 messages of kind 'exchange' in this algo"
        "rithm, and this is exchange 3 of agent 0; allowed: 0 … 2",
    ),
    "a negative round": ({2: "0.5,1,2,-1,0.25,-0.5"}, ":4: column 'k' = -1: no count of messages; allowed: >= 0"),
    "half a round": ({2: "0.5,1,2,0.5,0.25,-0.5"}, ":4: column 'k' = '0.5': out of range; allowed: a whole number >"),
    "a message that is there twice": (
        {18: ROWS[4]}, ":20: column 'k' = 0: exchange 0 of agent 2 to the same agent is in line 6, too; allowed: a me"
    ),
    "times that go back": (
        {0: "9.5,0,1,0,0.0,-0.5"}, ":2: column 'when' = 9.5: exchange 2 of agent 0 is earlier, at 2.5 (line 14); allo"
    ),
    "a row without a time": ({2: ",1,2,0,0.25,-0.5"}, ":4: column 'when': missing: other rows have one; allowed: on"),
    "a gap in the columns": (
        {"w1": "w2"}, ":2: columns 'w0', 'w2' = ['0.0', '-0.5']: no vector together; allowed: 2 columns without a gap"
    ),
    "one column too few": ({",w1": ",v"}, ":2: column 'w0' = [0.0]: a vector of 1; so in 17 more; allowed: 2 number"),
    "a column that is there twice": ({"w1": "w0"}, ":1: header = 'when, src, dst, k, w0, w0': the header has 'w0' m"),
    "a column for two": ({"x=w": "x=src"}, "--column x = 'src': the column of sender, too; allowed: a column of its"),
    "two columns for one": ({"number=k": "x=k"}, "--column = 'x=w': 'x' has a column already; allowed: x=k alone"),
    "several mistakes": (
        {2: "0.5,1,1,0,0.25,-0.5", 4: "0.5,2,1,0,oops,1", 6: "soon,0,1,1,1,-1.5"},
        ":4: column 'dst' = 1: agent 1 is the sender, too", ":6: column 'w0' = 'oops': no number",
        ":8: column 'when' = 'soon': no number", "3 mistakes",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def path_of_four(tmp_path_factory):
    place = tmp_path_factory.mktemp("path")
    there = "topology: {kind: file, path: cities.csv}"
    (place / "path.yaml").write_text(SCENARIO.replace(there, "topology: {kind: path, agents: 4}"))
    return place


def attacked_as(place, name, data, columns=MAP, ends=2):
    """What `netsim attack` says of a file with these bytes."""
    (place / name).write_bytes(data)
    mapped = [word for one in columns for word in ("--column", one)]
    done = cli("attack", place / name, "--scenario", place / "path.yaml", *mapped, ends=ends)
    assert ends == 0 or not [*place.glob("*-imported*"), *place.glob("estimates*")]
    return done.output.replace("\n", "")


@pytest.mark.parametrize("case", FOREIGN)
def test_rows_that_no_run_has_are_refused_before_anything_is_attacked(path_of_four, case):
    changes, *said = FOREIGN[case]
    rows = [changes.get(k, row) for k, row in enumerate(ROWS)] + [changes[k] for k in changes if k == len(ROWS)]
    header, mapped = HEADER, "\n".join(MAP)
    for before, after in changes.items():
        if isinstance(before, str):
            header, mapped = header.replace(before, after), mapped.replace(before, after)
    output = attacked_as(path_of_four, "rows.csv", "\n".join([header, *rows]).encode(), mapped.split("\n"))
    for words in said:
        assert words in output


TEXT = "\n".join([HEADER, *ROWS])
OBJECTS = [{"sender": 0, "receiver": 1, "values": {"x": [1.0, 2.0]}}, {"sender": 1, "receiver": 0}]
FILES = {
    "with a mark at its beginning": ("rows.csv", TEXT.encode("utf-8-sig"), MAP, ""),
    "in UTF-16": ("rows.csv", TEXT.encode("utf-16"), MAP, "cannot be read (is in UTF-16: save it as UTF-8)"),
    "in UTF-16 without a mark": ("rows.csv", TEXT.encode("utf-16-le"), MAP, "it has null bytes, as a binary file or"),
    "in Latin-1": ("rows.csv", f"{HEADER},ö".encode("latin-1"), MAP, "is no text in UTF-8 (line 1, byte 0xf6)"),
    "of objects with a key twice": (
        "rows.jsonl", b'{"sender": 0, "sender": 1, "receiver": 2}', (), "the key 'sender' is there twice"
    ),
    "of objects with a number of any length": (
        "rows.jsonl", b'{"sender": 1' + b"0" * 400 + b', "receiver": 2}', (), ":1: column 'sender' = 1000"
    ),
    "of objects with a truth value": (
        "rows.jsonl", b'{"sender": true, "receiver": 2}', (), ":1: column 'sender' = true: no such agent in the"
    ),
    "of objects with a list of values": (
        "rows.jsonl", b'{"sender": 1, "receiver": 2, "values": [1, 2]}', (), ":1: values = [1, 2]: no object; allowed"
    ),
    "of objects with a value too few": (
        "rows.jsonl", "\n".join(map(json.dumps, OBJECTS)).encode(), (),
        ":2: column 'x': missing: the algorithm sends 'x' in exchange 0 of agent 1; allowed: 'x', and no other value",
    ),
    "of packets, which is none": ("rows.pcapng", b"src,dst,w0,w1", (), "no pcapng file; allowed: a pcapng file of `"),
    "of packets, which has none": ("rows.pcapng", b"", (), "no pcapng file; allowed: a pcapng file of"),
    "with a map, and no columns": ("rows.pcapng", b"", MAP, "names a column of a text file; allowed: only with a fi"),
    "of columns, which is a text": ("rows.parquet", TEXT.encode(), (), "rows.parquet: neither a spool nor a transcr"),
}  # fmt: skip
"""Files of a path of four agents: name, bytes, map of columns, and what is said of them."""


@pytest.mark.parametrize("case", FILES)
def test_a_file_is_taken_for_what_it_is(path_of_four, case):
    name, data, columns, said = FILES[case]
    assert said in attacked_as(path_of_four, name, data, columns, ends=2 if said else 0)
    for made in [*path_of_four.glob("*-imported*"), *path_of_four.glob("estimates*")]:
        made.unlink()


COLUMNS = {
    "a value": ("value.x", [0.1, float("nan")], "column 'x' = nan: not finite (coordinate 1 of replica 0)"),
    "a length": ("value.x", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "column 'x' = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]: a "),
    "a receiver": ("receiver", "sender", "is the sender, too; allowed: its neighbors: "),
    "a number": ("number", 7, "column 'number' = 7: an agent sends 3 messages of kind 'exchange' in this algo"),
    "a time": ("time", 1e9, "column 'time' = 1000000000.0: exchange 2 of agent "),
}  # fmt: skip


@pytest.mark.parametrize("case", COLUMNS)
def test_rows_of_a_table_are_checked_as_those_of_a_text(home, tmp_path, case):
    column, value, said = COLUMNS[case]
    table = parquet.read_table(home / "run" / "transcript-mine.parquet")
    cells = {name: table[name].to_pylist() for name in table.column_names}
    value = value * 2 if case == "a value" else cells["sender"][3] if value == "sender" else value
    cells[column][3] = value
    parquet.write_table(pyarrow.table(cells, schema=table.schema), tmp_path / "table.parquet")
    done = cli("attack", tmp_path / "table.parquet", "--scenario", home / "home.yaml", ends=2)
    assert "table.parquet: row 4, column " in done.output
    assert said in done.output.replace("\n", "")
