"""Words and terms in all scripts, and lines and sentences that are joined and cut right."""

import re

import pytest

from graphreader.offline.facts import facts_of
from graphreader.text.lines import line_spans, one_line
from graphreader.text.names import names_of
from graphreader.text.question import asked_names, asks_about_whole, parse_question
from graphreader.text.sentences import sentence_spans
from graphreader.text.words import occurrences, terms_of


# Two writings of one thing have the same terms.
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Jose\u0301 Nu\u0301n\u0303ez", "José Núñez"),
        ("the ﬂour of the mill", "the flour of the mill"),
        ("12,500 crowns", "12500 crowns"),
        ("3.400.000 crowns", "3400000 crowns"),
        ("7’250’000 crowns", "7250000 crowns"),
        ("en\u00adtire\u200bly", "entirely"),
        ("臺灣的鐵路", "台湾的铁路"),
        ("Łódź, Øster, Đak, œuvre, Ærø, Kır", "Lodz, Oster, Dak, oeuvre, Aero, Kir"),
        ("成立于２００８年", "成立于2008年"),
        ("ｶﾞﾗｽの工場", "ガラスの工場"),
        ("Ｆ１６", "F16"),
        ("sales in the U.S. and the EU", "sales in the US and the EU"),
        ("Ada’s “mill”", 'Ada\'s "mill"'),
    ],
)
def test_one_writing(one: str, other: str) -> None:
    assert terms_of(one) == terms_of(other)


# What a text is found by, and what is no term of it.
@pytest.mark.parametrize(
    ("text", "terms", "others"),
    [
        ("He wrote C++ and F#, then .NET.", {"c++", "f#", ".net"}, {"c", "f"}),
        ("Vitamin K and plan B; a mill", {"k", "b", "vitamin"}, {"a"}),
        ("The B52 and H2O", {"b52", "h2o"}, {"52", "b"}),
        ("The WHO and IT of the US said it", {"who", "it", "us"}, set()),
        ("who said it to us", set(), {"who", "it", "us"}),
        ("WHO SAID IT", set(), {"who", "it"}),
        ("AT&T and R&D", {"at&t", "r&d"}, set()),
        ("It cost 2 000 000, or 12,5 each", {"2000000", "12.5"}, {"125"}),
        ("in rows 520 480 310 and 7 250", {"520", "480", "7", "250"}, {"7250"}),
        ("an area of 10³ km²", {"10", "3"}, {"103"}),
        ("the trans-\nport on the well-\nknown river", {"transport", "know"}, set()),
        ("his mother-in-\nlaw had an x-\nray", {"law", "ray"}, {"inlaw", "xray"}),
        ("陈\n静卖掉了", {"陈静"}, set()),
        ("It may rain in May", {"may"}, set()),
        ("Ada may sell it; May I?", set(), {"may"}),
        ("हिन्दी में मुंबई", {"हिन्दी", "मुंबई"}, {"हिन", "बई"}),
        ("서울은 수도이다", {"서울", "수도"}, {"서울은"}),
        ("彼はベルゲンで働いた", {"ベル", "ゲン", "働い"}, set()),
        ("ไปเชียงใหม่", {"เช", "หม"}, set()),
    ],
)
def test_terms(text: str, terms: set[str], others: set[str]) -> None:
    assert terms <= terms_of(text)
    assert not others & terms_of(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("the naviga-\ntion on it", "the navigation on it"),
        ("the well-\nknown Anglo-\nSaxon", "the well-known Anglo-Saxon"),
        ("a sea-wall; the sea-\nwall", "a sea-wall; the sea-wall"),
        ("a mill -\nand a lock", "a mill - and a lock"),
        ("his mother-in-\nlaw, an ex-\nwife", "his mother-in-law, an ex-wife"),
        ("die Schiff-\nfahrts- und Zoll-\nämter", "die Schifffahrts- und Zollämter"),
        ("an x-\nray; A-\nlevel; ex-\nchange", "an x-ray; A-level; exchange"),
        ("at www.trans-\nport.org/trans-\nport", "at www.trans-port.org/trans-port"),
        ("in 1914–\n1918", "in 1914–1918"),
        ("王\n伟卖掉了，\n走了", "王伟卖掉了，走了"),
        ("Ada 陈\nLin\nwent", "Ada 陈 Lin went"),
        ("  a \t b\n\nc ", "a b c"),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


CHINESE = (
    "磨坊主去年春天把河边的旧磨坊和土地都卖给了王\n"
    "伟。后来洪水冲走了磨坊，村里的人都搬到南方的城\n里去了。\n"
)


# Short lines of Chinese run on; a list, verses with signs at their ends and headings do not.
@pytest.mark.parametrize(
    ("text", "number"),
    [
        (CHINESE, 1),
        ("第三章 河边的磨坊\n" + CHINESE, 2),
        (
            "一条河流过这个小小的山村，\n两岸种满了高高的白杨树。\n人们每天清早到河边打水，\n傍晚在树下唱起古老的歌。\n",
            4,
        ),
        ("- 苹果\n- 香蕉\n- 梨\n", 3),
        ("The mill was sold to a farm-\ner of the valley.\n", 1),
    ],
)
def test_lines(text: str, number: int) -> None:
    assert len(list(line_spans(text))) == number


@pytest.mark.parametrize(
    "sentences",
    [
        ["नदी गाँव के पास है।", "वह रोज़ काम करता है।"],
        ["هل باع الطحان أرضه؟", "نعم، باعها."],
        ["یہ ایک چکی ہے۔", "وہ پرانی ہے۔"],
        ["田中は橋を作った。", "橋は長い。"],
    ],
)
def test_sentences(sentences: list[str]) -> None:
    text = " ".join(sentences)

    assert [text[start:end] for start, end in sentence_spans(text)] == sentences


# Names keep their marks, in every alphabet with capitals.
def test_names() -> None:
    text = "then Ju\u0308rgen Sta\u0308hl met Élodie Ōno and Ирина Волкова in Αθήνα"

    assert names_of("Abu al-Hasan saw Charles II the Bald in St. Peter's Basilica the Germans") == [
        *("Abu al-Hasan", "Charles II the Bald", "St. Peter", "St. Peter's Basilica", "Germans")
    ]
    assert names_of(text) == [*("Ju\u0308rgen Sta\u0308hl", "Élodie Ōno", "Ирина Волкова", "Αθήνα")]


# Items of lists, rows of tables and headings with a number are statements, without their marks;
# other headings are none.
def test_facts_of_items() -> None:
    items = "- Delft, opened 1847\n2. Leiden is older\n"
    text = (
        f"# Stations\n\n## Lines of 1850\n\n{items}\n| Town | Year |\n|---|---|\n| Gouda | 1855 |\n"
    )

    assert [one.fact for one in facts_of(text)] == [
        *(
            "Lines of 1850",
            "Delft, opened 1847",
            "2. Leiden is older",
            "| Gouda | 1855 |",
        )
    ]


# A number or a code is one term of a question, which each of its forms in a text supports.
@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Which town has 20 000 people?", ["20 000", "20,000", "20000", "20.000"]),
        ("What costs 3.500 euro?", ["3.500", "3500", "3,500"]),
        ("When did the B-52 first fly?", ["B-52", "B52"]),
        ("When did the Boeing B-52 first fly?", ["B-52", "B52"]),
        ("Where did COVID-19 begin?", ["COVID-19", "COVID19"]),
        ("Where did COVID19 begin?", ["COVID-19", "COVID19"]),
        ("Who wrote .NET?", [".NET"]),
        ("What happened in May?", ["in May", "3 May", "May 1931"]),
    ],
)
def test_forms_of_a_number(question: str, texts: list[str]) -> None:
    parsed = parse_question(question)
    terms = [one for one in parsed.terms if re.search(r"\d|NET|May", one.word)]

    assert len(terms) == 1
    for text in texts:
        assert terms[0].support(terms_of(f"It is {text} there.")) == 1
    assert terms[0].support(terms_of("It is 52 and 19 and 000 and 20 there.")) == 0


