"""A transcript from elsewhere gives the same attacks and the same exact loss, to the last bit."""

import csv
import json

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
        assert report["gradients"]["estimated"] > 0
    text = path.read_text().replace("value.x0", "value.x.0").replace("value.x1", "value.x.1").splitlines()
    path.write_text("\n".join([text[0], text[1].rpartition(",")[0] + ",oops"]))
    cli(
        "attack", path, "--scenario", home / "home.yaml", ends=2,
        output=("columns 'value.x.0', 'value.x.1' = [", "'oops']: no vector; allowed: a number each"),
    )  # fmt: skip


def test_and_a_pcapng_file_of_one_replica(home, own):
    cli("trace", home / "run", "--pcapng", home / "one.pcapng", ends=0)
    report, _ = attacked(home, home / "one.pcapng")
    assert report["loss"]["losses"] == own[0]["loss"]["losses"][:1]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda text: text.replace("Oslo", "Rome", 1), ":2: column 'dst' = 'Rome': no number"),
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


def test_messages_of_neither_world_have_no_loss(home):
    path, columns = written(home, "few.csv", keep=lambda row: row["number"] == 0 or row["sender"] == 0)
    report, _ = attacked(home, path, *columns)
    assert report["loss"]["refused"]
