"""ONNX's operator cases as programs of te and stock operators: a table of mappings for each family."""

import importlib

FAMILIES = (
    "attention", "conversions", "elementwise", "images", "indices", "moves", "norms", "products", "quantized", "recurrent", "reductions",
    "signals", "training", "windows",
)  # fmt: skip
OPERATORS = {name: mapping for family in FAMILIES for name, mapping in importlib.import_module(f"{__name__}.{family}").OPERATORS.items()}