# A word that only begins a question is no name, though it has a capital.
def test_asked_names() -> None:
    assert asked_names("Name the ships of Ida Holm.") == ["Ida Holm"]


# Words are counted in their regular forms; other words with one stem are other words.
@pytest.mark.parametrize(
    ("words", "text", "counted"),
    [
        ("condor", "Condors and conditions, a condor.", ["condors", "condor"]),
        ("party", "Parties part; the party is parting.", ["parties", "party"]),
        ("travel", "travelled, traveling, traveller", ["travelled", "traveling"]),
        ("plan", "planes, planned, planing, plans", ["planned", "plans"]),
        ("car", "cars, caring, cared, cares", ["cars"]),
        ("use", "used, uses, us", ["used", "uses"]),
        ("prince", "princes, princess", ["princes"]),
        ("add", "adding, ads, added", ["adding", "added"]),
        ("win", "wines, winning, wins", ["winning", "wins"]),
        ("the old veteran", "The old veterans, an old veteran", ["the old veterans"]),
    ],
)
def test_occurrences(words: str, text: str, counted: list[str]) -> None:
    assert occurrences(words, text) == counted


# A question that only asks to sum up has no words to search for; one that names something has.
@pytest.mark.parametrize(
    ("question", "is_about_whole"),
    [
        ("Summarize the whole meeting.", True),
        ("Can you please give me a short overview of these documents?", True),
        ("What are the main themes of the book?", True),
        ("Summarize the discussion about batteries.", False),
        ("Summarize the story of Madison.", False),
        ("Who summarized the meeting?", False),
        ("What happened?", False),
    ],
)
def test_questions_about_the_whole(question: str, is_about_whole: bool) -> None:
    assert asks_about_whole(question) == is_about_whole
