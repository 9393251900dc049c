"""Runs in the failing program's interpreter: which of some short programs fails like it, and how small that one can be made.

It is called with a job file and a result file, and knows nothing of cases: types, masked messages and last functions are compared.
Python 3.8 or later, standard library only.
"""

# ruff: noqa: PTH120, PTH123, UP035 - it starts fast, and on Python 3.8

from __future__ import annotations

import ast
import copy
import json
import os
import re
import signal
import sys
import time
import traceback
import types
import warnings
from functools import partial
from typing import Any, Callable, Iterator

NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
PATHS = re.compile(r"(?:/[\w.+@-]+){2,}")


Way = Callable[[ast.Module, int], Iterator[ast.Module]]


HARM = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown", "os.system",
        "os.exec", "os.posix_spawn", "os.kill", "subprocess", "shutil.", "socket.connect", "socket.bind")


class TooLong(BaseException):
    """A program ran past its time."""


def masked(message: str) -> str:
    return " ".join(NUMBERS.sub("N", PATHS.sub("PATH", message)).split())[:300]


def shown(code: str, seconds: float) -> Any:
    """What a program shows: its error's type, masked message and last function; None when it ends well."""
    module = types.ModuleType("__main__")
    module.__file__ = "reproducer.py"
    kept, path = sys.modules["__main__"], list(sys.path)
    sys.modules["__main__"] = module
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        exec(compile(code, "reproducer.py", "exec"), module.__dict__)
    except TooLong:
        return ["TooLong", "", ""]
    except BaseException as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        frames = list(traceback.walk_tb(error.__traceback__))
        last, words = frames[-1][0].f_code, text_of(error)
        return [name_of(type(error)), masked(words), "" if last.co_filename == "reproducer.py" else last.co_name, words[:300]]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.modules["__main__"], sys.path[:] = kept, path
    return None


