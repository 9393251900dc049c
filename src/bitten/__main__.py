"""The door: `bitten`, and `python -m bitten` for when the script is not on the path. Knows one answer itself, its version."""

import sys

from bitten import __version__


def main() -> None:
    """A script that asks for the version waits for nothing that it doesn't need."""
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    from bitten.interfaces import cli  # noqa: PLC0415 - as said above

    cli.main()


if __name__ == "__main__":
    main()
