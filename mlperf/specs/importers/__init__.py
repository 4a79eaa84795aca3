"""Networks read from ONNX files and torch modules."""
