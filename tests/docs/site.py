"""What the site has beside docs/: a hook of MkDocs, named in mkdocs.yml.

The pages are written to be read where they lie, so that links lead out of docs/ to scenarios and to the files at the
root. The site has these files too, and here links are turned to them; the README is its first page.
"""

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md",
              "CODE_OF_CONDUCT.md": "CODE_OF_CONDUCT.md"}  # fmt: skip
"""Pages at the root, and what they are called on the site."""
FOLDERS = ("scenarios/library", "scenarios/ledger", "scenarios/sweeps")
LINK = re.compile(r"(\]\()((?:\.\./)*)([^)#\s:]+)((?:#[^)\s]*)?\))")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root and the scenarios that pages link to."""
    from mkdocs.structure.files import File

    for source, name in ROOT_PAGES.items():
        files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("*.yaml")):
            files.append(File.generated(config, f"{folder}/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as the site has them, seen from this page; blocks of code are left alone."""
    root = page.file.src_uri in ROOT_PAGES.values()
    depth = 0 if root else page.file.src_uri.count("/") + 1
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        part if part.startswith("```") else LINK.sub(lambda m: turned(m, depth), inside(part)) for part in parts
    )


def inside(text: str) -> str:
    """What belongs to an entry of a list, as Python-Markdown wants it: indented by four, where GitHub takes two; and
    an empty line before the next entry, where this one has several paragraphs."""
    lines: list[str] = []
    several = False
    for line in text.split("\n"):
        if line.startswith("- ") and several and lines and lines[-1].startswith("    "):
            lines.append("")
        if line and not line.startswith("  "):
            several = False
        several |= not line
        lines.append(re.sub(r"^ {2,3}(?=\S)", "    ", line))
    return "\n".join(lines)


def turned(link: re.Match[str], depth: int) -> str:
    """A link from a page `depth` folders below the root, to what is at the root or beside docs/."""
    start, up, path, end = link.groups()
    if up.count("../") != depth:
        return link[0]
    if path in ROOT_PAGES:
        path = ROOT_PAGES[path]
    elif path.startswith("docs/"):
        path = path.removeprefix("docs/")
    elif not path.startswith(FOLDERS):
        return link[0]
    return f"{start}{'../' * max(depth - 1, 0)}{path}{end}"
