"""Tables, code, items of lists and turns of speakers are recognized by their form."""

import pytest

from graphreader.text.blocks import blocks_of
from graphreader.text.headings import headings_of
from graphreader.text.turns import turns_of

PAGE = """# Stations

| Station | Opened |
|---|---|
| Alder | 1850 |

4. The buyer pays
   on delivery.
5. The seller signs.

```python
# no heading
price = 1

paid = 2
```

Name\tAge
Ann\t31
"""


def turns(text: str) -> list[tuple[str, str]]:
    headings = list(headings_of(text))
    return [(one.speaker, text[one.start : one.end]) for one in turns_of(text, headings)]


# A table has its header row, an item its number and the lines below it, code its blank lines.
def test_blocks() -> None:
    found = [(one.kind, one.label, PAGE[one.start : one.end]) for one in blocks_of(PAGE)]

    assert [one[:2] for one in found] == [
        *(("table", "| Station | Opened |"), ("item", "4."), ("item", "5.")),
        *(("code", "python"), ("table", "Name\tAge")),
    ]
    assert found[0][2].endswith("| Alder | 1850 |")
    assert found[1][2] == "4. The buyer pays\n   on delivery."
    assert found[3][2].endswith("paid = 2\n```")
    assert [one.label for one in blocks_of("Year | Toll\n1821 |\n")] == ["Year | Toll"]


# Each form of transcripts and chats gives its speakers with what they said.
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("MR. HOLT: {}", "MS. LEE: {}"),
        ("[10:15] Ann: {}", "[10:16] bob: {}"),
        ("12/03/2023, 10:15 - Ann Lee: {}", "12/03/2023, 10:16 - Bob: {}"),
        ("[12.03.23, 10:15:33] Ann: {}", "[12.03.23, 10:16:01] Bob: {}"),
        ("10:15:01 <ann> {}", "10:15:09 <bob_> {}"),
        ("**Ann:** {}", "**Bob:** {}"),
        ("Ann (00:12): {}", "Bob (00:20): {}"),
        ("HAMLET. {}", "FIRST PLAYER. {}"),
        ("The CHAIRMAN. {}", "Mr. HOLT. {}"),
        ("Q. {}", "A. {}"),
        ("Ann Lee  0:12\n{}", "Bob  0:20\n{}"),
        ("Speaker 1: {}", "Speaker 2: {}"),
        ("Mr. Conyers. {}", "Chairman Goodlatte. {}"),
        ("NORA [laughing]. {}", "MEPHISTO (leise). {}"),
        ("BERNARDO.\n{}", "FRANCISCO.\n{}"),
        ("Ann Lee (00:01):\n{}", "Bob (00:09):\n{}"),
        ("Human:\n{}", "Assistant:\n{}"),
        ("[10:15 AM] Ann\n{}", "[10:16 AM] Bob\n{}"),
        ("ANN LEE, MILLER: {}", "BOB HOLT, HOST: {}"),
        ("12/03/2023, 10:15 - +49 170 123: {}", "\u200e12/03/2023, 10:16 - ~ Bob: {}"),
        ("10:15 <[ann]> {}", "10:16 <bob|away> {}"),
        ("<v Ann Lee> {}", "<v Bob> {}"),
        ("问：{}", "答：{}"),
        ("记者：{}", "王芳：{}"),
        ("Фёдор: {}", "Анна: {}"),
    ],
)
def test_turns(first: str, second: str) -> None:
    said = "The mill is old, as I have said. 磨坊很老了。"
    more = "Yes, and the river is high, too. 河水很高了。\n\nIt was so last year."
    parts = [first.format(said), second.format(more)] * 2
    found = turns("\n\n".join(parts) + "\n")

    assert [words for _, words in found] == parts
    speakers = [speaker for speaker, _ in found]
    assert speakers[0] == speakers[2] != speakers[1] == speakers[3]
    assert speakers[0] in first
    assert speakers[1] in second


