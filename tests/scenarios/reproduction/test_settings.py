"""Which fields of variants tell the lines of a figure apart."""

from scenarios.papers.figures import _settings  # pyright: ignore[reportPrivateUsage]


def test_what_moves_with_x_is_the_same_line():
    assert _settings("x", [{"x": 1, "y": 10, "z": "a"}, {"x": 2, "y": 20, "z": "a"}]) == set()


def test_what_does_not_move_with_x_is_another():
    grid = [{"x": x, "y": y} for x in (1, 2) for y in ("a", "b")]
    assert _settings("x", grid) == {"y"}
    assert _settings("x", [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}, {"x": 3, "y": "a"}]) == {"y"}
    assert _settings("x", [{"x": 1}, {"x": 1, "y": 3}, {"x": 2}]) == {"y"}
