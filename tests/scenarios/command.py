"""`netsim`, given in a test: the exit status with which it has to end, and the words that it has to say."""

from functools import cache

from click.testing import Result
from typer import testing

from scenarios.cli.app import app

testing._get_command = cache(testing._get_command)  # the same tree of commands for every test: it takes 50 ms to make


def cli(*words: object, ends: int | None = None, **said: object) -> Result:
    """What comes of it. `output`, `stdout` and `stderr` are a text or several of that stream; other options are the
    runner's."""
    streams = {name: said.pop(name, ()) for name in ("output", "stdout", "stderr")}
    done = testing.CliRunner().invoke(app, [str(word) for word in words], **said)  # type: ignore[arg-type]
    assert ends in (None, done.exit_code), f"exit status {done.exit_code}: {done.output}"
    for name, texts in streams.items():
        for text in (texts,) if isinstance(texts, str) else texts:
            assert text in getattr(done, name), f"{text!r} is not in {name}: {getattr(done, name)}"
    return done
