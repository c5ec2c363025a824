import pytest

from graphreader.ingestion.normalization.merging import place_forms
from graphreader.ingestion.normalization.rules import normalize


# Every form and every place is a key, and a place is its own form.
def test_keys() -> None:
    forms = place_forms()

    assert len(set(forms.values())) > 250
    assert all(normalize(form) == form for form in forms)
    assert all(forms[place] == place for place in forms.values())


# Forms lead to their place, whatever their ending.
@pytest.mark.parametrize(
    ("form", "place"),
    [
        ("Canadian", "Canada"), ("Canadians", "Canada"), ("French", "France"),
        ("Swiss", "Switzerland"), ("the French", "France"),
        ("the Dutch", "Netherlands"), ("Dutch", "Netherlands"), ("Spaniards", "Spain"),
        ("Venetian", "Venice"), ("Venetians", "Venice"), ("Englishwomen", "England"),
        ("Danes", "Denmark"),
        ("Nigerien", "Niger"), ("Nigerian", "Nigeria"), ("the Philippines", "Philippines"),
        ("Filipino", "Philippines"), ("European", "Europe"), ("U.S.", "United States"),
        ("the Soviet Union", "Soviet Union"), ("Provençal", "Provence"), ("法国人", "法国"),
    ],
)  # fmt: skip
def test_form(form: str, place: str) -> None:
    assert place_forms()[normalize(form)] == normalize(place)


# What could mean several places, or a person, is no form.
@pytest.mark.parametrize(
    "word",
    ["Georgian", "Korean", "Congolese", "Indian", "Roman", "America", "Guinean", "Florentine",
     "Norman", "Finn", "Dominican", "Virginian", "Georgia", "Korea", "the Niger", "the Jordan"],
)  # fmt: skip
def test_ambiguous(word: str) -> None:
    assert normalize(word) not in place_forms()
