"""The command line among hostile words, terminals, streams, folders and signals: it shows what it is given,
obeys none of it, and always ends with a sentence and an exit code."""

from __future__ import annotations

import ast
import io
import json
import os
import shlex
import signal
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from rars.cli import console, ending
from rars.cli.console import Styled
from rars.evaluation.tables import Block, Cell, Row, Table

from . import terminal
from .terminal import BITES, HIDDEN, SCRIPTS, environment, python, rars, shell, sound

CLI = Path(console.__file__).parent

# -- words -----------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_categories=())))
def test_nothing_that_is_cleaned_controls_anything(text):
    shown = console.clean(text)
    assert not HIDDEN.search(shown)
    assert not any(unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") for one in shown)
    assert console.clean(shown) == shown


@pytest.mark.parametrize("text", SCRIPTS)
def test_text_of_any_script_is_shown_as_it_is(text):
    assert console.clean(text) == text


@pytest.fixture(params=[20, 80, 400])
def screen(request, monkeypatch):
    """Both streams, as a terminal without colours would get them."""
    written = io.StringIO()
    for name in ("_out", "_err"):
        plain = Console(
            file=written, width=request.param, highlight=False, markup=False, emoji=False
        )
        monkeypatch.setattr(console, name, plain)
    return written


def speak(word: str) -> None:
    """Say the word in every way there is."""
    console.show(word, Path(word.replace("\0", "")), Styled(word, (word, "bold")))
    console.prose(word)
    console.say(word)
    console.complain(word)
    console.table([word, "n"], [[word, Styled((word, "red"))]], title=word, caption=word)
    console.table([word], [[word]], right=[word], bold=[word], whole=[word])
    console.counts(word, [(word, word)])
    console.title(word, word)
    root = console.node(word)
    root.add(Styled((word, "dim"))).add(word)
    console.draw(root)
    rows = (Row((word,), (Cell(word, word, (word, word), "best", "a"),)),)
    console.report(
        Table(word, word, (word,), (word,), (Block(rows, word),), word, ((word, 1),), word)
    )
    with console.tell.stage(word) as advance:
        advance(1, 2)
    with console.training() as tell, tell.stage(word), tell.watching(word) as move:
        tell.note(word, {"progress": 0.5, "pairs_per_second": 1.0, word: 0.5})
        move(1, 2, Styled(word))
        tell.say(word)


@pytest.mark.parametrize("word", BITES)
def test_no_word_reaches_the_terminal_as_a_command(word, screen):
    speak(word)
    shown = screen.getvalue()
    assert not HIDDEN.search(shown)
    assert not any(line.startswith("rars: another") for line in shown.splitlines())


def test_a_table_too_wide_for_the_terminal_comes_in_parts_with_every_number(screen):
    cells = tuple(Cell(f"{n}.25", interval=(f"{n}.11", f"{n}.33")) for n in range(12))
    names = tuple(f"measure@{n}" for n in range(12))
    rows = (Row(("system",), cells),)
    console.report(Table("t", "Title", ("of",), names, (Block(rows),), "Caption", (("all", 12),)))
    shown = screen.getvalue()
    for n in range(12):
        assert f"{n}.25" in shown
        assert f"{n}.11–{n}.33" in shown
        assert f"measure@{n}" in shown
    assert shown.count("Title") == shown.count("Caption") == 1


def test_markup_and_emoji_names_are_shown_as_they_are(screen):
    console.show(BITES[-1], Styled((BITES[-1], "bold")))
    assert screen.getvalue().splitlines() == [BITES[-1]] * 2


@pytest.mark.parametrize("word", BITES)
def test_bars_of_a_real_terminal_obey_no_word(word, monkeypatch):
    written = io.StringIO()
    live = Console(file=written, force_terminal=True, width=120, color_system=None)
    monkeypatch.setattr(console, "_err", live)
    with console.training() as tell, tell.stage(word):
        tell.note(word, {"progress": 0.5, "pairs_per_second": 1.0, word: 0.5})
        live.print("")
    shown = written.getvalue()
    for bite in ("\x1b]", "\x1b[31m", "\x9b", "\x07", "\x08", "\u202e", "\u2028"):
        assert bite not in shown


def test_a_stage_inside_a_stage_is_a_row_of_the_same_display(monkeypatch):
    live = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(console, "_err", live)
    with (
        console.tell.watching("runs"),
        console.training() as tell,
        tell.stage("outer"),
        tell.stage("inner"),
    ):
        bars = tell._bars
        assert bars is not None
        assert [task.description for task in bars.tasks] == ["runs", "outer", "inner"]
    assert console.tell._bars is None


# -- nobody else speaks ----------------------------------------------------------------------------


def spoken(tree: ast.AST) -> list[str]:
    """What a module does to speak for itself."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names if one.name.split(".")[0] == "rich"]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rich":
            found.append(str(node.module))
        elif isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            last = name.split(".")[-1]
            if name == "print" or last in ("echo", "secho", "write", "writelines"):
                found.append(name)
        elif isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if name in ("sys.stdout", "sys.stderr", "console._out", "console._err"):
                found.append(name)
    return found


@pytest.mark.parametrize("path", sorted(CLI.rglob("*.py")), ids=lambda p: p.stem)
def test_only_the_console_speaks(path):
    found = spoken(ast.parse(path.read_text(encoding="utf-8")))
    if path.stem == "ending":  # it opens and flushes the streams
        found = [name for name in found if not name.startswith("sys.std")]
    assert path.stem == "console" or not found


def test_a_module_that_speaks_for_itself_is_noticed():
    for line in (
        "print(title)",
        "import rich.table",
        "from rich.text import Text",
        "typer.echo(title)",
        "sys.stdout.write(title)",
        "console._out.print(title)",
    ):
        assert spoken(ast.parse(line)), line


def test_inside_the_console_every_text_is_cleaned():
    """Rich's texts are made in one function, and the two consoles print in one place each."""
    tree = ast.parse((CLI / "console.py").read_text(encoding="utf-8"))
    printed = []
    for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
        for node in (n for n in ast.walk(function) if isinstance(n, ast.Call)):
            name = ast.unparse(node.func)
            assert name != "Text" or not node.args, f"{function.name} makes a text of its own"
            if name.startswith(("_out.", "_err.")):
                printed.append((function.name, name))
    assert printed == [("say", "_err.print"), ("_print", "_out.print")] or printed == [
        ("_print", "_out.print"),
        ("say", "_err.print"),
    ]


# -- JSON ------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@given(JSON)
def test_json_is_one_line_of_ascii_whatever_is_in_it(value):
    written = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", written)
        console.emit({"value": value}, True, lambda: None)
    line = written.getvalue()
    assert line.endswith("}\n")
    assert all(" " <= one <= "~" for one in line[:-1])

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    json.loads(line, parse_constant=refuse)


def test_what_is_no_number_in_json_is_null(capsys):
    payload = {"a": float("nan"), "b": [float("inf"), (1.5, {"c": -float("inf")})]}
    console.emit(payload, True, lambda: None)
    found = json.loads(capsys.readouterr().out)
    assert found | {"peak_memory": 0} == {
        "a": None,
        "b": [None, [1.5, {"c": None}]],
        "peak_memory": 0,
    }


# -- help ------------------------------------------------------------------------------------------

COMMANDS = dict(terminal.commands())
LEAVES = {words: one for words, one in COMMANDS.items() if not hasattr(one, "commands")}
WITH_EXAMPLE = [*LEAVES, ("recipes",)]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_says_what_it_is_and_what_each_option_does(words):
    command = COMMANDS[words]
    summary = (command.help or "").strip().split("\n\n")[0]
    assert 10 <= len(summary) <= 110
    assert "\n" not in summary
    assert summary.endswith(".")
    assert all(one.help for one in command.params)


@pytest.mark.parametrize("words", WITH_EXAMPLE, ids=" ".join)
def test_the_example_of_every_command_parses(words):
    (line,) = (
        line.strip() for line in (COMMANDS[words].help or "").splitlines() if "Example:" in line
    )
    program, *rest = shlex.split(line.removeprefix("Example: "))
    assert program == "rars"
    assert tuple(rest[: len(words)]) == words
    COMMANDS[words].make_context("rars", rest[len(words) :])


def test_a_mistyped_command_or_option_is_met_with_the_nearest():
    for words, nearest in (
        (["serach"], "'search'"),
        (["data", "chekc"], "'check'"),
        (["search", "run", "x", "--explian"], "--explain"),
    ):
        with pytest.raises(ending.UsageError) as found:
            COMMANDS[()].main(words, standalone_mode=False)
        assert nearest in found.value.format_message()


def test_the_help_imports_nothing_heavy():
    heavy = {"torch", "numpy", "pyarrow", "pydantic", "transformers", "matplotlib", "rars.pipeline"}
    code = f"import sys, rars.cli; sys.exit(str({heavy!r} & set(sys.modules) or ''))"
    done = python("-P", "-c", code)
    assert done.stderr.strip() == b""


# -- circumstances ---------------------------------------------------------------------------------

ENVIRONMENTS: dict[str, dict[str, str | None]] = {
    "LANG=C, dumb": {"LANG": "C", "LC_ALL": None, "TERM": "dumb", "NO_COLOR": "1"},
    "POSIX": {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    "ASCII": {"PYTHONIOENCODING": "ascii"},
    "narrow, colours": {"COLUMNS": "20", "TERM": "xterm-256color", "FORCE_COLOR": "1"},
    "wide, no HOME": {"COLUMNS": "400", "HOME": None, "XDG_CACHE_HOME": None},
    "nonsense": {"COLUMNS": "many", "TERM": "", "LANG": "tlh_QO.KLINGON", "HOME": ""},
    "HOME=/dev/null": {"HOME": "/dev/null", "XDG_CACHE_HOME": None},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_command_helps_and_refuses_in_every_environment(name, tmp_path):
    env = environment(**ENVIRONMENTS[name])
    result = tmp_path / "codes.json"
    done = python(terminal.__file__, result, "--help", "--nonsense", env=env, cwd=tmp_path)
    sound(done, 0)
    codes = json.loads(result.read_text(encoding="utf-8"))
    for word, code in (("--help", 0), ("--nonsense", 2)):
        assert codes[word] == {" ".join(one): code for one in COMMANDS}
    assert done.stdout.count(b"Usage") == done.stderr.count(b"rars: ") == len(COMMANDS)


@pytest.mark.parametrize("name", ["POSIX", "ASCII", "nonsense", "HOME=/dev/null"])
def test_a_result_in_every_environment(name, tmp_path):
    env = environment(**ENVIRONMENTS[name])
    done = rars("recipes", env=env, cwd=tmp_path)
    sound(done, 0)
    assert done.stderr == b""
    done = rars("data", "shop", "店\x1b[31m[/b]", "--size", "tiny", "--json", env=env, cwd=tmp_path)
    if name != "POSIX":  # where Python itself cannot read the name
        sound(done, 0)
        assert done.stdout.isascii()
        assert json.loads(done.stdout)["ok"] is True
        done = rars("data", "check", "店\x1b[31m[/b]", env=env, cwd=tmp_path)
        sound(done, 0)
        assert b"\x1b" not in done.stdout
    else:
        sound(done, 0, 2)


def test_bytes_that_are_no_text_are_refused_in_one_sentence(tmp_path):
    for words in (["inspect", b"run\xff"], ["search", "run", b"caf\xe9"], [b"\xc3\x28"]):
        done = rars(*words, cwd=tmp_path)
        sound(done, 2)
        assert b"is not UTF-8" in done.stderr
        assert done.stderr.count(b"\n") == 1
        assert done.stderr.isascii()


def test_names_that_bite_are_named_harmlessly(tmp_path):
    for word in (BITES[0], BITES[2], BITES[5], BITES[6], BITES[9]):
        name = "".join(one for one in word if one.isprintable() or one < " ").replace("\0", "")
        done = rars("recipes", "show", name, cwd=tmp_path)
        sound(done, 2)
        assert not HIDDEN.search(done.stderr.decode())
        assert sum(line.startswith("rars: ") for line in done.stderr.decode().split("\n")) == 1


def test_a_catalogue_of_words_that_bite_is_searched_and_measured_harmlessly(tmp_path):
    terminal.bitten(tmp_path)
    tables = [f"--{name}={name}.jsonl" for name in ("items", "queries", "judgments")]
    run = "run [/bold] \x1b[31m\u202e"
    lines = [
        ["data", "import", "shop \x07[/x]", *tables],
        ["train", "bm25", "--data", "shop \x07[/x]", "--out", run],
        ["search", run, "mug \x1b]52;c;x\x07", "-k", "20"],
        ["search", run, "mug", "--json"],
        ["evaluate", run],
        ["compare", run, "bm25"],
        ["data", "import", "more", *tables, "--item-column", "title=\x1b[31m"],
        ["inspect", run],
    ]
    result = tmp_path / "codes.json"
    done = python(terminal.__file__, result, json.dumps(lines), cwd=tmp_path)
    sound(done, 0)
    assert json.loads(result.read_text(encoding="utf-8")) == [0] * 6 + [2] * 2
    for shown in (done.stdout.decode(), done.stderr.decode()):
        assert not HIDDEN.search(shown)
    assert "[/bold] [red]" in done.stdout.decode()


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_hurt_nobody(streams, tmp_path):
    for words, code in (("recipes", 0), ("recipes --json", 0), ("--help", 0), ("nonsense", 2)):
        done = shell(f'exec "$PYTHON" -m rars {words} {streams}', cwd=tmp_path)
        sound(done, code)


def test_what_is_printed_to_a_closed_stream_does_not_end_up_in_a_file(tmp_path):
    line = 'exec "$PYTHON" -m rars data shop shop --size tiny >&- 2>&-'
    sound(shell(line, cwd=tmp_path), 0)
    sound(rars("data", "check", "shop", cwd=tmp_path), 0)


@pytest.mark.parametrize("words", ["--help", "recipes", "recipes --json", "recipes show rars"])
def test_a_reader_that_goes_away_ends_it_quietly(words, tmp_path):
    away, stdout = os.pipe()
    os.close(away)
    try:
        done = rars(*words.split(), stdout=stdout, cwd=tmp_path)
    finally:
        os.close(stdout)
    sound(done, 141)
    assert done.stderr == b""


def test_stderr_that_nobody_reads_ends_it_quietly(tmp_path):
    away, stderr = os.pipe()
    os.close(away)
    try:
        done = rars("nonsense", stderr=stderr, cwd=tmp_path)
    finally:
        os.close(stderr)
    sound(done, 2, 141)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("words", ["recipes", "recipes --json"])
def test_a_full_disk_behind_stdout_is_a_sentence(words, tmp_path):
    done = shell(f'exec "$PYTHON" -m rars {words} > /dev/full', cwd=tmp_path)
    sound(done, 2)
    assert done.stderr == b"rars: stdout cannot be written: No space left on device.\n"


def test_a_deleted_current_folder_is_a_sentence(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = shell(f'rmdir "{gone}" && exec "$PYTHON" -m rars inspect run', cwd=gone)
    sound(done, 2)
    assert done.stderr == b"rars: The current folder was deleted; change to another one.\n"


# -- whose code runs -------------------------------------------------------------------------------


@pytest.fixture
def trapped(tmp_path):
    """A folder of modules that would leave a mark if they were imported."""
    folder = tmp_path / "trapped"
    folder.mkdir()
    trap = f"open({str(tmp_path / 'mark')!r}, 'w').close()\n"
    names = ["accelerate", "torch", "numpy", "typer", "rich", "click", "json", "logging", "random"]
    for name in [*names, "sitecustomize_rars", "pyarrow", "pydantic", "rars_plugin"]:
        (folder / f"{name}.py").write_text(trap)
    (folder / "conftest.py").write_text(trap)
    return folder


def test_modules_of_the_current_folder_are_not_imported(trapped):
    for words in (["--help"], ["recipes"], ["data", "shop", "shop", "--size", "tiny"]):
        sound(rars(*words, cwd=trapped), 0)
    assert not (trapped.parent / "mark").exists()


def test_a_rars_of_the_current_folder_is_not_run_by_the_script_or_with_P(trapped, tmp_path):
    (trapped / "rars.py").write_text((trapped / "torch.py").read_text())
    script = tmp_path / "bin" / "rars"
    script.parent.mkdir()
    script.write_text("from rars.cli import main\nmain()\n")
    sound(python(script, "recipes", cwd=trapped), 0)
    sound(python("-P", "-m", "rars", "recipes", cwd=trapped), 0)
    assert not (tmp_path / "mark").exists()


# -- signals and defects ---------------------------------------------------------------------------

DRIVER = """
import sys, time
from pathlib import Path
from rars import artifacts
from rars.cli import app, main

@app.command()
def write(folder: Path, tidying: float = 0.0) -> None:
    with artifacts.writing(folder, kind="test") as draft:
        (draft.folder / "half").write_text("half")
        try:
            print("ready", flush=True)
            time.sleep(60)
        finally:
            print("tidying", flush=True)
            time.sleep(tidying)

@app.command()
def broken() -> None:
    raise ValueError("a \\x1b[31mdefect\\x1b[0m")

@app.command()
def huge() -> None:
    raise MemoryError

@app.command()
def warn() -> None:
    import warnings
    warnings.warn("of a library")
    warnings.warn_explicit("unclosed", ResourceWarning, sys.modules["rars"].__file__, 1, "rars.x")
    warnings.warn_explicit("of ours\\x07", UserWarning, sys.modules["rars"].__file__, 1, "rars.x")

main()
"""


def driven(*words, **more):
    return subprocess.Popen(
        [sys.executable, "-P", "-c", DRIVER, *map(str, words)],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=listening,
        **more,
    )


def listening():
    """Hear Ctrl-C, even where the tests run in the background of a shell, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_with_the_sentence_and_leaves_nothing(number, code, tmp_path):
    process = driven("write", tmp_path / "made", "--tidying", "0.3")
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    assert process.stdout.readline() == b"tidying\n"
    process.send_signal(number)  # impatience while the half-written folder is removed
    _, said = process.communicate(timeout=60)
    assert said.decode() == f"{ending.STOPPED}\n"
    assert process.returncode == code
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_the_shell_ignores_stays_ignored(tmp_path):
    ignore = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    line = f"{ignore} os.execv(sys.executable, [sys.executable, '-P', '-c', {DRIVER!r}, *sys.argv[1:]])"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", line, "write", str(tmp_path / "made")],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143


def test_a_defect_shows_its_traceback_without_its_escapes():
    process = driven("broken")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"Traceback" in said
    assert b"\x1b" not in said
    assert rb"a \x1b[31mdefect" in said


def test_too_little_memory_is_a_sentence():
    process = driven("huge")
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (2, b"rars: There is not enough memory for this.\n")


def test_warnings_of_libraries_are_for_programmers_and_ours_are_a_line():
    process = driven("warn")
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, b"rars: of ours\\x07\n")


def test_warnings_come_back_where_they_are_asked_for():
    done = python("-W", "default", "-P", "-c", DRIVER, "warn")
    assert b"of a library" in done.stderr


def test_the_package_raises_no_warning_when_it_is_imported():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        __import__("rars.cli")
