"""Times that sentences, headings and metadata name, and numbers that are no time."""

import io
import time
from pathlib import Path

import pypdf
import pytest

from graphreader.text.dates import LONGEST, date_of, when_of
from tests.unit.loading import documents, write
from tests.unit.office_files import docx, paragraph
from tests.unit.pdfs import pdf
from tests.unit.test_loading_formats import epub

NAMED = [
    # Dates in English.
    ("The mill burned down on 16 June 2023.", "2023-06-16"),
    ("June 16, 2023", "2023-06-16"),
    ("He was born on the 16th of June, 1893, in Leeds.", "1893-06-16"),
    ("Given on the 3rd day of May 1791", "1791-05-03"),
    ("Conversation on 16 June 2023", "2023-06-16"),
    ("Sept. 3rd 1939: war is declared", "1939-09-03"),
    ("FRIDAY, JUNE 16, 2023", "2023-06-16"),
    ("Letter of 2 Dec. 1888", "1888-12-02"),
    ("as of May 5th, 2020, the law holds", "2020-05-05"),
    ("They met on 29 February 2024.", "2024-02-29"),
    # Dates in numbers.
    ("2023-06-16", "2023-06-16"),
    ("Minutes 2023/06/16", "2023-06-16"),
    ("Sitzung vom 16.06.2023", "2023-06-16"),
    ("Rechnung 3.4.2021", "2021-04-03"),
    ("due 16/06/2023", "2023-06-16"),
    ("due 06/16/2023 at noon", "2023-06-16"),
    ("it was 05/05/2021", "2021-05-05"),
    ("[16/06/2023, 10:21] Ann: hi", "2023-06-16"),
    ("[16/06/23, 10:21:33] Ann: hi", "2023-06-16"),
    ("6/16/23, 10:21 AM - Ann: hi", "2023-06-16"),
    ("Date: Fri, 16 Jun 2023 10:21:00 +0200", "2023-06-16"),
    ("From ann@example.org Fri Jun 16 10:21:00 2023", "2023-06-16"),
    ("2023-06-16T10:21:00+02:00", "2023-06-16"),
    ("started 2023-06-16 10:21:07,512 INFO", "2023-06-16"),
    ("notes_2023-06-16.txt", "2023-06-16"),
    # Months and years.
    ("The book came out in June 2023.", "2023-06"),
    ("May 1923", "1923-05"),
    ("She sang in March of 1871.", "1871-03"),
    ("2023-06", "2023-06"),
    ("In 1923 the dam broke.", "1923"),
    ("It has stood there since 1066.", "1066"),
    ("By 1950, most farms had a tractor.", "1950"),
    ("the constitution of 1923", "1923"),
    ("a brewery (established 1923 in Bergen)", "1923"),
    ("Ulysses (1922) is a novel.", "1922"),
    ("1923", "1923"),
    ("1923, the year of the flood, was wet.", "1923"),
    ("1945 was the end of the war.", "1945"),
    ("In the spring of 1848 Paris rose.", "1848"),
    ("the winter 1941 campaign", "1941"),
    ("in mid-1987 and in late 1987", "1987"),
    ("Vienna, 1913", "1913"),
    ("Revenue of fiscal 2022 rose.", "2022"),
    ("Results for FY2022", "2022"),
    ("In 1923 prices rose by 1,200 marks.", "1923"),
    ("In 2019, 1500 people left.", "2019"),
    ("in 1917 (No. 1917 of the list)", "1917"),
    ("Vesuvius buried the town in AD 79.", "0079"),
    ("In the year 800 he was crowned.", "0800"),
    ("Caesar was killed in 44 BC.", "-0044"),
    # Intervals.
    ("from 1914 to 1918", "1914/1918"),
    ("He reigned between 1509 and 1547.", "1509/1547"),
    ("The war, 1914–1918, was long.", "1914/1918"),
    ("the 1914-18 war", "1914/1918"),
    ("Albert Einstein (1879–1955)", "1879/1955"),
    ("the season 2022/23", "2022/2023"),
    ("between May and July 1940", "1940-05/1940-07"),
    ("May–July 1940", "1940-05/1940-07"),
    ("from June 2019 until March 2020", "2019-06/2020-03"),
    ("16-20 June 2023", "2023-06-16/2023-06-20"),
    ("June 16–20, 2023", "2023-06-16/2023-06-20"),
    ("from 28 June to 3 July 2023", "2023-06-28/2023-07-03"),
    ("December 28, 2022 - January 3, 2023", "2022-12-28/2023-01-03"),
    ("2023-06-16/2023-06-20", "2023-06-16/2023-06-20"),
    ("2023-06-16 to 2023-06-20", "2023-06-16/2023-06-20"),
    ("in the 1920s", "1920/1929"),
    ("in the late nineteenth century", "1801/1900"),
    ("a 19th-century mill", "1801/1900"),
    ("the 5th century BC", "-0500/-0401"),
    ("Aristotle (384–322 BC)", "-0384/-0322"),
    # One time within another.
    ("In 2023, on 16 June 2023, it rained.", "2023-06-16"),
    ("In the 1920s, above all in 1923, it rained.", "1923"),
    # German, French, Spanish.
    ("am 16. Juni 2023", "2023-06-16"),
    ("im März 1848", "1848-03"),
    ("Er lebte von 1914 bis 1918 in Wien.", "1914/1918"),
    ("le 1er août 1914", "1914-08-01"),
    ("en 1789, le peuple", "1789"),
    ("el 16 de junio de 2023", "2023-06-16"),
    # Chinese, Japanese, Korean.
    ("2023年6月16日，会议开始。", "2023-06-16"),
    ("他于 2023 年 6 月 16 日到达。", "2023-06-16"),
    ("２０２３年６月１６日", "2023-06-16"),
    ("二〇二三年六月", "2023-06"),
    ("一九四九年十月一日，新中国成立。", "1949-10-01"),
    ("1923年，他出生于上海。", "1923"),
    ("自1978年以来", "1978"),
    ("2019年12月31号", "2019-12-31"),
    ("民国二十年九月十八日", "1931-09-18"),
    ("民國元年", "1912"),
    ("公元前221年，秦统一六国。", "-0221"),
    ("公元25年", "0025"),
    ("1914年至1918年", "1914/1918"),
    ("1914－1918年", "1914/1918"),
    ("秦始皇（前259年—前210年）", "-0259/-0210"),
    ("2023年6月16日至20日", "2023-06-16/2023-06-20"),
    ("2023年6月28日到7月3日", "2023-06-28/2023-07-03"),
    ("2023年6月—8月", "2023-06/2023-08"),
    ("20世纪80年代", "1980/1989"),
    ("他在1920年代的上海", "1920/1929"),
    ("十九世纪", "1801/1900"),
    ("昭和20年8月15日", "1945-08-15"),
    ("2023년 6월 16일", "2023-06-16"),
]

