"""The mutants: what is changed, what never is, and that the tree is whole again after each."""

import ast

from tests.mutants import mutants

CODE = '''
"""Not "a < 1"."""
Number = int | float

class Law:
    """Nor 2 + 2."""
    rate: float = 0.5

    def lost(self, seed: int = 3, *, words: str | None = None) -> bool:
        """Nor this: 1 < 2."""
        self.seen = seed
        self.draw(seed, words)
        if seed < 0:
            raise ValueError(f"{seed + 1} of", 7)
        return seed in self.all and words
'''


def test_statements_and_values_are_changed_and_never_types_words_and_messages(tmp_path):
    file = tmp_path / "law.py"
    file.write_text(CODE)
    found = [
        (name.removeprefix(f"{file} "), function, ast.unparse(tree)) for name, function, tree in mutants(str(file))
    ]
    assert [(name, function) for name, function, _ in found] == [
        ("Law: `0.5` → `1.0`", ""), ("Law.lost: `3` → `4`", "Law.lost"),
        ("Law.lost: `self.seen = seed` → `pass`", "Law.lost"),
        ("Law.lost: `self.draw(seed, words)` → `pass`", "Law.lost"),
        ("Law.lost: `self.draw(seed, words)` → `self.draw(words, seed)`", "Law.lost"),
        ("Law.lost: `seed < 0` → `seed <= 0`", "Law.lost"), ("Law.lost: `0` → `1`", "Law.lost"),
        ("Law.lost: `raise ValueError(f'{seed + 1} of', 7)` → `pass`", "Law.lost"),
        ("Law.lost: `return seed in self.all and words` → `return not (seed in self.all and words)`", "Law.lost"),
        ("Law.lost: `seed in self.all and words` → `seed in self.all or words`", "Law.lost"),
        ("Law.lost: `seed in self.all` → `seed not in self.all`", "Law.lost"),
    ]  # fmt: skip
    sources = {source for *_, source in found}
    whole = ast.unparse(ast.parse(CODE))
    assert whole not in sources
    assert len(sources) == len(found)
    assert all(len(set(whole.splitlines()) ^ set(source.splitlines())) <= 2 for source in sources)
