"""Reads the source: no new line of code goes round the sanitiser, as far as reading can tell.

What it holds shut: the command line writes through `cli/output.py` alone; nothing else writes to a
standard stream; in the chat no widget is made that reads markup, and what becomes a `Text` is a
constant or has been through `for_display`. What it can't see: text that is unsafe by the time it
reaches a name. For that there are the tests that draw.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*(ROOT / "botpsy_tui").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")])
COMMAND_LINE = [path for path in SOURCES if "botpsy_tui/cli/" in path.as_posix()]
CHAT = [path for path in SOURCES if "botpsy_tui/tui/" in path.as_posix()]

WRITERS = {"print", "typer.echo", "typer.secho", "typer.style", "click.echo", "rich.print"}
STREAMS = {"sys.stdout.write", "sys.stderr.write", "sys.__stdout__.write", "os.write"}
QUESTIONS = {"typer.prompt", "typer.confirm"}
MAY_WRITE = {"botpsy_tui/cli/output.py", "botpsy_tui/models/terminal_progress.py"}
OTHER_FILES = {"botpsy_device/shell/running.py": {"os.write(descriptor, program)"}}
"""Writes that go to no terminal: the sandbox's filter, into a file in memory."""

CLEAN = {"for_display", "for_display_line", "crash_report"}
"""What gives text that is safe to draw."""
READS_MARKUP = {"Static", "Label", "OptionList", "SelectionList", "notify", "Toast", "RichLog"}
"""What parses markup unless it is told not to."""
KNOWN_WIDGETS = READS_MARKUP | {
    *("Button", "Collapsible", "DataTable", "Input", "Markdown", "ProgressBar", "Switch", "TextArea", "Rule")
}
DRAWN_ATTRIBUTES = {
    "border_title",
    "border_subtitle",
    "tooltip",
    "placeholder",
    "title",
    "sub_title",
    "label",
}


def name_of(node: ast.expr) -> str:
    return ast.unparse(node)


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def places(paths: list[Path]) -> list[object]:
    return [pytest.param(path, id=path.relative_to(ROOT).as_posix()) for path in paths]


def is_clean(node: ast.expr, known: dict[str, ast.expr]) -> bool:
    """Say whether an expression is a constant, a number or sanitised text, or made of those."""
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name.isupper() or (name in known and is_clean(known[name], {}))
        case ast.Call(func=ast.Attribute(value=value, attr="replace" | "strip" | "ljust")):
            return is_clean(value, known)
        case ast.Call(func=function):
            return name_of(function) in CLEAN
        case ast.JoinedStr(values=values):
            return all(is_clean(value, known) for value in values)
        case ast.FormattedValue(value=value, format_spec=spec):
            return spec is not None or is_clean(value, known)  # a number's format takes no text
        case ast.BinOp(left=left, right=right, op=ast.Add()):
            return is_clean(left, known) and is_clean(right, known)
        case ast.IfExp(body=body, orelse=orelse):
            return is_clean(body, known) and is_clean(orelse, known)
        case ast.Tuple(elts=[text, *_style]):
            return is_clean(text, known)
    return False


def once_assigned(function: ast.AST) -> dict[str, ast.expr]:
    """Return the names that a function assigns exactly once, with what they are assigned."""
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


@pytest.mark.parametrize("path", places(SOURCES))
def test_only_one_file_of_the_command_line_writes(path: Path) -> None:
    if path.relative_to(ROOT).as_posix() in MAY_WRITE:
        return
    known = OTHER_FILES.get(path.relative_to(ROOT).as_posix().removeprefix("plugins/"), set())
    for call in calls(ast.parse(path.read_text())):
        if ast.unparse(call) not in known:
            assert name_of(call.func) not in WRITERS | STREAMS, (
                f"{path.name}:{call.lineno}: use cli/output.py"
            )


@pytest.mark.parametrize("path", places(COMMAND_LINE))
def test_what_the_command_line_asks_is_sanitised(path: Path) -> None:
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            known = once_assigned(function)
            for call in calls(function):
                if name_of(call.func) in QUESTIONS:
                    place = f"{path.name}:{call.lineno}"
                    assert is_clean(call.args[0], known), f"{place}: for_display_line is missing"


@pytest.mark.parametrize("path", places(CHAT))
def test_no_widget_reads_markup_and_no_link_opens(path: Path) -> None:
    tree = ast.parse(path.read_text())
    for call in calls(tree):
        function, place = name_of(call.func).rpartition(".")[2], f"{path.name}:{call.lineno}"
        options = {keyword.arg: keyword.value for keyword in call.keywords}
        if function in READS_MARKUP:
            assert name_of(options.get("markup", ast.Constant(None))) == "False", f"{place}: markup=False"
        if function == "Markdown":
            assert name_of(options.get("open_links", ast.Constant(None))) == "False", place
            assert "parser_factory" in options, f"{place}: use inert_parser"
        assert function != "from_markup", f"{place}: nothing is parsed as markup"
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "textual.widgets":
            unknown = {alias.name for alias in node.names} - KNOWN_WIDGETS
            assert not unknown, f"{path.name}: how does {unknown} draw text? Add it here once that is known."


@pytest.mark.parametrize("path", places(CHAT))
def test_what_the_chat_draws_is_a_constant_or_sanitised(path: Path) -> None:
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        known = once_assigned(function)
        for call in calls(function):
            place = f"{path.name}:{call.lineno}: {ast.unparse(call)}"
            match name_of(call.func):
                case "Text" | "Button" | "CardButton" | "Option":
                    assert all(is_clean(text, known) or _is_text(text, known) for text in call.args[:1]), (
                        place
                    )
                case "Text.assemble":
                    assert all(is_clean(text, known) or _is_text(text, known) for text in call.args), place
                case _:
                    pass
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Attribute(attr=attribute)], value=value):
                    assert attribute not in DRAWN_ATTRIBUTES or is_clean(value, known), (
                        f"{path.name}:{node.lineno}"
                    )
                case _:
                    pass


def _is_text(node: ast.expr, known: dict[str, ast.expr]) -> bool:
    """Say whether an expression is a `Text`, whose making is checked where it is made."""
    made = known.get(node.id) if isinstance(node, ast.Name) else node
    return isinstance(made, ast.Call) and name_of(made.func) in ("Text", "Text.assemble")


@pytest.mark.parametrize(
    "code",
    [
        "Text(mail.subject)",
        "Text(f'From {name}')",
        "Text.assemble((title, 'bold'))",
        "Text('a' + for_model(x))",
    ],
)
def test_the_reading_finds_what_is_not_sanitised(code: str) -> None:
    call = next(calls(ast.parse(code)))
    assert not all(is_clean(text, {}) for text in call.args)
