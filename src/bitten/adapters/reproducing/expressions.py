"""The person's failing expression, statement or function, with the names that it reads bound to values like theirs. Runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .boundary import Boundary, Frame, Spec
from .people import People, Source
from .program import Cant, Needs, Program
from .scope import Scope, enclosing_loop
from .writing import Writer

COPIED = 6
"""Lines of a function of theirs that is copied."""


def expressions(boundary: Boundary, people: People) -> Iterator[Program]:
    """The failing expression, and its statement, in each of the person's frames, innermost first."""
    for frames in _stacks(boundary):
        for target in targets(frames[0], people.source(frames[0].file)):
            yield from _bound(frames, target, people)
        yield from _called(frames, people)


def histories(boundary: Boundary, people: People) -> Iterator[Program]:
    """The failing statement with the statements that made what it reads: once, and in the loop that it stands in."""
    for frames in _stacks(boundary):
        source = people.source(frames[0].file)
        for target in targets(frames[0], source)[-1:]:
            for history in (True, False):
                for loop in (None, enclosing_loop(source, target.node)):
                    yield from _with_history(frames, target, people, history, loop)


def _stacks(boundary: Boundary) -> Iterator[Sequence[Frame]]:
    """Each of the person's frames with its callers. A script's own lines that only call a function of theirs are the command itself."""
    for at in range(len(boundary.own)):
        if at == 0 or boundary.own[at].function != "<module>":
            yield boundary.own[at:]


@dataclass(frozen=True)
class Target:
    """What fails: the node in its file, and what is written of it."""

    node: ast.AST
    written: ast.AST


def targets(frame: Frame, source: Source) -> list[Target]:
    """The expression at the failing position, where Python tells it; then the whole statement."""
    statement = source.statement(frame.line)
    found = []
    expression = _at(source.tree, frame.position)
    if isinstance(expression, ast.expr):
        found.append(Target(expression, expression))
    if statement is not None and (written := _written(statement, source)) is not None:
        found.append(Target(statement, written))
    return found


def _at(tree: ast.AST, position: tuple[int, int, int, int] | None) -> ast.AST | None:
    """The outermost expression that spans exactly a position (first and last line, first and last column)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == position:
            return node
    return None


def _raised(statement: ast.Raise, source: Source) -> ast.AST | None:
    """A raise with the condition that it hangs on; alone it would show nothing."""
    holder = next((each for each in reversed(source.parents(statement)) if isinstance(each, ast.stmt)), None)
    return ast.If(holder.test, [statement], []) if isinstance(holder, ast.If) and statement in holder.body else None


def _written(statement: ast.stmt, source: Source) -> ast.AST | None:  # noqa: PLR0911 - a table of kinds
    """A statement as it can stand alone: a compound one by its head."""
    if isinstance(statement, ast.Raise):
        return _raised(statement, source)
    if isinstance(statement, ast.Return | ast.Expr | ast.AnnAssign):
        return statement.value
    if isinstance(statement, ast.For):
        return ast.For(statement.target, statement.iter, [ast.Pass()], [])
    if isinstance(statement, ast.If | ast.While):
        return statement.test
    if isinstance(statement, ast.With):
        return ast.With(statement.items, [ast.Pass()])
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Try):
        return None
    return statement


def _bound(frames: Sequence[Frame], target: Target, people: People) -> Iterator[Program]:
    """With attributes of objects taken for values by themselves; then with the objects."""
    for loose in (True, False):
        scope = Scope(people, frames)
        try:
            node = _loosened(target.written, frames[0], scope) if loose else target.written
            scope.bind(node, frames[0].line)
            yield scope.program([_text(node)])
        except Cant:
            continue


def _with_history(frames: Sequence[Frame], target: Target, people: People, history: bool,
                  loop: tuple[int, int] | None) -> Iterator[Program]:
    scope = Scope(people, frames, history)
    try:
        scope.bind(target.written, frames[0].line)
        yield scope.program([_text(target.written)], loop)
    except Cant:
        return


def _text(node: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(node))


def _loosened(node: ast.AST, frame: Frame, scope: Scope) -> ast.AST:
    """`self.scale` becomes `scale`, with a value of its own, where that value is known and the name is free."""
    fresh = ast.parse(_text(node)).body[0]
    found = _Attributes(frame, scope).visit(fresh)
    return found.value if isinstance(found, ast.Expr) else found


class _Attributes(ast.NodeTransformer):
    def __init__(self, frame: Frame, scope: Scope) -> None:
        self.frame, self.scope = frame, scope

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value = _attribute(node, self.frame)
        if value is None or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        name = node.attr.lstrip("_") or "value"
        if self.frame.named(name) not in (None, value):
            name = f"{ast.unparse(node.value).replace('.', '_')}_{name}"
        try:
            text = self.scope.writer.text(value)
        except Cant:
            return self.generic_visit(node)
        self.scope.values[name] = ""
        self.scope.made[-1, len(self.scope.made)] = f"{name} = {text}"
        return ast.Name(name, ast.Load())


def _attribute(node: ast.Attribute, frame: Frame) -> Spec | None:
    """What was told of an attribute of an object."""
    if isinstance(node.value, ast.Attribute):
        owner = _attribute(node.value, frame)
    elif isinstance(node.value, ast.Name):
        owner = frame.values.get(node.value.id)
    else:
        return None
    if owner is None:
        return None
    held = owner[5] if owner[0] == "o" else {**owner[4]["attrs"], **owner[4]["parts"]} if owner[0] == "um" else owner[3]["parts"] \
        if owner[0] == "m" else {}
    found: Spec | None = held.get(node.attr)
    return found


def _called(frames: Sequence[Frame], people: People) -> Iterator[Program]:
    """A short function of theirs, copied, and called with arguments like the failing ones; not one that is the whole program."""
    frame = frames[0]
    source = people.source(frame.file)
    is_entry = not frame.arguments and len(frames) > 1 and frames[1].function == "<module>"
    function = source.function_at(frame.first, frame.function) if frame.at_top and not is_entry else None
    if function is None or (function.end_lineno or 0) - function.lineno >= COPIED or isinstance(function, ast.AsyncFunctionDef):
        return
    needs = Needs()
    writer = Writer(people, needs)
    scope = Scope(people, [_without_locals(frame)], needs=needs)
    try:
        scope.bind(function, function.lineno)
        values = [f"{name} = {writer.text(frame.values[name])}" for name in frame.arguments]
    except (Cant, KeyError):
        return
    bare = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(bare, ast.FunctionDef)
    bare.decorator_list = []
    needs.define(ast.unparse(bare))
    shared = [text for _, text in sorted(scope.made.items())]
    yield needs.program([*shared, *values], [f"{frame.function}({', '.join(frame.arguments)})"])


def _without_locals(frame: Frame) -> Frame:
    from dataclasses import replace  # noqa: PLC0415 - once a case

    return replace(frame, values={})
