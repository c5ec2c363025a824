import time

import pytest

from graphreader.ingestion.extraction import ExtractedFact, ExtractionTask
from graphreader.ingestion.loading.sheets import read_table
from graphreader.offline.decider import OfflineDecider
from graphreader.text.names import names_of
from graphreader.text.words import stem, terms_of

HARBOUR = """Port Wessel

Port Wessel is a harbour town in Norland. It was founded by
Captain Ilse Marr of the Royal Salt Company in 1712. Herring
has been salted there since, and the lighthouse, which every
sailor calls "Old Candle", is 41 metres high; now the council
wants to sell it, and the sailors do not want that at all.

Trade

Salt, herring and amber are shipped to Lübeck and Gdańsk every spring.
"""

RIVER = """临河县是北原省的一个县，位于大青河北岸。该县始建于1832年，县城人口约3.5万人。
作家林雨桐于1957年在临河县出生，代表作有《河边的钟》和《雪路》。《河边的钟》获得了北原文学奖。"""


async def facts_of(text: str) -> list[ExtractedFact]:
    decided = await OfflineDecider().decide(ExtractionTask("a title", text))
    return decided.decision.facts


async def elements_of(sentence: str) -> list[str]:
    [fact] = await facts_of(sentence)
    return fact.key_elements


# Facts are the sentences in order, hard line breaks folded, headings left out.
async def test_sentences() -> None:
    facts = [fact.fact for fact in await facts_of(HARBOUR)]

    assert facts[0] == "Port Wessel is a harbour town in Norland."
    assert facts[1].endswith("founded by Captain Ilse Marr of the Royal Salt Company in 1712.")
    assert facts[-1] == "Salt, herring and amber are shipped to Lübeck and Gdańsk every spring."
    assert len(facts) == 4


# Each fact has key elements, each stands in it word for word and is at most 200 characters long.
@pytest.mark.parametrize("text", [HARBOUR, RIVER, "x" * 500 + " is long.", "A. " * 50 + "Bo ran."])
async def test_elements_stand_in_their_fact(text: str) -> None:
    facts = await facts_of(text)

    assert facts
    for fact in facts:
        assert 1 <= len(fact.key_elements) <= 12
        assert all(element in fact.fact for element in fact.key_elements)
        assert all(0 < len(element) <= 200 for element in fact.key_elements)


# Names with small words inside, dates, years, numbers and titles are key elements as a whole.
async def test_names_dates_titles() -> None:
    sentence = 'On 23 May 1730 Ada de la Cruz sold 40 copies of "The Salt Road" to the Duke of Mar.'
    elements = await elements_of(sentence)

    wanted = ["Ada de la Cruz", "The Salt Road", "Duke of Mar", "23 May 1730", "1730", "40"]
    assert set(wanted) <= set(elements)
    assert {"sold", "copies"} <= set(elements)
    assert not {"On", "of", "the", "to"} & set(elements)


# Chinese titles, dates, numbers and words that recur in the chunk are key elements.
async def test_chinese_elements() -> None:
    elements = {element for fact in await facts_of(RIVER) for element in fact.key_elements}

    assert {"临河县", "河边的钟", "雪路", "1957年", "1832年"} <= elements
    assert not {"的", "是", "于"} & elements


# Dates, amounts, measures, companies and Han numerals are whole; times of stamps are no elements.
@pytest.mark.parametrize(
    ("sentence", "wanted", "unwanted"),
    [
        ("[00:12:59] Ida: the kiln is hot.", ["Ida", "kiln"], ["00", "12", "59"]),
        ("18:04 <ida> the kiln is hot.", ["kiln"], ["18", "04"]),
        ("They met at 6:45 pm or 19:30.", ["6:45 pm", "19:30"], ["6", "45", "19"]),
        (
            "Date: Thu, 07 Nov 2019 16:08:55 +0200",
            ["07 Nov 2019"],
            ["16", "08", "0200", "Thu", "Date"],
        ),
        ("At 2019-11-07T16:08:55Z it rang.", ["2019-11-07"], ["11", "16", "08"]),
        (
            "On 7.11.2019 and 11/07/19 and 7. März 1999 it rang.",
            ["7.11.2019", "11/07/19", "7. März 1999"],
            ["7", "11"],
        ),
        (
            "Bruni S.r.l. sued Nardi S.p.A. and Ole A/S.",
            ["Bruni S.r.l.", "Nardi S.p.A."],
            ["S.p", "p.A"],
        ),
        (
            "Ernst Voss GmbH & Co. KG and Rudern Bonn e.V. paid.",
            ["Ernst Voss GmbH & Co. KG", "Rudern Bonn e.V."],
            [],
        ),
        (
            "It takes 4 3/4 cups, 2/3 pound, 7.5 m^2 and 12 km/h.",
            ["4 3/4", "2/3", "7.5 m^2", "12 km/h"],
            ["4", "3", "2"],
        ),
        ("He cried “we sold 4,500 geese” on COVID-19.", ["4,500", "COVID-19"], ["19"]),
        ("Order K-1044 grew to 10^6 and 5 °C.", ["K-1044", "10^6", "5 °C"], ["1044", "10", "6"]),
        (
            "老桥长四十二米，重三百零五吨，占百分之七。",
            ["四十二米", "三百零五吨", "百分之七"],
            ["四十", "二米"],
        ),
        ("老桥建于1926年，有14人，长88公里。", ["1926年", "14人", "88公里"], []),
        ("老桥于一九二六年建成，第十二号。", ["一九二六年", "第十二号"], []),
        ("橋は四十二メートルで1926年にできた。", ["四十二メートル", "1926年"], []),
    ],
)
async def test_elements(sentence: str, wanted: list[str], unwanted: list[str]) -> None:
    elements = await elements_of(sentence)

    assert set(wanted) <= set(elements)
    assert not set(unwanted) & set(elements)


