"""`python -m bitten`: the same command line, for when the script is not on the path."""

from bitten.interfaces.cli import main

if __name__ == "__main__":
    main()
