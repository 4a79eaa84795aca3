"""The four small networks on which eqs. 2 and 3 and Table 2 of Oyama et al. were checked."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from mlperf.specs.network.cnn import CnnSpec


class SmallNet(NamedTuple):
    """A network by Table 1's numbers, with what is known about it."""

    input_size: int
    n_maps: tuple[int, ...]
    pools_after: tuple[int, ...]
    n_conv: int
    n_params: int
    n_products: int

    @property
    def spec(self) -> CnnSpec:
        return CnnSpec.from_sprint("small", self.input_size, self.n_maps, self.pools_after, self.n_conv)


FOUR_NETS = (
    SmallNet(14, (3, 4, 5, 6, 7), (2,), 3, 958, 15),
    SmallNet(16, (3, 4, 5, 6, 7, 8), (2, 3), 3, 812, 19),
    SmallNet(12, (3, 4, 5, 6), (1,), 3, 573, 11),
    SmallNet(26, (3, 4, 4, 5, 9), (1, 2), 4, 859, 15),
)


@pytest.fixture(params=FOUR_NETS, ids=lambda net: str(net.n_params))
def small_net(request: pytest.FixtureRequest) -> SmallNet:
    return request.param
