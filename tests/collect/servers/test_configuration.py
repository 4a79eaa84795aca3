"""Plans as text, counts, and refusals with their reason."""

from __future__ import annotations

import pytest

from mlperf.collect.servers.configuration import check_configuration, configuration_from
from mlperf.collect.servers.net import Net
from mlperf.core.errors import UsageError


def test_a_plan_goes_through_its_text() -> None:
    table = {"cnn": "a", "plan": "2x3x1/1x1x2", "n_replicas": 2, "n_servers": 3, "exchange": "synchronous", "minibatch_size": 6}
    configuration = configuration_from(table)
    assert configuration.to_dict() == table
    assert (configuration.n_workers, configuration.n_ranks) == (6, 15)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"plan": "1x1x1"}, "plans of 1 layers, expected 2"),
        ({"plan": "13x1x1/1x1x1"}, "13 stripes of fc1, expected at most its 12 rows"),
        ({"plan": "1x1x3/1x1x1"}, "3 threads in fc1 on 2 cores"),
        ({"plan": "1x5x1/1x1x1"}, "mini-batch of 16 for 5 copies x 1 threads of fc1"),
        ({"n_replicas": 2}, "2 replicas without a server"),
        ({"exchange": "sometimes"}, "got exchange 'sometimes'"),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(dense: Net, changed: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_configuration(configuration_from({"cnn": "a", "plan": "1x1x1/1x1x1", **changed}), dense, 2, emulated=False)


@pytest.mark.parametrize("table", [{"cnn": "a", "plan": "1x1"}, {"cnn": "a", "plan": "1x0x1"}])
def test_texts_that_are_no_plan(table: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="expected three counts a layer"):
        configuration_from(table)


def test_unknown_and_missing_keys() -> None:
    for table in ({"plan": "1x1x1"}, {"cnn": "a", "plan": "1x1x1", "servers": 1}):
        with pytest.raises(UsageError, match="cnn and plan always"):
            configuration_from(table)