def text_of(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return str(error.msg)  # without the place
    try:
        return str(error)
    except BaseException:
        return ""


def name_of(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ in ("builtins", "__main__") else kind.__module__ + "." + kind.__qualname__


def alike(seen: Any, want: Any) -> bool:
    if seen is None or seen[:2] != want[:2]:
        return False
    return not want[2] or seen[2] == want[2]


class Shrinker:
    """Makes one program smaller as long as it fails alike; its last `fixed` lines lose at most keyword arguments."""

    def __init__(self, code: str, fixed: int, want: Any, seconds: float) -> None:
        self.code, self.want, self.end = code, want, time.monotonic() + seconds
        self.fixed = fixed
        self.tried = {code}

    def smallest(self) -> str:
        if not hasattr(ast, "unparse"):
            return self.code
        changed = True
        while changed and time.monotonic() < self.end:
            ways: list[Way] = [drop_lines, drop_items, drop_keywords, drop_suffixes, smaller_numbers, shorter_texts]
            changed = bool([way for way in ways if self.all_of(way)])
        return self.code

    def all_of(self, way: Way) -> bool:
        """Take each change of a kind that still fails alike; after one the next are looked for anew."""
        changed, going = False, True
        while going and time.monotonic() < self.end:
            going = False
            for tree in way(ast.parse(self.code), self.border()):
                if self.holds(tree):
                    changed = going = True
                    break
                if time.monotonic() > self.end:
                    break
        return changed

    def border(self) -> int:
        """The first line of what is fixed."""
        lines = [number for number, line in enumerate(self.code.splitlines(), 1) if line.strip()]
        return lines[-self.fixed] if 0 < self.fixed <= len(lines) else 10**9

    def holds(self, tree: ast.Module) -> bool:
        code = ast.unparse(ast.fix_missing_locations(tree)).replace("import sys\nsys.path", "import sys; sys.path", 1) + "\n"
        if code in self.tried:
            return False
        self.tried.add(code)
        times = 8 if "rand" in code else 1  # values that are drawn anew may fail by luck
        if not all(alike(shown(code, 2.0), self.want) for _ in range(times)):
            return False
        self.code = code
        return True


def nodes_of(tree: ast.Module) -> list[Any]:
    return list(ast.walk(tree))


def with_change(tree: ast.Module, places: list[int], change: Callable[[Any], object]) -> ast.Module:
    """A copy of a tree with some nodes changed, which are told by their places in the walk."""
    new = copy.deepcopy(tree)
    nodes = nodes_of(new)
    for place in places:
        change(nodes[place])
    return new


def drop_lines(tree: ast.Module, border: int) -> Iterator[ast.Module]:
    """Modules of the person's are known from their first import on, so whether these lines are needed can't be told any more."""
    theirs = "sys.path" in ast.unparse(tree.body[1]) if len(tree.body) > 1 else False
    for at, node in reversed(list(enumerate(tree.body))):
        if theirs and (at < 2 or isinstance(node, (ast.Import, ast.ImportFrom))):
            continue
        if node.lineno < border and len(tree.body) > 1:
            new = copy.deepcopy(tree)
            del new.body[at]
            yield new


def drop_items(tree: ast.Module, border: int) -> Iterator[ast.Module]:
    """Halves of a list, then single items; the entries of a dict; the parts of a Sequential."""
    for place, node in enumerate(nodes_of(tree)):
        if getattr(node, "lineno", border) >= border:
            continue
        length = len(items_of(node))
        for first, last in chunks(length):
            yield with_change(tree, [place], partial(cut, first=first, last=last))


def items_of(node: Any) -> list[Any]:
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return node.elts if not all(isinstance(each, ast.Constant) for each in node.elts) or isinstance(node, ast.List) else []
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("Sequential", "ModuleList", "Compose"):
        return node.args
    return []


def chunks(length: int) -> Iterator[Any]:
    size = max(1, length // 2)
    while length and size >= 1:
        for first in range(length - size, -1, -size):
            yield first, first + size
        size //= 2


def cut(node: Any, first: int, last: int) -> None:
    if isinstance(node, ast.Dict):
        del node.keys[first:last]
        del node.values[first:last]
    else:
        del items_of(node)[first:last]


def drop_keywords(tree: ast.Module, border: int) -> Iterator[ast.Module]:
    """Also in the person's own words: a call that fails alike with fewer arguments says more."""
    for place, node in enumerate(nodes_of(tree)):
        if isinstance(node, ast.Call):
            for at in reversed(range(len(node.keywords))):
                yield with_change(tree, [place], partial(drop_keyword, at=at))


def drop_suffixes(tree: ast.Module, border: int) -> Iterator[ast.Module]:
    """`x.eval()` and `x.permute(1, 0)` become `x`."""
    for place, node in enumerate(nodes_of(tree)):
        if isinstance(node, ast.Assign) and node.lineno < border:
            value = node.value
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Call):
                yield with_change(tree, [place], drop_suffix)


def smaller_numbers(tree: ast.Module, border: int) -> Iterator[ast.Module]:
    """A number is a dimension: it is made smaller wherever it stands, then in one place alone."""
    spots = [(place, node.value) for place, node in enumerate(nodes_of(tree)) if is_number(node) and node.lineno < border]
    for value in sorted({value for _, value in spots}, reverse=True):
        for smaller in (each for each in (1, 2, 3, 4, value // 8, value // 2, value - 1) if 0 < each < value):
            same = [place for place, its in spots if its == value]
            yield with_change(tree, same, partial(set_value, value=smaller))
            if len(same) > 1:
                for each in same:
                    yield with_change(tree, [each], partial(set_value, value=smaller))


def set_value(node: Any, value: Any) -> None:
    node.value = value


def drop_suffix(node: Any) -> None:
    node.value = node.value.func.value


def drop_keyword(node: Any, at: int) -> None:
    del node.keywords[at]


def is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1


def shorter_texts(tree: ast.Module, border: int) -> Iterator[ast.Module]:
    for place, node in enumerate(nodes_of(tree)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 40 and 1 < node.lineno < border:
            for first, last in list(chunks(len(node.value)))[:40]:
                yield with_change(tree, [place], partial(set_value, value=node.value[:first] + node.value[last:]))


def refuse_harm(place: str) -> None:
    """Where no wall stands, a program may write in its own folder alone, start nothing and reach nobody."""

    def hook(event: str, args: Any) -> None:
        if event == "open" and isinstance(args[0], str) and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            name = os.path.realpath(args[0])
            if not name.startswith((place, "/dev/null", "/dev/shm", "/proc/self")):
                raise PermissionError("a reproducer's trial writes nothing: " + name)
        if event.startswith(HARM):
            raise PermissionError("a reproducer's trial may not: " + event)

    sys.addaudithook(hook)


def import_first(programs: Any) -> None:
    """The libraries that are needed: their import is no part of a program's time. The person's own modules are not found from here."""
    for line in dict.fromkeys(line for each in programs for line in each["code"].splitlines()):
        if line.startswith(("import ", "from ")) and "sys.path" not in line:
            try:
                exec(line, {})
            except Exception:  # the program itself will show it
                continue


def main(job_file: str, result_file: str) -> None:
    with open(job_file, encoding="utf-8") as file:
        job = json.load(file)
    warnings.simplefilter("ignore")

    def too_long(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, too_long)
    results = os.open(result_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    sys.path[:1] = []  # this file's own folder
    if not job["walled"]:
        refuse_harm(os.path.realpath(os.path.dirname(job_file)))
    import_first(job["programs"])
    for at, each in enumerate(job["programs"]):
        begun = time.monotonic()
        seen = shown(each["code"], job["seconds"])
        found = {"at": at, "seen": seen, "seconds": time.monotonic() - begun}
        want = job["want"] if not each["loose"] else [*job["want"][:2], ""]
        if alike(seen, want):
            found["code"] = each["code"]
            os.write(results, (json.dumps(found) + "\n").encode())  # should the shrinking not end, this one is found
            found["code"] = Shrinker(each["code"], each["fixed"], want, job["shrink"]).smallest()
            os.write(results, (json.dumps(found) + "\n").encode())
            break
        os.write(results, (json.dumps(found) + "\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # threads and atexit functions of whatever was imported are not waited for