# No fact with words is lost for want of other elements.
@pytest.mark.parametrize(
    "sentence", ["Status: a", "It was 9:15:30.", "Date: x", "[00:12] at 00:13:01."]
)
async def test_facts_without_other_elements(sentence: str) -> None:
    assert await elements_of(sentence)


# Of the row of a table with many columns the values come before the names of the columns.
async def test_records() -> None:
    names = [
        f"{one} Number Of Things" for one in ("Kiln", "Wood", "Clay", "Glaze", "Shelf", "Door")
    ]
    values = ["Ida Voss", "07.11.2019", "48.250,75", "Rome", "Max Orth", "K-77"]
    rows = [names, values, ["Per Lund", "08.11.2019", "1,5", "Oslo", "Eva", "K-78"]]
    text = read_table("\n".join(";".join(row) for row in rows).encode(), "a.csv").text
    facts = await facts_of(text)

    assert [fact.sentences for fact in facts] == [[2], [3]]
    assert set(values) <= set(facts[0].key_elements[:6])
    decided = await OfflineDecider().decide(ExtractionTask("a title", text))
    assert decided.decision.summary in {fact.fact for fact in facts}


# The header row of a table is no fact where rows follow; a first row that may be one is a fact.
@pytest.mark.parametrize(
    ("table", "number"),
    [
        ("| Kiln | Owner |\n| --- | --- |\n| Old | Ida |", 1),
        ("Kiln\tYear\nOld\t1926\nNew\t1931", 2),
        ("Kiln | Year\nOld | 1926\nNew | 1931", 2),
        ("Old\tIda\nNew\tMax", 2),
        ("Old | 1926\nNew | 1931", 2),
        ("Old | Ida\nNew | 1931\nRed | Max", 3),
        ("| Kiln | Owner |\n| --- | --- |", 1),
    ],
)
async def test_header_rows(table: str, number: int) -> None:
    facts = [fact.fact for fact in await facts_of(table)]

    assert len(facts) == number
    assert " ".join(table.split("\n")[-1].split()) in facts or number == 1


# Right after the definition with which a text begins a pronoun is its subject.
@pytest.mark.parametrize(
    ("first", "second", "resolved"),
    [
        ("Ilse Marr was an engineer from Norland.", "She built it.", "Ilse Marr built it."),
        ("Al Orr (born 1951) is a coach. He ran.", "He lost.", "Al Orr lost."),
        ("Port Wessel is a town in Norland.", "It was founded.", "Port Wessel was founded."),
    ],
)
async def test_pronouns_resolved(first: str, second: str, resolved: str) -> None:
    assert (await facts_of(f"{first} {second}"))[-1].fact == resolved


# A pronoun stays where another person or a thing may be meant.
@pytest.mark.parametrize(
    "text",
    [
        "Ilse Marr was an engineer who married Tom Orr. He built the pier.",
        "Ilse Marr wrote to her brother. She was ill.",
        "Storms are common. Ilse Marr was an engineer. He built the pier.",
        "“Do you know Anna Bell? She was an engineer. He liked it.",
    ],
)
async def test_pronouns_left(text: str) -> None:
    facts = await facts_of(text)

    assert text.endswith(f" {facts[-1].fact}")


# Messages of a chat are facts of their own, also where their lines have one length.
async def test_messages() -> None:
    lines = [
        f"05/11/2022, 18:0{n} - Ida: the kiln of Max has been hot since noon" for n in range(9)
    ]

    assert [one.fact for one in await facts_of("\n".join(lines))] == lines


