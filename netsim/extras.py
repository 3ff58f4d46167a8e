"""The extras of the package: what is installed only by who asks for it, and how."""


def install(extra: str) -> str:
    """The commands that bring an extra (a name under `optional-dependencies`), in a clone and without one."""
    return f"""pip install -e ".[{extra}]" in a clone of netsim, or pip install "netsim-lab[{extra}]\""""
