"""Implicit connections between the layers of any supported Hugging Face model."""

from holdfast.implicit.checkpoint import load, require_safetensors, save
from holdfast.implicit.connect import Connected, connect, connected, unread
from holdfast.implicit.layers import FAMILIES, REFUSED, find_layers
from holdfast.implicit.presets import PRESETS, bert, ex_bert, im_bert, recommended
from holdfast.implicit.readings import LayerReading
from holdfast.implicit.spec import (
    Connection,
    Explicit,
    ImplicitEuler,
    Scheme,
    Theta,
    parse_layers,
)

__all__ = [
    "FAMILIES",
    "PRESETS",
    "REFUSED",
    "Connected",
    "Connection",
    "Explicit",
    "ImplicitEuler",
    "LayerReading",
    "Scheme",
    "Theta",
    "bert",
    "connect",
    "connected",
    "ex_bert",
    "find_layers",
    "im_bert",
    "load",
    "parse_layers",
    "recommended",
    "require_safetensors",
    "save",
    "unread",
]
