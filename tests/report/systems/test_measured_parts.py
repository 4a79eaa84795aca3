"""Constants and parts as people read them."""

from __future__ import annotations

from planted_constants import planted_model

from mlperf.report.systems.measured_parts import constants_answer, constants_sections, parts_answer, parts_sections
from mlperf.training.systems.parts_model import PartsModel, train_parts
from tests.training.systems.test_step_parts import made_exchange, made_runs


def test_constants_say_where_the_network_comes_from() -> None:
    answer = str(constants_answer(planted_model()))
    assert "network datasheet" in answer
    assert next(section.title for section in constants_sections(planted_model())) == "Constants of a machine"


def test_parts_tell_their_left_out_error() -> None:
    model: PartsModel = train_parts(made_runs((1, 2)), made_exchange())
    assert "measured on 1 to 2 processes" in str(parts_answer(model))
    table = parts_sections(model)[1].frame
    assert table is not None
    assert set(table["component"]) == {"input", "forward", "backward", "optimizer", "step_std"}
