"""Write reference/characteristics.md: what each kind of workload characteristics is worth on the open sweep of contraction kernels.

Run it where MLPERF_SHARED_DATA names the folder of the open data: ``python docs/make_kernel_study.py`` (minutes).
"""

from __future__ import annotations

from pathlib import Path

from mlperf.report.figures.figures import save_figure
from mlperf.report.figures.kernel_plots import operations_by_pattern, times_by_pattern
from mlperf.report.pages.kernel_study import section_lines, study_sections
from mlperf.studies.kernels import choose_setting, read_all_kernels, study_kernels

HERE = Path(__file__).parent
INTRODUCTION = """\
# What workload characteristics are worth

The statistical-learning paper (Ogata, Trouvé, Maki, Clarke, Murakami) promises performance from four kinds of characteristics:
SWC-S and SWC-O (static, of source and of object code), DWC-B and DWC-O (dynamic, of a finished run and of a stream), and shows
one, with adjusted R² 0.94 on the rows that it was fitted on. This page asks what each is worth on rows that a model had not
seen. `docs/make_kernel_study.py` writes it from the open sweep of an EPYC of family 25 and, for a second machine, from the
bundled `contraction-epyc` of family 26; the same tables for any campaign or table:

```console
$ mlperf collect contraction -o contractions
$ mlperf kernels study contractions --html study.html
$ mlperf kernels train contractions -o kernels.json
$ mlperf kernels predict kernels.json --pattern ij-jlk-kil --size 100 --code k_ij_jlk_kil.s
```

SOURCE is a folder, a CSV file (`pattern`, `N`, `time_mean_s`; counts `cnt_*` and `in_*` where they are known), or a shipped
name; several of them together make one table, so that two machines can be compared. Loop nests that are no contractions:
`mlperf features` and [`mlperf train --join`](../how-to/joined_tables.md). Streams (DWC-O): [online.md](../how-to/online.md).

**How to read the tables.** *In sample* figures are of the rows that chose and fitted the terms; all others are of rows left
out, in folds that keep programs together which differ in names only; terms are chosen inside each fold. R² is of the time per
execution of the innermost statement (at one size: of the time). Ceilings: *of noise*, two runs predicting the other three; *of
twins*, one program measured twice under two names; *of features*, 1 - (squares inside rows of equal features) / (all squares),
which no model of these columns can pass.

**Feature sets.** *swc-o totals*: instructions of the whole function by mnemonic, the paper's. *swc-o inner*: instructions of
the innermost loops by class for each multiplication. *cache model*: predicted misses of each cache at half, one, two and four
times its capacity (real caches do not evict strictly the least recently used line: misses at neighbouring capacities bracket
what happens), in total and by role of the array and kind of stride. *swc-s*: those and the kinds of stride along every loop.
*dwc-b*: six counters of a simulated run.

**Trained models** (`mlperf kernels train`) answer with a 95 % interval from left-out kernels and with two flags: `in_domain`,
and `clipped` where a prediction had to be cut at four times the trained range. The model file is plain JSON.

**Special and general models.** *special*: trained on other kernels of the same build (machine); *general*: on other kernels of
every build; *general, unseen*: on other kernels of the other builds only. Kernels asked for are never among the training rows.
*calibrated*: after one factor from five measured kernels. Over machines the response is in clock cycles where every clock is
known. Where a build or machine was never seen, `in_domain` says so; a model of the source alone cannot know what another
compiler makes of it.

**The published equation** ships as an example (`mlperf kernels equation`): three of its six costs are negative, as happens to
collinear counts; they are no costs of instructions, and on other machines and compilers its times mean nothing.

![Operations per clock cycle by pattern and size](../images/kernel_operations.svg)

![Measured times, and times predicted by a model that saw neither the kernel nor its twin](../images/kernel_times.svg)
"""


def main() -> None:
    """Write the page and its two figures."""
    times = read_all_kernels(["simd_tensor", "contraction-epyc"])
    setting = choose_setting(times, pattern_set="contraction864", build="gcc_O2_sse3_fast", N=100)
    study = study_kernels(times, setting)
    lines = [INTRODUCTION]
    for section in study_sections(study):
        lines += section_lines(section)
    (HERE / "reference" / "characteristics.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    figure = operations_by_pattern(
        study.operations, times.machines[setting.machine].clock_source, build=setting.build, pattern_set=setting.pattern_set
    )
    save_figure(figure, HERE / "images" / "kernel_operations.svg")
    save_figure(times_by_pattern(study.predictions, title=study.best), HERE / "images" / "kernel_times.svg")


if __name__ == "__main__":
    main()
