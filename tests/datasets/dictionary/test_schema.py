"""The data dictionary against the tables as they were specified, and its description and templates against itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.datasets import COMPONENT_NAMES, TABLES, describe_columns, read_table, table_schema, table_template
from mlperf.specs import GEMM_KERNELS, MEMORY_KERNELS, CnnSpec, kernel_calls

SAMPLE = "cpu_s wall_s round sequence load reference_s"
SETTING = "run mode cnn n_nodes n_gpus_per_node subbatch_size n_params"
SPRINT_COMPONENTS = (  # Tables 3 and 4 of Oyama et al., in the order of Algorithms 1 and 2
    "lock_weights_gpu_s fetch_weights_s load_image_s deform_image_s compute_gradient_s compute_update_value_s lock_gradient_gpu_s "
    "update_gradient_s lock_gradient_update_s sum_gradient_s update_old_weights_s add_momentum_s allreduce_s update_momentum_s "
    "lock_weights_update_s update_weights_s"
)
HEADERS = {
    "sgemm": f"trans m n k purpose {SAMPLE}",
    "kernels": f"backend cnn subbatch_size kernel layer m n k trans access_bytes {SAMPLE}",
    "steps": f"backend cnn subbatch_size step_s {SAMPLE}",
    "updates": f"operation n_params subbatch_size input_size {SAMPLE}",
    "components": f"{SETTING} {SPRINT_COMPONENTS} fetch_probability ready_probability",
    "runs": f"{SETTING} gpu_iteration_s update_iteration_s mean_minibatch_size epoch_s staleness",
    "details": (
        "run mode seed learning_rate momentum cores_per_worker gpu_work_std_s fetch_weights_std_s update_gradient_std_s "
        "sum_gradient_std_s update_work_std_s update_weights_std_s barrier_wait_s allreduce_payload_s minibatch_std staleness_std "
        "minibatch_ratio n_updates n_updates_counted n_computed n_used n_left overshoot_s overshoot_mean_s shortest_wait_s "
        "overshoot_share overshoot_mean_share load"
    ),
    "learning": (
        "run mode data cnn n_nodes n_gpus_per_node subbatch_size seed learning_rate momentum iteration variation delay most_epochs "
        "mean_minibatch_size staleness"
    ),
}


def test_headers_are_those_of_the_specification() -> None:
    assert {name: " ".join(schema.names) for name, schema in TABLES.items()} == HEADERS


def test_sixteen_components() -> None:
    assert " ".join(f"{name}_s" for name in COMPONENT_NAMES) == SPRINT_COMPONENTS


def test_every_kernel_of_the_engine_has_a_name() -> None:
    assert set(GEMM_KERNELS) | set(MEMORY_KERNELS) <= set(TABLES["kernels"]["kernel"].choices)


@pytest.mark.parametrize("name", list(TABLES))
def test_time_columns_are_seconds_and_none_may_be_negative(name: str) -> None:
    for column in TABLES[name].columns:
        assert (column.unit == "s") == column.name.endswith("_s")
        assert column.lower >= 0
        assert column.doc


@pytest.mark.parametrize("name", list(TABLES))
def test_template_is_a_valid_table(name: str, tmp_path: Path) -> None:
    made = table_template(name)
    path = tmp_path / f"{name}.csv"
    path.write_text(made.text, encoding="utf-8")
    assert len(read_table(path, name)) == len(made.to_frame()) >= 1
    assert made.text.splitlines()[0] == ",".join(TABLES[name].names)
    assert {*made.required, *made.optional} == set(TABLES[name].names)


def test_template_of_a_specification_tells_its_keys() -> None:
    made = table_template("machine")
    assert made.required == tuple(made.to_frame()["key"]) == ("name", "max_nodes", "n_gpus_per_node")


def test_dictionary_describes_every_column() -> None:
    found = describe_columns().to_frame()
    assert list(zip(found["table"], found["column"], strict=True)) == [
        (name, column) for name, schema in TABLES.items() for column in schema.names
    ]
    kernels = describe_columns("kernels").to_frame().set_index("column")
    assert kernels.loc["trans", "empty"] == "empty for a memory kernel"
    assert kernels.loc["access_bytes", "empty"] == "empty for a matrix product"
    assert kernels.loc["cpu_s", "zero"] == "for an absent kernel"
    assert kernels.loc["wall_s", "without"] == "NaN: unknown"
    assert kernels.loc["cpu_s", "without"] == "refused"
    components = describe_columns("components").to_frame().set_index("column")
    assert components.loc["allreduce_s", "zero"] == "for one node"
    assert components.loc["lock_weights_gpu_s", "zero"] == "always"
    assert components.loc["fetch_weights_s", "zero"] == "never"


@pytest.mark.parametrize("kernel", ["dedx-conv", "col2im"])
def test_a_kernel_of_the_way_back_stands_under_the_layer_whose_weights_it_multiplies(kernel: str) -> None:
    """Its inner length is the number of maps of that layer's output, 5; the layer below, which gets the gradient, has 4."""
    cnn = CnnSpec.from_sprint("tiny", 12, [3, 4, 5, 6], pools_after=[1], n_conv=2)
    (call,) = [call for call in kernel_calls(cnn, 1) if call.kernel == kernel]
    assert call.layer == "conv2"
    assert call.k in (5, 0)
    assert "not the layer below" in TABLES["kernels"]["layer"].doc


def test_unknown_table() -> None:
    for ask in (table_schema, table_template, describe_columns):
        with pytest.raises(UsageError, match="got table 'kernel'") as caught:
            ask("kernel")
        assert "'kernels'" in str(caught.value.hint)
