"""`python -m netsim` is the command `netsim`: the one that is installed, so that nothing here imports what is above.

Python looks for modules in the working folder first; a `scenarios.py` of the user's there is not netsim's.
"""

import sys
from importlib.metadata import entry_points

from netsim.errors import install

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]
    commands = list(entry_points(group="console_scripts", name="netsim"))
    if not commands:
        sys.exit(f"netsim: not installed for {sys.executable}, which only finds its files: {install()}")
    commands[0].load()()