WITHOUT = [
    "",
    "The mill burned down.",
    "It cost 1,200 crowns.",
    "2000 men came.",
    "See page 1984.",
    "Section 2.1.2020 of the manual",
    "The book has 1984 pages.",
    "They met in Room 1408.",
    "In version 2019.1 it works.",
    "He paid $1950.",
    "ISO 9001 and RFC 1950-1952",
    "No. 1917 of the list",
    "In 2000 cases it failed.",
    "a town of 1200 people",
    "a population of 1950",
    "The bill passed by 1923 votes.",
    "Sales rose by 1950.",
    "In May 1200 soldiers crossed the river.",
    "pages 1200–1500 and pp. 1914-18",
    "A height of 1500 to 1800 metres",
    "a pass at 1914–1918 m",
    "Call 555-1923-2000 or 0151-1923.",
    "12:1923 and 1923:12",
    "192.168.2001.1",
    "1 may be enough, and 5 march on.",
    "The Mars 2020 rover landed.",
    "06/07/2023",
    "31 June 2023",
    "2023-13-45",
    "16 June",
    "On 16 June 2023 she came, on 3 July 2023 she went.",
    "in May and July 1940",
    "in 1914 and in 1918",
    "On 16 June 2023 she came, on 3 July she went.",
    "The 2023 report",
    "It took 1500 years.",
    "tomorrow at 10:21",
    "三年后，他回来了。",
    "6月16日",
    "有2000年的历史",
    "他今年19岁，住在1408室。",
    "1914年和1918年",
    "2019、2020年",
    "一千九百人",
    "第1984页",
]


# The time that a text names, by the form in which it is written.
@pytest.mark.parametrize(("text", "when"), NAMED)
def test_when_of(text: str, when: str) -> None:
    assert when_of(text) == when


# Other numbers, times of unknown years, ambiguous ones, and several times are no time.
@pytest.mark.parametrize("text", WITHOUT)
def test_no_time(text: str) -> None:
    assert when_of(text) == ""


