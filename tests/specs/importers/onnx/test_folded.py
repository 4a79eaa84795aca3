"""Batch norms and biases that an exporter took out of the graph, while its metadata tells of them; counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numbered_graph import GraphOfMaps
from onnx import TensorProto, helper, numpy_helper

from mlperf.core.errors import DataError
from mlperf.specs.importers.onnx.constants import SIGNATURE
from mlperf.specs.importers.onnx.folded import FOLDED, RULES, SCOPES
from mlperf.specs.importers.onnx.graph import from_onnx

N_MAPS, N_CLASSES = 6, 5
WEIGHTS, CLASSIFIER = N_MAPS * 3 * 9, N_MAPS * N_CLASSES


class Exported(GraphOfMaps):
    """A convolution with 3 x 3 weights, a mean over all places, a classifier, and what torch writes beside them."""

    def __init__(self, parameters, buffers=(), rules="", conv_bias=None) -> None:
        super().__init__((1, 3, 8, 8))
        for name, dims in (("conv.weight", (N_MAPS, 3, 3, 3)), ("fc.weight", (N_CLASSES, N_MAPS))):
            self.known.append(numpy_helper.from_array(np.zeros(dims, dtype=np.float32), name))
        conv = self.add("Conv", "x", "conv.weight", *([conv_bias(self)] if conv_bias else []), pads=[1, 1, 1, 1])
        if rules:
            for key, value in ((RULES, rules), (SCOPES, "['', 'bn', '_native_batch_norm_legit_no_training']")):
                self.nodes[-1].metadata_props.add(key=key, value=value)
        flat = self.add("Flatten", self.add("GlobalAveragePool", self.add("Relu", conv)))
        self.output = self.add("Gemm", flat, "fc.weight", transB=1)
        kinds = [("PARAMETER", parameters), ("BUFFER", buffers)]
        self.signature = "".join(
            f"\np_{place}: {kind} target='{name}'" for kind, names in kinds for place, name in enumerate(names)
        )

    def found(self, tmp_path):
        value = helper.make_tensor_value_info
        ends = [value("x", TensorProto.FLOAT, self.shape), value(self.output, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "net", ends[:1], ends[1:], self.known)
        graph.metadata_props.add(key=SIGNATURE, value=self.signature)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], producer_name="pytorch")
        (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
        return from_onnx(tmp_path / "net.onnx")


MATRICES = ("conv.weight", "fc.weight")
RULE = f"RemoveOptionalBiasFromConv, {FOLDED}Conv"


def of_file(graph):
    return graph.constant(np.zeros(N_MAPS))


@pytest.mark.parametrize("conv_bias", [None, of_file], ids=["fresh", "trained"])
def test_a_folded_batch_norm_is_a_layer_again(conv_bias, tmp_path):
    found = Exported([*MATRICES, "bn.weight", "bn.bias", "fc.bias"], rules=RULE, conv_bias=conv_bias).found(tmp_path)
    assert [layer.kind for layer in found.layers] == ["conv", "batch_norm", "activation", "pool", "flatten", "fc"]
    assert found.n_params == WEIGHTS + 2 * N_MAPS + CLASSIFIER + N_CLASSES


def test_a_convolution_with_biases_before_a_folded_batch_norm_has_both(tmp_path):
    names = [*MATRICES, "conv.bias", "bn.weight", "bn.bias"]
    found = Exported(names, rules=RULE, conv_bias=of_file).found(tmp_path)
    assert found.n_params == WEIGHTS + 3 * N_MAPS + CLASSIFIER


def test_biases_of_zeros_that_were_dropped_are_counted(tmp_path):
    found = Exported([*MATRICES, "conv.bias", "fc.bias"]).found(tmp_path)
    assert found.n_params == WEIGHTS + N_MAPS + CLASSIFIER + N_CLASSES


def test_zeros_that_a_node_makes_are_no_learnt_biases(tmp_path):
    def computed(graph):
        return graph.add("Expand", "t_zero", np.array([N_MAPS]))

    graph = Exported(MATRICES, conv_bias=computed)
    zero = numpy_helper.from_array(np.zeros((), dtype=np.float32), "t_zero")
    graph.nodes.insert(0, helper.make_node("CastLike", ["zero", "x"], ["t_zero"]))
    graph.nodes.insert(0, helper.make_node("Constant", [], ["zero"], value=zero))
    assert graph.found(tmp_path).n_params == WEIGHTS + CLASSIFIER


def test_a_file_without_such_metadata_stays_as_it_is(tmp_path):
    assert Exported([], rules=RULE).found(tmp_path).n_params == WEIGHTS + CLASSIFIER


def test_numbers_that_were_computed_when_the_file_was_written_are_refused(tmp_path):
    """Joined biases, of which only some may be learnt; a tensor that the network itself has is none of these."""
    for name, is_refused in (("cat", True), ("pos", False)):
        graph = Exported([*MATRICES, "pos"])
        graph.known.append(numpy_helper.from_array(np.zeros((3, 8, 8), dtype=np.float32), name))
        graph.nodes.insert(0, helper.make_node("Add", ["x", name], ["moved"]))
        graph.nodes[1].input[0] = "moved"
        if is_refused:
            with pytest.raises(DataError, match=r"computed from learnt ones \(cat\)(.|\n)*optimize=False"):
                graph.found(tmp_path)
        else:
            assert graph.found(tmp_path).n_params == 3 * 64 + WEIGHTS + CLASSIFIER
