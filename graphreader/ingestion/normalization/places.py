"""Adjective and noun forms of one place: "Canadian" is shown as "Canada" (paper, figure 21).

The table is data: places.tsv beside this module.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from graphreader.ingestion.normalization.rule import normalize


@cache
def place_forms() -> Mapping[str, str]:
    """The key of the place for the key of each of its forms, the place itself among them."""
    table = files("graphreader.ingestion.normalization").joinpath("places.tsv")
    forms: dict[str, str] = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            place, others = line.split("\t")
            for form in others.split(", "):
                forms[normalize(form)] = forms[normalize(f"the {form}")] = normalize(place)
            forms[normalize(place)] = normalize(place)  # "the Niger" is a river
    return MappingProxyType(forms)
