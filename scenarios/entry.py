"""Where the console command begins: a Ctrl-C while everything is still being loaded is one, too."""

import os

INTERRUPTED = 130


def main() -> None:
    """`scenarios.cli.main`, loaded here."""
    try:
        from scenarios.cli import main as command

        command()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
