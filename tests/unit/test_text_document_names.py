"""Short names: one person, organization or work of a document has its fullest name."""

import time

import pytest

from graphreader.text.abbreviations import abbreviations
from graphreader.text.document_names import document_names, short_names


# Parts of a name, titles, initials and legal forms are joined if one name fits, else none.
@pytest.mark.parametrize(
    ("names", "joins"),
    [
        (
            "Enoch Soames|Soames|Mr. Soames|Enoch",
            {"Soames": "Enoch Soames", "Mr. Soames": "Enoch Soames", "Enoch": "Enoch Soames"},
        ),
        ("Enoch Soames|Mary Soames|Soames", {}),
        ("Enoch Soames|Mrs. Soames|Mr. Soames|Soames", {}),
        (
            "Barry Hughes|Senator Hughes|Hughes's",
            {"Senator Hughes": "Barry Hughes", "Hughes's": "Barry Hughes"},
        ),
        ("Tharp Kishimoto|Kishimoto", {}),
        (
            "Fumio Kishida|Kishida|Prime Minister Kishida",
            {"Kishida": "Fumio Kishida", "Prime Minister Kishida": "Fumio Kishida"},
        ),
        ("Captain Ahab|Ahab", {"Ahab": "Captain Ahab"}),
        (
            "John Kennedy|John F. Kennedy|J. Kennedy",
            {"John Kennedy": "John F. Kennedy", "J. Kennedy": "John F. Kennedy"},
        ),
        ("George W. Bush|George H. W. Bush|George Bush|Bush", {}),
        ("Henry VIII|Henry V|Henry", {}),
        ("King Henry|Prince Henry|Henry", {}),
        ("New York|York|South Korea|Korea|Oslo|Oslo Fjord|Court|Supreme Court", {}),
        ("Abraham Lincoln|Lincoln", {}),
        ("President Lincoln|Abraham Lincoln", {"President Lincoln": "Abraham Lincoln"}),
        ("Apple Inc.|Apple|Apple Watch", {"Apple": "Apple Inc."}),
        (
            "Silent Spring|Silent Spring: A Study|Star Wars|Star Wars: Episode IV",
            {"Silent Spring": "Silent Spring: A Study"},
        ),
        (
            "恩诺克·索姆斯|索姆斯|索姆斯先生",
            {"索姆斯": "恩诺克·索姆斯", "索姆斯先生": "恩诺克·索姆斯"},
        ),
        ("恩诺克·索姆斯|玛丽·索姆斯|索姆斯", {}),
        ("恩诺克·索姆斯|索姆斯夫人", {}),
        ("王建国|王教授", {"王教授": "王建国"}),
        ("王建国|王国强|王教授", {}),
        ("华为技术有限公司|华为技术", {"华为技术": "华为技术有限公司"}),
        ("航空公司|航空", {}),
    ],
)
def test_names_are_joined_only_if_one_fits(names: str, joins: dict[str, str]) -> None:
    assert short_names(dict.fromkeys(names.split("|"), 2)) == joins


# The letters of an abbreviation fit the words that introduce it; a defined term has a name.
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Crown Prosecution Service (CPS) said no.", {"CPS": "Crown Prosecution Service"}),
        ("the CPS (Crown Prosecution Service)", {"CPS": "Crown Prosecution Service"}),
        ("the United States of America (USA)", {"USA": "United States of America"}),
        ("by deoxyribonucleic acid (DNA)", {"DNA": "deoxyribonucleic acid"}),
        ("Bolt Works, Inc. (the “Company”) sells.", {"Company": "Bolt Works, Inc."}),
        (
            "Samuel Clemens, better known as Mark Twain, wrote.",
            {"Mark Twain": "Samuel Clemens"},
        ),
        ("The council (OK) met the board (see NATO).", {}),
        ("Chief Petty Sergeants (CPS); Crown Prosecution Service (CPS)", {}),
        ("国家开发银行（以下简称“国开行”）成立。", {"国开行": "国家开发银行"}),
        ("国家开发银行（国开行）成立。", {"国开行": "国家开发银行"}),
        (
            "世界卫生组织（World Health Organization，WHO）",
            {"WHO": "世界卫生组织", "World Health Organization": "世界卫生组织"},
        ),
        ("孙悟空，又名孙行者，是猴子。", {"孙行者": "孙悟空"}),
        ("他来自上海（中国）。", {}),
    ],
)
def test_abbreviations_are_those_that_the_text_introduces(text: str, found: dict[str, str]) -> None:
    assert abbreviations(text) == found


# A narrator names himself outside of direct speech; a first word of a sentence is no given name.
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My name is Max Beerbohm, and I write.", {"I": "Max Beerbohm"}),
        ("I, Max Beerbohm, saw it.", {"I": "Max Beerbohm"}),
        ("“My name is Max Beerbohm,” he said.", {}),
        ("我叫王建国，住在北京。", {"我": "王建国"}),
        (
            "Enoch Soames came. Suddenly Soames left. It was suddenly dark.",
            {"Soames": "Enoch Soames"},
        ),
        ("Kishida said so. Fumio Kishida left.", {"Kishida": "Fumio Kishida"}),
    ],
)
def test_document_names_have_narrators_and_short_forms(text: str, found: dict[str, str]) -> None:
    assert document_names(text) == found


# Time is linear in the text, for hostile texts too: each of them takes at most a few seconds.
@pytest.mark.parametrize(
    "unit",
    ["A", "Ab ", "A.", "(A", "“I, ", "国", "国·", "（国", "Mr. ", "a ", "A-", "A (AB", "简称"],
)
def test_time_is_linear(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    start = time.process_time()
    document_names(text)

    assert time.process_time() - start < 5