# A day without a year is the nearest one to the time before it, as in a diary or chat.
@pytest.mark.parametrize(
    ("text", "earlier", "when"),
    [
        ("16 June", "2023-06-14", "2023-06-16"),
        ("[June 16th]", "2023-06-14/2023-06-15", "2023-06-16"),
        ("2 January", "2023-12-30", "2024-01-02"),
        ("30 December", "2024-01-02", "2023-12-30"),
        ("6月16日", "2023", "2023-06-16"),
        ("16-20 June", "2023-05", "2023-06-16/2023-06-20"),
        ("29 February", "2023-03-01", "2024-02-29"),
        ("29 February", "2022-03-01", ""),
        ("16 June 1999", "2023-06-14", "1999-06-16"),
        ("It rained.", "2023-06-14", ""),
        ("16 June", "", ""),
        ("16 June", "-0044", ""),
    ],
)
def test_day_without_year(text: str, earlier: str, when: str) -> None:
    assert when_of(text, earlier) == when


# Sentences of a megabyte, and numbers without end, are read in seconds; longer texts have no time.
def test_speed() -> None:
    sentences = [text for text, _ in NAMED] + WITHOUT + ["The old mill stood at the river."] * 400
    sentences += [
        sign * (LONGEST // len(sign)) for sign in ("1", "2023-", "1 ", "in 1923 ", "十年")
    ]
    start = time.process_time()
    for sentence in sentences * 5:
        when_of(sentence)

    assert time.process_time() - start < 5
    assert when_of("In 1923 " + "a" * LONGEST) == ""


# The date of a document is that of its metadata, whatever its format and their keys are.
@pytest.mark.parametrize(
    ("name", "data", "when"),
    [
        ("a.md", b"---\ndate: 2023-06-16\nupdated: 2024-01-01\n---\nJoan.\n", "2023-06-16"),
        ("a.md", b"---\ndate: 16 June 2023, 10:21\n---\nJoan.\n", "2023-06-16"),
        ("a.md", b"---\nyear: 1923\n---\nJoan.\n", "1923"),
        ("a.md", b"+++\npublished = 2023-06-16T10:21:00Z\n+++\nJoan.\n", "2023-06-16"),
        ("a.md", b"---\nupdated: 2024-01-01\nauthor: Ann\n---\nJoan.\n", ""),
        ("a.md", b"---\ndate: soon\ncreated: 2023-06\n---\nJoan.\n", "2023-06"),
        ("a.eml", b"Date: Fri, 16 Jun 2023 23:21:00 +0200\nSubject: J\n\nJoan.\n", "2023-06-16"),
        ("a.eml", b"Subject: J\n\nJoan was born in 1412.\n", ""),
        ("a.html", b'<meta name="date" content="2023-06-16"><p>Joan.', "2023-06-16"),
        (
            "a.html",
            b'<meta property="article:published_time" content="2023-06-16T10:21:00+02:00"><p>Joan.',
            "2023-06-16",
        ),
        ("a.jsonl", b'{"text": "Joan.", "metadata": {"createdAt": "2023/06/16"}}\n', "2023-06-16"),
        ("a.jsonl", b'{"text": "Joan.", "date": "06/07/2023"}\n', ""),
        ("a.txt", b"Joan was born in 1412.\n", ""),
        (
            "a.epub",
            epub(
                {"a": "<p>Joan.</p>"},
                ["a"],
                "<dc:date>1923-05-01</dc:date><dc:date>2004-01-01</dc:date>",
            ),
            "1923-05-01",
        ),
        (
            "a.epub",
            epub({"a": "<p>Joan.</p>"}, ["a"], "<dc:date>0101-01-01T00:00:00+00:00</dc:date>"),
            "",
        ),
        (
            "a.docx",
            docx(
                paragraph("Joan."),
                **{
                    "docProps/core.xml": '<c xmlns:t="t"><t:created>2023-06-16T08:00:00Z'
                    "</t:created><t:modified>2024-01-01T08:00:00Z</t:modified></c>"
                },
            ),
            "2023-06-16",
        ),
    ],
)
def test_date_of(tmp_path: Path, name: str, data: bytes, when: str) -> None:
    [document] = documents(write(tmp_path / name, data))

    assert date_of(document.metadata) == when


# The date of a PDF is a string of its own form, which some loaders leave as it is.
def test_date_of_a_pdf(tmp_path: Path) -> None:
    writer = pypdf.PdfWriter(io.BytesIO(pdf("Joan was born.")))
    writer.add_metadata({"/CreationDate": "D:20230616102100+02'00'"})
    data = io.BytesIO()
    writer.write(data)
    [document] = documents(write(tmp_path / "a.pdf", data.getvalue()))

    assert date_of(document.metadata) == "2023-06-16"
    assert date_of({"creationDate": "D:20230616102100+02'00'"}) == "2023-06-16"
    assert date_of({"date": "20230616", "year": 1923}) == "2023-06-16"
    assert date_of({"date": ["", None, {"a": 1}], "year": True, "time": 1.5}) == ""
