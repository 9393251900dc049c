# ruff: noqa: UP031, PTH104, PTH116, PTH123, PLC0415, SIM105 - it must parse and start on any Python, 2.7 included
"""The guest's door: found by `site` through PYTHONPATH, loads the hook, and lets the sitecustomize that we shadow run. Knows no record."""
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in comments


def _boot():
    # type: () -> None
    here = __file__.rpartition("/")[0]
    try:
        _invite(here)
    except Exception:  # a stranger's process starts as if we weren't there, whatever happens to us
        pass
    sys.path[:] = [entry for entry in sys.path if entry != here]
    _let_the_shadowed_one_run()


def _invite(here):
    # type: (str) -> None
    import os

    if sys.version_info >= (3, 8) and (os.environ.get("BITTEN_SPOOL") or os.environ.get("BITTEN_SPOOLS")):
        _load(here, "_bitten_hook").install(here, lambda name: _load(here, name))


def _let_the_shadowed_one_run():
    # type: () -> None
    mine = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401 - not ourselves: we left the path. Its errors are site's
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
        if mine is not None:
            sys.modules["sitecustomize"] = mine


def _load(here, name):
    # type: (str, str) -> Any
    """Our own module, through our own byte-code cache: PYTHONDONTWRITEBYTECODE or a read-only install then cost nothing."""
    if name not in sys.modules:
        source = "%s/%s.py" % (here, name.replace(".", "/"))
        module = type(sys)(name)
        module.__file__ = source
        code = _code(source, name)
        sys.modules[name] = module
        try:
            exec(code, module.__dict__)
        except Exception:
            del sys.modules[name]
            raise
    return sys.modules[name]


def _code(source, name):
    # type: (str, str) -> Any
    import marshal
    import os

    folder = os.environ.get("BITTEN_CACHE")
    if not folder:
        return _compiled(source)
    seen = os.stat(source)
    kept = "%s/%s-%s-%d-%d.bin" % (folder, name, sys.implementation.cache_tag, int(seen.st_mtime * 1000), seen.st_size)
    try:
        with open(kept, "rb") as file:
            return marshal.loads(file.read())
    except Exception:  # not kept yet, or torn
        code = _compiled(source)
    try:
        with open("%s.%d" % (kept, os.getpid()), "wb") as file:
            file.write(marshal.dumps(code))
        os.rename("%s.%d" % (kept, os.getpid()), kept)
    except Exception:  # no cache, no harm
        pass
    return code


def _compiled(source):
    # type: (str) -> Any
    with open(source, "rb") as file:
        return compile(file.read(), source, "exec", dont_inherit=True)


if __name__ == "sitecustomize":  # the back door (native.c) takes only what it needs
    _boot()
