"""The door: `bitten`, and `python -m bitten` for when the script is not on the path. Two things it does without the command line."""

import sys

from bitten import __version__


def main() -> None:
    """A script that asks for the version waits for nothing that it doesn't need, nor does an agent that starts our server."""
    if sys.argv[1:] == ["--version"]:
        print(__version__)
        return
    if sys.argv[1:2] == ["mcp"]:
        from bitten.interfaces.mcp.__main__ import main as serve  # noqa: PLC0415 - as said above
        from bitten.interfaces.mcp.__main__ import root_in  # noqa: PLC0415 - as said above

        root = root_in(sys.argv[2:])
        if root is not None:
            sys.exit(serve(root))
    from bitten.interfaces import cli  # noqa: PLC0415 - as said above

    cli.main()


if __name__ == "__main__":
    main()
