"""Networks read from ONNX files."""