# A very long sentence is cut at its semicolons, and nothing of it is lost.
async def test_long_sentences() -> None:
    clause = "the harbour master counted barrels of salt and herring on the quay of Port Wessel"
    text = "; ".join([clause] * 12) + "."
    facts = [fact.fact for fact in await facts_of(text)]

    assert len(facts) == 12
    assert " ".join(facts) == text


TOWER = """A wet spring came.

The lighthouse of Port Wessel is the pride of Norland. Rain fell.
Did the lighthouse of Port Wessel, the pride of Norland, fall?

| Port Wessel | Norland | lighthouse |

"Norland has its pride, the lighthouse of Port Wessel," she said.
"""
CLOCK = """那天下雨。林雨桐在临河县写《河边的钟》。林雨桐问：“临河县的《河边的钟》在哪里？”
《河边的钟》得奖。"""


# The summary is the sentence whose terms recur most; questions, speech and rows of tables only
# where there is nothing else.
@pytest.mark.parametrize(
    ("text", "summary"),
    [
        (TOWER, "The lighthouse of Port Wessel is the pride of Norland."),
        (CLOCK, "林雨桐在临河县写《河边的钟》。"),
        ("Who is Ilse Marr?", "Who is Ilse Marr?"),
        ("...", ""),
    ],
)
async def test_summary(text: str, summary: str) -> None:
    decided = await OfflineDecider().decide(ExtractionTask("a title", text))

    assert decided.decision.summary == summary


# Text that would make a careless pattern backtrack is read in good time.
@pytest.mark.parametrize(
    "text",
    [
        "A " * 4000,
        "A-" * 4000,
        "“" * 4000,
        "中·" * 3000,
        "1," * 4000,
        "1:11 " * 4000,
        "三" * 9000,
        "a: b; " * 3000,
        "S.p." * 4000,
    ],
)
async def test_odd_text_is_quick(text: str) -> None:
    start = time.process_time()
    await facts_of(text)

    assert time.process_time() - start < 20


# Similar forms have one term, other words do not; numbers stay exact.
def test_terms() -> None:
    assert stem("canadian") == stem("canada")
    assert stem("directed") == stem("director")
    assert terms_of("lost battles of Orléans") == terms_of("Lose a battle: ORLEANS")
    assert terms_of("1,000") == terms_of("1000") != terms_of("100")
    assert terms_of("Norland").isdisjoint(terms_of("Norway"))
    assert "Ilse Marr" in names_of("They took Ilse Marr's boat.")


# Names of a list are no name; one that is written with "and the" is.
def test_names_in_a_list() -> None:
    assert names_of("In 280 BC and the Battle of Asculum") == ["BC", "Battle of Asculum"]
    assert names_of("Rome and the Siege of Ulm") == ["Rome", "Siege of Ulm"]
    assert names_of("Florence and the Machine") == ["Florence and the Machine"]


# A Chinese name with a middle dot is whole, without the words that stand right before and after.
def test_names_with_a_middle_dot() -> None:
    assert names_of("谁是哈利·波特的父亲") == ["哈利·波特"]
    both = ["阿尔伯特·爱因斯坦", "玛丽亚·斯克沃多夫斯卡·居里"]
    assert names_of("阿尔伯特·爱因斯坦和玛丽亚·斯克沃多夫斯卡·居里") == both


# Items of lists and short lines with a digit, a colon or a comma at the end are facts; headings are
# none.
@pytest.mark.parametrize(
    "lines",
    [
        "a) The buyer pays\nb) The seller delivers",
        "A. The rent is 500\nB. The deposit is low",
        "ii. The rent is due\niii. The notice is short",
        "1.1 Scope of work\n1.2 Price of 500 euros",
        "☑ Unfurnished\n☐ Furnished",
        "[x] Furnished\n[ ] Garden",
        "Name: Ada Holt\nAge: 31",
        "姓名：陈静\n年龄：三十一",
        "Apples 5 euros\nPears 6 euros",
        "Ada sold the mill,\nPer bought it.",
        "河边的磨坊卖了，\n陈静搬去了杭州。",
    ],
)
async def test_short_lines(lines: str) -> None:
    sentence = "The contract was signed in the town hall of Port Wessel in spring."
    text = f"Chapter 5\n\n{sentence}\n\nThe annex\n\n{lines}\n\n2.1 Methods\n\n{sentence}"

    facts = [fact.fact for fact in await facts_of(text)]

    assert facts == [sentence, *lines.split("\n"), sentence]