# Each message of an exported chat is a turn, also where speakers do not recur; notices have none.
@pytest.mark.parametrize(
    ("messages", "speakers"),
    [
        (["05/11/2022, 18:04 - Ida: The kiln is hot", "05/11/2022, 18:05 - Max: Good"], "Ida Max"),
        (
            ["11/5/22, 6:04\u202fPM - Ida: The kiln is hot", "11/5/22, 6:05 PM - Max: Good"],
            "Ida Max",
        ),
        (
            [
                "[05.11.22, 18:04:09] Ida: Heiß",
                "\u200e[05.11.22, 18:04:59] Max: \u200eBild weggelassen",
            ],
            "Ida Max",
        ),
        (["[2022/11/5 下午6:04:09] 伊达: 窑热了", "[2022/11/5 下午6:05:09] 马克: 好"], "伊达 马克"),
        (
            [
                "05/11/2022, 18:03 - Messages and calls are end-to-end encrypted. Learn more.",
                "05/11/2022, 18:03 - Ida changed the subject to “Kiln: new”",
                "05/11/2022, 18:04 - Ida: The kiln is hot\nNote: wear gloves\n\nand boots",
                "05/11/2022, 18:06 - Max left",
            ],
            "- - Ida -",
        ),
        (
            [
                "[11/5/22, 18:03:00] Kiln: \u200eMessages are end-to-end encrypted.",
                "[11/5/22, 18:04:00] ~\u202fIda: Hot",
            ],
            "- Ida",
        ),
        (["2022-11-05 18:04:09 - INFO: on", "2022-11-05 18:04:10 - ERROR: off"], "- -"),
        (["[2022-11-05 18:04:09] INFO: on", "[2022-11-05 18:04:10] ERROR: off"], "- -"),
    ],
)
def test_messages(messages: list[str], speakers: str) -> None:
    wanted = zip(speakers.split(), messages, strict=True)

    assert turns("\n".join(messages)) == [pair for pair in wanted if pair[0] != "-"]


# A dated heading ends a turn, and does not belong to it.
def test_turn_before_a_heading() -> None:
    day = "Ann: I went to the mill today.\nBob: I was at the ford all day long.\n"
    text = f"Conversation on 16 June 2023\n\n{day}\nConversation on 17 June 2023\n\n{day}"

    assert [words for _, words in turns(text)] == day.splitlines() * 2


# Settings, mail heads, notes, novels, choices and prose are no transcripts.
@pytest.mark.parametrize(
    "text",
    [
        "Type: string\nDefault: 5\n\nType: number\nDefault: 6\n\n",
        "From: Ann Lee of the old mill\nTo: Bob Holt of the new ford\n\nThe river is high.\n\n",
        "Note: This is an old mill by the river.\n\nExample: The mill grinds in the night.\n\n",
        "宝玉道：“我要去看看。”\n黛玉笑道：“你去罢，我不去。”\n",
        "A. The mill by the river is old.\nB. The ford is new and wide.\n",
        "He said: we must go to the mill now.\n\nThen she said: the river is too high.\n\n",
        "https://mill.org: the site of the mill.\nhttps://ford.org: the site of the ford.\n",
        "The mill is old. The river: high. It rained a lot.\n\n",
        "Serves: four hungry people at a table.\nPrep: ten minutes of work or so.\n"
        "Cook: half an hour in the oven.\n\n",
        "<td>The mill is old, and it grinds.</td>\n<tr>The ford is new, and it is wide.</tr>\n",
        "Coffee 10:30\nLunch in the mill 12:00\n",
        "INFO: the mill was started by its owner.\nERROR: the ford was closed by the town.\n",
        "THE MILL IS SOLD AS IT IS, WITHOUT A WARRANTY BY THE\nOWNER. IT IS OLD AND ITS WHEEL AND\n"
        "ROOF. ARE IN NEED OF REPAIR, SO THE\nBUYER. TAKES IT AS IT IS AND THE\n",
        "```\nAnn: I went to the mill today.\nBob: I was at the ford all day.\n```\n",
    ],
)
def test_no_transcript(text: str) -> None:
    assert turns(text * 4) == []


# A dialogue in a long text makes the text no transcript.
def test_dialogue_in_prose() -> None:
    prose = "The mill stands by the river, and the river is high in spring.\n\n" * 40
    talk = "Ann: I went to the mill today.\n\nBob: I was at the ford all day.\n\n" * 3

    assert turns(prose + talk) == []
    assert len(turns(talk)) == 6


# Hostile texts of one form take no longer by the square of their length.
@pytest.mark.parametrize(
    "unit",
    [
        "A: ",
        "Ann Lee ",
        "|",
        "- ",
        "```\n",
        "10:15 ",
        "<",
        "1/1/22, 10:15 - ",
        "[1/1/22, 1:15] A: b\n",
        "A.\n",
        "\t",
    ],
)
def test_hostile_text(unit: str) -> None:
    text = unit * (500_000 // len(unit))

    assert len(list(turns_of(text))) + len(list(blocks_of(text))) <= 125_000
