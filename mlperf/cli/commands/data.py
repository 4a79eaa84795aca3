"""``mlperf data``: what data there are, what their columns mean, whether they are right, and how they get in and out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from mlperf.cli.framework.options import output_options
from mlperf.cli.framework.show import Show
from mlperf.cli.framework.values import FOLDER, NEW_FILE, Words
from mlperf.core.errors import DataError, UsageError
from mlperf.specs.templates import SPECIFICATIONS

TABLES = ("sgemm", "kernels", "steps", "updates", "components", "runs", "details", "learning")
OTHER_TABLES = ("histograms", "epochs", "times", "rounds", "cachegrind")
FORMATS = ("gpu_campaign",)

duplicates_option = click.option(
    "--duplicates", type=Words(("error", "keep", "drop")), default="error", help="Rows that equal another one in every cell."
)
gz_option = click.option("--gz", is_flag=True, help="Write tables as .csv.gz.")
force_option = click.option("--force", is_flag=True, help="Overwrite what is there.")


def complete_bundled(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's
    """Names of bundled campaigns that begin like this."""
    from mlperf.datasets import bundled_contractions, bundled_names

    return [CompletionItem(name) for name in (*bundled_names(), *bundled_contractions()) if name.startswith(incomplete)]


@click.group(epilog="Example: mlperf data list")
def data() -> None:
    """List, describe, check, export and import measurement tables."""


@data.command("list", epilog="Example: mlperf data list --json")
@output_options
def list_command(show: Show) -> None:
    """List the bundled campaigns, and the open data where MLPERF_SHARED_DATA names their folder."""
    from mlperf.datasets import list_data

    show(list_data())


@data.command(epilog="Example: mlperf data columns kernels")
@click.argument("table", type=Words((*TABLES, *OTHER_TABLES)), required=False)
@output_options
def columns(table: str | None, show: Show) -> None:
    """Print the data dictionary: every column of TABLE with unit, bounds and meaning.

    Without TABLE all columns of campaigns of networks; histograms and epochs are further tables of the asynchronous trainer, times,
    rounds and cachegrind those of campaigns of contractions.
    """
    from mlperf.datasets import describe_columns

    show(describe_columns(table))


@data.command(
    epilog="""\b
Examples:
  mlperf data check campaign/
  mlperf data check campaign/kernels.csv
  mlperf data check times.csv --target time_ms --na drop
"""
)
@click.argument("path", metavar="DIR|FILE|NAME", shell_complete=complete_bundled)
@click.option("--target", metavar="COLUMN", help="Column to predict, for a table that is not of the dictionary.")
@click.option("--na", type=Words(("error", "drop")), default="error", help="Rows with missing cells, in such a table.")
@duplicates_option
@output_options
def check(path: str, target: str | None, na: str, duplicates: str, show: Show) -> int:
    """Check a campaign or a table; print every file's first problem (exit 3), or how many rows are well."""
    from mlperf.datasets import check_data

    found = check_data(path, target=target, duplicates=duplicates, na=na)
    if found.is_valid or show.settings.as_json:
        show(found, data_sha256={found.path.name: found.sha256} if found.is_valid else None)
    else:
        # As errors read, not as a table: a folded place could neither be copied nor searched for.
        click.echo("\n".join(map(str, found.problems)))
    return 0 if found.is_valid else DataError.exit_code


@data.command(
    epilog="""\b
Examples:
  mlperf data template steps
  mlperf data template updates -o updates.csv
  mlperf data template machine -o my-cluster.toml
"""
)
@click.argument("table", type=Words((*TABLES, *SPECIFICATIONS)))
@click.option("-o", "--output", type=NEW_FILE, help="File to write instead of stdout.")
@force_option
@output_options
def template(table: str, output: Path | None, force: bool, show: Show) -> None:
    """Print a header and example rows of TABLE to start from, or a TOML file with every key.

    stderr says which columns a file may leave out.
    """
    from mlperf.core.files import write_text_whole
    from mlperf.datasets import table_template

    made = table_template(table)
    if output is not None:
        if output.is_file() and not force:
            raise UsageError("exists already", place=str(output), hint="Name another file, or say --force to overwrite it.")
        write_text_whole(output, made.text)
        show.note(f"template written to {output}")
    elif show.settings.as_json:
        show(made)
    else:
        click.echo(made.text, nl=False)
    if made.optional and not show.settings.as_json:
        may_lack = ", ".join(f"{name} ({words})" for name, words in made.optional.items())
        show.note(f"required: {', '.join(made.required)}; a file may leave out, and its rows then hold: {may_lack}")


@data.command(
    epilog="""\b
Example (NAME as mlperf data list prints it):
  mlperf data export NAME my-campaign
"""
)
@click.argument("name", shell_complete=complete_bundled)
@click.argument("folder", metavar="DIR", type=FOLDER)
@gz_option
@force_option
@output_options
def export(name: str, folder: Path, gz: bool, force: bool, show: Show) -> None:
    """Copy the bundled campaign NAME to the folder DIR; never over existing files without --force."""
    from mlperf.datasets import export_campaign

    show(export_campaign(name, folder, gz=gz, force=force))


def import_gpu_campaign(*args: Any, **kwargs: Any) -> Any:
    """Import of the format ``gpu_campaign``."""
    from mlperf.datasets import import_gpu_campaign as read

    return read(*args, **kwargs)


IMPORTERS: dict[str, Callable[..., Any]] = {"gpu_campaign": import_gpu_campaign}


@data.command("import", epilog="Example: mlperf data import gpu_campaign seed1/ seed2/ -o campaign/")
@click.argument("source_format", metavar="FORMAT", type=Words(FORMATS))
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=FOLDER, help="Folder of the new campaign.")
@gz_option
@force_option
@output_options
def import_command(source_format: str, folders: tuple[Path, ...], output: Path, gz: bool, force: bool, show: Show) -> None:
    """Convert measurements of another FORMAT to a campaign; each DIR is one round.

    gpu_campaign: CSV files of SGEMM, kernels, library layers, steps and copies in milliseconds, with cnns.json and meta.json.
    """
    show(IMPORTERS[source_format](folders, output, gz=gz, force=force))
