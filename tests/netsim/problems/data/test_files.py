"""Anybody's own files."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from netsim.errors import ScenarioError
from netsim.problems import load
from tests.worlds import refusal

TABLE = """height, weight, name, species
1.5, 20, ann, cat
2.5, 40, bob, dog
0.5, 10, cid, cat
3.0, 90, dan, cow
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "animals.csv"
    path.write_text(TABLE)
    return path


def test_columns_go_by_name_or_by_place(table: Path) -> None:
    data = load("csv", path=table, label="species", features=["weight", "height"], classes=["dog", "cat"])
    assert np.array_equal(data.features, [[20, 1.5], [40, 2.5], [10, 0.5]])
    assert np.array_equal(data.labels, [1, -1, 1])
    assert data.name == "animals.csv"
    same = load("csv", path=str(table), features=[1, -4], classes=["dog", "cat"])
    assert np.array_equal(same.features, data.features)


def test_the_name_of_two_columns_names_none(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("a,twice,twice\n1,2,0\n2,1,1\n")
    with pytest.raises(ScenarioError, match="its position: 1 or 2") as caught:
        load("csv", path=path, label="twice")
    assert caught.value.field == "label"
    assert load("csv", path=path, label=2).records == 2


def test_a_regression_keeps_its_targets(table: Path) -> None:
    data = load("csv", path=table, label="weight", features=["height"], kind="regression")
    assert np.array_equal(data.labels, [20, 40, 10, 90])
    assert np.array_equal(data.features[:, 0], [1.5, 2.5, 0.5, 3.0])


def test_without_a_header_all_other_columns_are_features(tmp_path: Path) -> None:
    path = tmp_path / "plain.csv.gz"
    path.write_bytes(gzip.compress(b"2;0.5;7\n1;1.5;8\n2;2.5;9\n"))
    data = load("csv", path=path, label=0, header=False, delimiter=";")
    assert np.array_equal(data.features, [[0.5, 7], [1.5, 8], [2.5, 9]])
    assert np.array_equal(data.labels, [1, -1, 1])  # of 1 and 2 the smaller is −1
    swapped = load("csv", path=path, label=0, header=False, delimiter=";", classes=[2, 1])
    assert np.array_equal(swapped.labels, -data.labels)
    assert load("csv", path=path, label=0, header=False, delimiter=";", records=2).records == 2


@pytest.mark.parametrize(
    ("options", "field", "said"),
    [
        ({"label": "specie"}, "label", "species, "), ({"label": 4}, "label", "<= 3"),
        ({"label": "species", "classes": ["cat", "dog"]}, "path", "line 2, column 'name': 'ann' is no number"),
        ({"features": ["height"]}, "classes", "column 'species' has 3 labels, which are cat, cow, dog"),
        ({"features": ["height"], "classes": ["cat", "bird"]}, "classes", "not both among the labels"),
        ({"features": ["height"], "classes": ["cat", "cat"]}, "classes", "not two different"),
        ({"features": ["species"], "classes": ["cat", "dog"]}, "features", "not different columns"),
        ({"features": ["height", 0]}, "features", "not different columns"),
        ({"features": ["height"], "kind": "regression"}, "path", "line 2, column 'species': 'cat' is no number"),
        ({"features": [0], "kind": "regression", "classes": ["cat", "dog"]}, "classes", "a regression has none"),
        ({"features": [0], "label": 1, "classes": ["a", "b"]}, "classes", "the labels are numbers"),
        ({"delimiter": ",,"}, "delimiter", "one character"), ({"kind": "clustering"}, "kind", "classification"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(table: Path, options: dict, field: str, said: str) -> None:
    options = {"features": ["height"]} | options if "kind" in options else options
    error = refusal(load, "csv", path=table, **options)
    assert error.field == field
    assert said in str(error)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n", "no record"), ("", "no record"), ("a,b\n1,2\n\n1\n", "line 4 has 1 fields"),
        ("b\n1\n0\n", "has one column, the label 'b': there is no column of a feature"),
        ("a;b\n1,5;2\n", """delimiter = ',': not what stands between the values of odd.csv; did you mean ";"?"""),
        ("a\tb\n1\t2\n", r'did you mean "\\t"'), ("a b\n1 2\n", 'did you mean " "'),
        ("+1 1:0.5 2:0.3\n-1 1:0.2 3:1\n", "line 1 is one of a LIBSVM file; allowed: name: libsvm"),
        ("# of 2019\na,b\n1,2\n", "line 2 has 2 fields, not 1 as line 1"),
        ("a,b\n1,2\n,1\n", "line 3, column 'a' is missing"),
        ("a,b\n1,2\n\nNA,1\n", "line 4, column 'a' is missing"),
        ("a,b\nnan,2\n1,1\n", "line 2, column 'a' is missing"),
        ("a,b\n1,2\ninf,1\n", "line 3, column 'a': 'inf' is no finite number"),
        ("a,b\n1,2\n2,\"cat\n1,2\n1,2\n", r"\(no quote closes the one that opens in line 3\)"),
        ('a,b,c\n1,2,1\n1,"2\n3,"4\n', "line 3, with the 1 after it in a quote that opens there, has 2 "),
        ('a,b\n1,2\n2,"0', r"\(no quote closes the one that opens in line 3\)"),
        ("a,b\n1,2\n2,\n", "line 3, column 'b' is missing"), ("a,b\n1,2\n2,NaN\n", "line 3, column 'b' is missing"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_is_named(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(content)
    with pytest.raises(ScenarioError, match=said):
        load("csv", path=path)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            ["nan,2,0", "1,2,1", "1,abc,1", "1,2", "1e400,x,0"],
            ["line 2, column 'a' is missing", "line 4, column 'b': 'abc' is no number", "line 5 has 2 fields, not 3",
             "line 6, column 'a': '1e400' is no finite", "line 6, column 'b': 'x' is no number"],
        ),
        (["x,1,0", "y,nan,1", "z,2,0"], ["line 2, column 'a': 'x' is no number; so in e", "line 3, column 'b' is"]),
        (["1,2", "3,4"], ["line 2 has 2 fields, not 3 as line 1; so in every row; allowed: equal rows"]),
        (["1,2,0", *["x,y,1"] * 7], [*["'x'", "'y'"] * 4, "'x'", "'y' is no number; and 4 more mistakes; al"]),
    ],
)  # fmt: skip
def test_all_mistakes_of_a_table_are_said_by_line_and_column(tmp_path: Path, rows: list, said: list) -> None:
    (tmp_path / "odd.csv").write_text("\n".join(["a,b,label", *rows]) + "\n")
    found = refusal(load, "csv", path=tmp_path / "odd.csv").each()
    assert len(found) == len(said)
    for one, words in zip(found, said, strict=True):
        assert words in str(one)


def test_a_name_where_the_first_line_is_of_numbers_asks_whether_it_is_a_header(tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("0.5,1.5,1\n0.2,0.1,0\n")
    with pytest.raises(ScenarioError, match="label = 'y': unknown; allowed: header: false where the first line is a"):
        load("csv", path=path, label="y")
    assert load("csv", path=path, label=-1, header=False).records == 2


@pytest.mark.parametrize(
    ("first", "options", "lost"),
    [
        ("0.5,2.5,1", {}, True),
        ("1,0.5,2.5", {"label": 0}, True),
        ("0.5,2.5,yes", {}, True),
        ("2019,2020,yes", {"label": "yes"}, False),  # who names a column has read the header
        ("0.5,2.5,yes", {"label": "yes"}, False),
        ("0.5,2.5,1", {"label": "1"}, True),  # which is a label, too
        ("0.5,2.5,1.5", {"label": "1.5", "kind": "regression"}, True),
        ("0.5,2.5,1", {"label": "1", "features": ["0.5"]}, True),
        ("0,1,label", {}, False),  # as a data frame numbers its columns
        ("a,b,1", {}, False),
    ],
)
def test_a_first_record_is_no_header(tmp_path: Path, first: str, options: dict, lost: bool) -> None:
    (tmp_path / "bare.csv").write_text(f"{first}\n" + "1,0.1,0\n0,0.2,1\n" * 3)
    if lost:
        with pytest.raises(
            ScenarioError, match=r"header = True: line 1 of bare.csv looks like a record.*header: fal"
        ):
            load("csv", path=tmp_path / "bare.csv", **options)
    else:
        assert load("csv", path=tmp_path / "bare.csv", **options).records == 6


def test_a_libsvm_file_is_what_scikit_learn_writes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(9, 4)), np.arange(9) % 3
    features[:, 3] = 0
    path = tmp_path / "mine.txt"
    dump_svmlight_file(features[:, :3], labels, str(path), zero_based=False)
    data = load("libsvm", path=path, classes=[2, 0], dimension=4)
    np.testing.assert_allclose(data.features, features[labels != 1], rtol=1e-14)
    assert np.array_equal(data.labels, np.where(labels[labels != 1] == 0, 1, -1))
    assert load("libsvm", path=path, classes=[2, 0]).dimension == 3
    targets = load("libsvm", path=path, kind="regression")
    assert np.array_equal(targets.labels, labels)


@pytest.mark.parametrize("name", ["libsvm", "csv"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ScenarioError, match="no such file") as caught:
        load(name, path=tmp_path / "nowhere")
    assert caught.value.field == "path"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (TABLE, "line 1: the label: 'height,' is no number"),
        ("1 1:2\ncat 1:2\n", "line 2: the label: 'cat' is no number"),
        ("1 1:-0,5\n", "line 1, index 1: '-0,5' is no number; did you mean -0.5, with a decimal point?"),
        ("1 1:1,000\n", "line 1, index 1: '1,000' is no number)"),
        ("1 1:2\n\n-1 0:2\n", "line 3: 0:2: indices start at 1"),
        ("1 2:1 1:3\n", "line 1: 1:3: indices rise, and 2 is before it"),
        ("1 1:2 # kept\n-1 1:nan\n", "line 2, index 1 is missing"), ("1 1:2\n-1 1:\n", "line 2, index 1 is missing"),
        ("1 1:2\n-1 one\n", "line 2: 'one' is no index:value"), ("1\n-1\n", "has no record with a feature"),
    ],
)  # fmt: skip
def test_what_is_no_libsvm_file_is_told_with_its_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "odd.txt"
    path.write_text(content)
    with pytest.raises(ScenarioError, match="not readable as LIBSVM") as caught:
        load("libsvm", path=path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "path = 'wide.txt': asks for .*: smaller indices than 99999999999, that of line 3; or fewer "),
        ({"dimension": 10}, "line 3 has index 99999999999, and `dimension` is 10"),
        ({"dimension": 10**12}, "dimension = 1000000000000: asks for "),
    ],
)
def test_a_huge_index_is_named_with_its_line(tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    Path("wide.txt").write_text("1 1:2\n\n-1 2:1 99999999999:2\n1 3:1\n")
    with pytest.raises(ScenarioError, match=said):
        load("libsvm", path="wide.txt", **options)


@pytest.mark.parametrize(
    ("labels", "names"),
    [(("no", "yes", "no"), ("no", "yes")), (("2", "1", "2"), ("1", "2")), (("-1", "1", "1"), ("-1", "1"))],
)
def test_data_say_what_their_file_calls_the_classes(tmp_path, labels, names):
    file = tmp_path / "own.csv"
    file.write_text("a,label\n" + "".join(f"{k}.5,{label}\n" for k, label in enumerate(labels)))
    data = load("csv", path=file, label="label")
    assert data.class_names == data.take([0, 1]).class_names == names
    assert f"−1 and +1 are: {' and '.join(names)}" in repr(data)
    assert list(data.labels) == [1.0 if label == names[1] else -1.0 for label in labels]
    assert load("synthetic", records=4, dimension=1).class_names is None
