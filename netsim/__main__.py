"""`python -m netsim` is the command `netsim`: the one that is installed, so that nothing here imports what is above.

Python looks for modules in the working folder first; a `scenarios.py` of the user's there is not netsim's.
"""

import sys
from importlib.metadata import entry_points

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]
    (command,) = entry_points(group="console_scripts", name="netsim")
    command.load()()
