"""What to do about ONNX nodes that have no layer."""

from __future__ import annotations

from collections.abc import Mapping

from mlperf.specs.importers.imported import Imported
from mlperf.specs.importers.onnx.node import OnnxNode

HINTS: Mapping[str, str] = {
    **dict.fromkeys(("If", "Loop", "Scan"), "Layers run always and once: export the network traced, with sizes that are fixed."),
    **dict.fromkeys(
        ("QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger"),
        "Quantised networks are not trained: export the one in floating point that this was made from.",
    ),
}
"""What to do about operators that will never have a layer."""

APART = (
    "Maps cut into heads, and places into windows, may meet in products of attention with a softmax between, be read by layers "
    "over the maps at each place, and be put together again: write another use as layers in a TOML file, or replace it before "
    "the import."
)
"""What to do about a tensor that is not as a layer wrote it."""

IN_TOML_AS = "Write this block as layers in a TOML file, or replace it before the import."

OF_HEADS: Mapping[str, str] = {
    **dict.fromkeys(
        ("Conv", "AveragePool", "MaxPool"), "Heads that share the weights of a convolution or a pool (MViTv2) have no layer. "
    ),
    **dict.fromkeys(("Relu", "Elu", "Softmax", "Sigmoid"), "Attention without a softmax over scores (EfficientViT) has no layer. "),
    "MatMul": "Products without a softmax between (linear attention), and of queries with positions (BoTNet), have no layer. ",
    **dict.fromkeys(("LSTM", "GRU", "RNN"), "Recurrent layers along the rows or columns of maps (Sequencer) have no layer. "),
}
"""What is at hand where such operators read heads or places."""

OF_SCORES = (
    "Between the two products of attention numbers, masks, learnt relative positions and one softmax may stand: layers over "
    "heads (talking heads: CaiT, EfficientFormerV2), gates (ConViT) and products of queries with positions (BoTNet) may not. "
)

MODES = "Resizing is nearest or (bi)linear: set such a mode in the network, or take the resize out of it, before the export."

PADDED_TOKENS = (
    "Maps that stand last are padded for windows that do not divide them, which no layer does: export with an input size that "
    "windows divide (256 x 256 for windows of 8 on maps of a quarter)."
)


def hint_of(imported: Imported, node: OnnxNode) -> str:
    """What to do about an operator that has no layer, or none for its use here; nothing where that is unknown."""
    if node.operator in ("Resize", "Upsample") and node.attributes.get("mode") == b"cubic":
        return MODES
    if node.operator == "Pad" and node.tensors and node.tensors[0] in imported.aliases:
        return PADDED_TOKENS if imported.layout(node.tensors[0]) == "bhwc" else ""
    return HINTS.get(node.operator, "")


def hint_apart(node: OnnxNode, what: str) -> str:
    """What to do about a node that reads heads, places in another order, or scores of attention."""
    if what.startswith("scores"):
        return OF_SCORES + IN_TOML_AS
    return OF_HEADS[node.operator] + IN_TOML_AS if node.operator in OF_HEADS else APART
