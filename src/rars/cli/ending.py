"""How a run of the command line ends, whatever happens to it.

Owns: exit codes and last words, signals, and streams that are closed, full or of a narrow encoding.

| what happened                                   | last words on stderr      | exit code   |
| ----------------------------------------------- | ------------------------- | ----------- |
| all is well                                     |                           | 0           |
| a mistake, or a file or disk that refuses       | one sentence              | 2           |
| Ctrl-C, SIGTERM                                 | that it stopped           | 130, 143    |
| a training or an experiment was stopped         | how to go on              | 130         |
| whoever read the output went away               |                           | 141         |
| a defect of ours                                | a traceback               | 1           |
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn, TextIO

import typer

from rars.cli import console
from rars.errors import RarsError, Stopped
from rars.scale.memory import ran_out

# Typer brings its own copy of Click; this is its "the command line is wrong" in any version.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]

STOPPED = "rars: stopped; nothing half-written was left behind."
GRACE = 5.0
"""Seconds in which further Ctrl-Cs leave what the first one interrupted alone: it is tidying up."""


def exit_with(app: typer.Typer) -> NoReturn:
    """Run the command line, and leave the process with the code of its end."""
    _open_streams()
    _quieten_libraries()
    if "_RARS_COMPLETE" in os.environ:  # a shell asks for completions
        app(prog_name="rars")
    with _signals() as received:
        try:
            code = _run(app, received)
        except KeyboardInterrupt:  # while the last words were spoken
            code = 130
    sys.exit(_flushed(code))


def _run(app: typer.Typer, received: list[int]) -> int:
    try:
        _check_arguments(sys.argv[1:])
        _check_folder()
        command = typer.main.get_command(app)
        # Not app(): it would turn Ctrl-C and broken pipes into codes of its own.
        with command.make_context("rars", sys.argv[1:]) as context:
            command.invoke(context)
        _flush()
    except BaseException as error:
        return _ended(error, received)
    return 0


def _ended(error: BaseException, received: list[int]) -> int:
    """Say why, and choose the exit code."""
    if received or isinstance(error, KeyboardInterrupt | typer.Abort):
        # Libraries turn an interrupt in the midst of their work into errors of all kinds.
        _last_words(str(error) if isinstance(error, Stopped) else STOPPED, style="")
        return 128 + (received or [signal.SIGINT])[0]
    if isinstance(error, Stopped):
        _last_words(f"rars: {error}", style="")
        return 130
    if _came_of(error, BrokenPipeError):
        return 141
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, UsageError):
        message = getattr(error, "format_message", error.__str__)()
        if message:  # none where the help was asked for by giving no command
            _last_words(message)
        return 2
    if isinstance(error, RarsError):
        _last_words(str(error))
        return 2
    if isinstance(error, OSError) and error.errno is not None:
        place = "" if error.filename is None else f"{error.filename}: "
        _last_words(f"{place}{error.strerror}.")
        return 2
    if ran_out(error):
        _last_words("There is not enough memory for this.")
        return 2
    if isinstance(error, SystemExit) and isinstance(error.code, int | None):
        return error.code or 0
    _last_words("".join(traceback.format_exception(error)).rstrip(), style="")
    return 1


def _last_words(words: str, style: str = "red") -> None:
    # Whoever closed stderr does not want to hear it, and Rich ends the process of a broken pipe.
    with suppress(OSError, SystemExit):
        console.complain(words.removeprefix("rars: "), style)


def _came_of(error: BaseException | None, kind: type[BaseException]) -> bool:
    while error is not None:
        if isinstance(error, kind):
            return True
        error = error.__cause__ or error.__context__
    return False


def _check_arguments(words: list[str]) -> None:
    """Names are kept in JSON and TOML, which cannot hold bytes that are no text."""
    for at, word in enumerate(words, 1):
        try:
            word.encode()
        except UnicodeEncodeError:
            raise RarsError(f"Argument {at}, '{console.clean(word)}', is not UTF-8.") from None


def _check_folder() -> None:
    """Libraries give up in ways of their own, down to ending the process, where there is no folder."""
    try:
        os.getcwd()  # noqa: PTH109 (Path.cwd would be the same)
    except OSError as error:
        raise RarsError("The current folder was deleted; change to another one.") from error


# -- signals ---------------------------------------------------------------------------------------


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM raise ``KeyboardInterrupt``; the numbers of those that came.

    Training and experiments put handlers of their own in place for as long as they can save their work.
    """
    received: list[int] = []
    until = [0.0]

    def stop(number: int, _: Any) -> None:
        if time.monotonic() < until[0]:
            return
        until[0] = time.monotonic() + GRACE
        received.append(number)
        raise KeyboardInterrupt

    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as a shell's "&" and nohup want it
            with suppress(ValueError):  # not in the main thread
                before[number] = signal.signal(number, stop)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# -- streams ---------------------------------------------------------------------------------------


def _open_streams() -> None:
    """Give closed streams to nobody, and show what a stream's encoding lacks as escapes."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Otherwise the next file to be opened gets the number, and what is printed ends up in it.
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or _stream(0, "r")
    sys.stdout = sys.stdout or _stream(1, "w")
    sys.stderr = sys.stderr or _stream(2, "w")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _stream(number: int, mode: str) -> TextIO:
    stream: TextIO = open(number, mode, encoding="utf-8", closefd=False)  # type: ignore[assignment]  # noqa: SIM115
    return stream


def _flush() -> None:
    with console.written("stdout"):
        sys.stdout.flush()


def _flushed(code: int) -> int:
    """The exit code, after what is left to print was printed or given up."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError):  # so that Python's own last flush has somewhere to go
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    return code


# -- warnings --------------------------------------------------------------------------------------

_PACKAGE = str(Path(__file__).parents[1])


def _quieten_libraries() -> None:
    """Warnings of libraries speak to programmers; ``python -W`` and ``PYTHONWARNINGS`` bring them back.

    Those that rars raises are for the person: a line each.
    """
    # Transformers has a handler of its own, for advice on loading pretrained models.
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    # Matplotlib logs where it keeps its cache when the home folder cannot be written.
    if logging.lastResort is not None:
        logging.lastResort.setLevel(logging.ERROR)
    if sys.warnoptions:
        return
    warnings.simplefilter("ignore")
    for kind in (UserWarning, RuntimeWarning):
        warnings.filterwarnings("default", category=kind, module=r"rars(\.|$)")
    plain = warnings.showwarning

    def shown(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if filename.startswith(_PACKAGE):
            console.complain(message, style="yellow")
        else:
            plain(message, category, filename, lineno, file, line)

    warnings.showwarning = shown
