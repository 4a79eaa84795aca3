"""What the mode says, and requests that contradict themselves."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from mlperf.collect.servers.configuration import configuration_from
from mlperf.collect.servers.request import EmulatedNetwork, ServersRequest, check_request
from mlperf.core.errors import UsageError

ONE = (configuration_from({"cnn": "digits-fc", "plan": "1x1x1/1x1x1/1x1x1"}),)


def test_the_mode_says_what_was_waited_for_and_the_link_is_slowed_down() -> None:
    assert ServersRequest(Path(), ONE).mode == "real"
    request = ServersRequest(Path(), ONE, waits=("network", "compute"), network=EmulatedNetwork(1e-6, 2e-6, 1e9), time_scale=50.0)
    assert request.mode == "emulated compute+network x50"
    assert request.link == pytest.approx((5e-5, 1e-4, 5e-8))
    assert ServersRequest(Path(), ONE, waits=("compute",)).link == ()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"waits": ("disk",)}, "got 'disk' to wait for"),
        ({"configurations": ()}, "got no configuration"),
        ({"configurations": ONE * 2}, "got a configuration twice"),
        ({"minibatches": 1}, "expected more than 1 mini-batches"),
        ({"time_scale": 0.0}, "got time scale 0, expected numbers above 0"),
        ({"cnns": {}}, "got the network 'digits-fc'"),
        ({"network": EmulatedNetwork(-1.0)}, "expected latency >= 0"),
        ({"network": EmulatedNetwork(math.nan)}, "expected latency >= 0 and bandwidth > 0, both finite"),
        ({"network": EmulatedNetwork(bytes_per_s=math.inf)}, "both finite"),
        ({"learning_rate": math.nan}, "above 0, and finite"),
        ({"time_scale": math.inf}, "above 0, and finite"),
    ],
)
def test_contradictions_are_named(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_request(ServersRequest(**{"out": Path(), "configurations": ONE, **changed}))
