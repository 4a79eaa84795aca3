"""The command line as a process: what it imports, what it says, how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec

import click
import pytest

from mlperf import __version__
from mlperf.cli.framework.failures import BROKEN_PIPE, FAULT, exit_code
from mlperf.cli.framework.process import EndRequests, ended_like_ctrl_c
from mlperf.cli.framework.show import Settings
from mlperf.cli.main import COMMANDS, cli, main
from mlperf.core.errors import DataError, DomainError, FitError, InterruptedRun, MissingExtraError, MlperfError, UsageError

HEAVY = ("numpy", "scipy", "pandas", "sklearn", "statsmodels", "matplotlib", "rich", "torch")
SPYING = f"""
import sys, atexit
atexit.register(lambda: print(sorted(set(sys.modules) & set({HEAVY!r})), file=sys.stderr))
from mlperf.cli.main import main
main()
"""


def run(*words: str, code: str = "from mlperf.cli.main import main; main()") -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False, timeout=60)


def test_help_imports_nothing_heavy() -> None:
    done = run("--help", code=SPYING)
    assert done.returncode == 0
    assert done.stderr.strip() == "[]"
    for name, command in COMMANDS.items():
        assert name in done.stdout
        assert command.summary in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_imports_nothing_heavy(name: str) -> None:
    done = run(name, "--help", code=SPYING)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == "[]"


def every_command(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    found = []
    with click.Context(group) as ctx:
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            assert command is not None
            found.append(((*path, name), command))
            if isinstance(command, click.Group):
                found += every_command(command, (*path, name))
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_subcommand_shows_an_example_of_itself(name: str) -> None:
    command = COMMANDS[name].load()
    inside = every_command(command, (name,)) if isinstance(command, click.Group) else []
    for path, one in [((name,), command), *inside]:
        assert f"mlperf {' '.join(path)}" in (one.epilog or ""), f"no example in the help of {' '.join(path)}"
        assert one.help


def test_the_table_names_every_command_by_its_own_name() -> None:
    for name, command in COMMANDS.items():
        assert find_spec(command.target.partition(":")[0]), command.target
        assert command.load().name == name


def test_version() -> None:
    assert run("--version").stdout == f"mlperf {__version__}\n"


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    done = run("predct")
    assert done.returncode == 2
    assert "Did you mean 'predict'?" in done.stderr
    assert done.stdout == ""


def test_an_unknown_option_value_is_answered_with_the_nearest() -> None:
    done = run("completion", "fisch")
    assert done.returncode == 2
    assert "fish" in done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_calls_us(shell: str) -> None:
    done = run("completion", shell)
    assert done.returncode == 0
    assert "_MLPERF_COMPLETE" in done.stdout


ENDINGS = [
    (UsageError("a"), 2),
    (DataError("a"), 3),
    (FitError("a"), 4),
    (DomainError("a"), 5),
    (MissingExtraError("a"), 6),
    (InterruptedRun("a"), 130),
    (KeyboardInterrupt(), 130),
    (click.Abort(), 130),
    (click.UsageError("a"), 2),
    (RuntimeError("a"), FAULT),
]


@pytest.mark.parametrize(
    "becomes",
    [RuntimeError("Error calling __set_name__"), TypeError("Cannot compare structured arrays")],
    ids=["while-a-class-is-made", "while-numpy-compares"],
)
def test_ctrl_c_stays_ctrl_c_whatever_it_becomes_on_its_way(becomes: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    with ended_like_ctrl_c() as requests, exit_code(Settings(), requests) as outcome:
        with suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5.0)
        raise becomes
    assert outcome.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_bad_input_met_after_ctrl_c_is_told() -> None:
    with exit_code(Settings(), EndRequests(came=True)) as outcome:
        raise DataError("a")
    assert outcome.code == 3


@pytest.mark.parametrize(
    ("error", "code"), ENDINGS, ids=lambda value: str(value) if isinstance(value, int) else type(value).__name__
)
def test_each_failure_has_its_exit_code(error: BaseException, code: int) -> None:
    with exit_code(Settings(), EndRequests()) as outcome:
        raise error
    assert outcome.code == code


def test_an_error_reads_place_message_hint(capsys: pytest.CaptureFixture[str]) -> None:
    with exit_code(Settings(), EndRequests()):
        raise MlperfError("got '-1', expected seconds > 0", place="steps.csv, line 3, column cpu_s", hint="Measure this row again.")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "steps.csv, line 3, column cpu_s: got '-1', expected seconds > 0\n  hint: Measure this row again.\n"


def test_a_fault_shows_its_traceback_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with exit_code(Settings(), EndRequests()):
        raise ZeroDivisionError("by zero")
    short = capsys.readouterr().err
    assert "Traceback" not in short
    assert "-v" in short
    with exit_code(Settings(verbosity=1), EndRequests()):
        raise ZeroDivisionError("by zero")
    assert "Traceback" in capsys.readouterr().err


def test_a_closed_pipe_ends_quietly() -> None:
    code = "from mlperf.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "completion", "zsh"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        noise = process.stderr.read()
        assert process.wait(timeout=60) == BROKEN_PIPE
    assert noise == b""


def test_main_leaves_with_the_number_a_command_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command("answer")
    def answer() -> int:
        return 1

    monkeypatch.setattr(type(COMMANDS["demo"]), "load", lambda _: answer)
    with pytest.raises(SystemExit) as left:
        main(["demo"])
    assert left.value.code == 1


def test_the_group_is_ours() -> None:
    assert cli.name in {"cli", "mlperf"}
