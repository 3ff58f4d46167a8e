"""Where the console command begins: a Ctrl-C while everything is still being loaded is one, too."""

import gc
import os
import signal

INTERRUPTED = 130


def main() -> None:
    """`scenarios.cli.app.main`, loaded here."""
    try:
        from scenarios.cli.app import main as command

        command()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done, and said: only processes are left to end
        gc.freeze()  # nor is the rest of a large run looked for, to be freed piece by piece


if __name__ == "__main__":
    main()
