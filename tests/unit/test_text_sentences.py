import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphreader.text.sentences import language_of, line_spans, sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


# Signs end sentences with the quotes behind them, Chinese signs also without white space. So do
# line ends outside of hard-wrapped text, and blocks of Markdown. In `text` bars stand for the ends.
@pytest.mark.parametrize(
    "text",
    [
        'She came.| Did she?| "Yes!"| (It was late.)| They left.[12]| So be it…| Good',
        "He left the U.S.| The army stayed.| She said no.| No.| It was plan B.| They left at 5 p.m."
        "| In all",
        "太宗问曰：“此人是谁？”|判官道：“我……我不知道。”|他走了……|后来；|完！|你好!|我是3.5岁。",
        "Streets of asphalt.|It grew in 1859.|On it went.",
        "Grad E: Hello ?|\nProfessor A: Wow .| Mm - hmm|\nPhD B: and then|\nGrad F: Channel B .",
        "# Joan|\nShe was born\nin Domrémy.|\n- a banner|\n- a sword|\n1. Orléans|\n## End",
        "we met.| nobody came.",
        "\ufeffHello.| World",
        # A sentence runs on over the end of a short line, entries of a list and speech do not.
        "Revenue was 520\nmillion euros in 2020.| It ran in 1914-\n1918.| An F-\n16, Mary-\nAnn.",
        "It fell to -\n5 degrees.|\nThings to buy|\napples|\npears|\nGrad E: I th-|\nGrad F: No.",
        "a) The buyer pays|\nb) the seller|\n☑ garden|\n[x] cellar|\nAda: He is Jean-|\nBo: Oh",
        # A point that belongs to a word or a number ends nothing.
        "Mr. Hale met Dr. J. C. Penney and Gen. Lee of the U.S. Army.",
        "It cost 3.5 million, see p. 12, No. 5, fig. 2 and vol. 3 of the work.",
        "Apples, e.g. Cox, i.e. Cox's Orange Pippin vs. Bramley, are sour.",
        "George W. Bush and J.R.R. Tolkien wrote to J.-P. Sartre on Oct. 5 about Node.js.",
        "They waited ... and waited.",
        "Bolesław (b. 1127 – d. 7 May 1201) had a son (d. Paris, aft. 1143).| Plan b.| He",
        "1. First comes the flour.",
        "Er kam am 3. Mai 1931, z. B. Ada, in die Str. 5.| Es war alt.",
        "« Bonjour ! » et il partit.| « Non. »| Il partit.| »Nein«",
        '"Where?" he asked.',
        "“Stop!” Prince Andrew cried to them.",
    ],
)
def test_sentences(text: str) -> None:
    expected = [part.strip(" \n\ufeff") for part in text.split("|")]

    assert sentences(text.replace("|", "")) == expected
    assert sentences("one\n| a | b |\ntwo") == ["one", "| a | b |", "two"]


# A line of wrapped text that ends before its column, with a word that ends no sentence, runs on
# to a name; a line that ends otherwise does not.
@pytest.mark.parametrize(("end", "lines"), [("the citizens of", 1), ("the citizens left", 2)])
def test_short_line_before_a_name(end: str, lines: int) -> None:
    full = "It rained on the hills and the roads were full of water all day long"
    text = f"{full}\n" * 4 + f"\nFor years and for no reason {end}\nGranite had been in league"

    assert len(list(line_spans(text))) == 1 + lines


# In hard-wrapped text a line's end is a space; a blank line ends a sentence all the same.
def test_hard_wrapped_text() -> None:
    text = (
        "The English were not better than the French, but they had the\n"
        "excuse at least of being the enemy. France saved by a happy chance\n"
        "Joan of Arc from the actual blood of the pure and spotless Maid, and\n"
        "The Maid was prepared for the stake, which everybody there in the city\n"
        "of Rouen knew well enough before it had even begun, we are told, that\n"
        "day in May\n\nCHAPTER II\n\nA second one."
    )

    assert [len(sentence.split("\n")) for sentence in sentences(text)] == [2, 5, 1, 1]
    assert sentences(text)[2:] == ["CHAPTER II", "A second one."]


# Nothing but white space lies outside of the spans, which have none around them and no order lost.
@settings(deadline=None, max_examples=150)
@given(
    st.text(st.sampled_from("aB.?!…。；”\"') \n\t#-1我　\r\u2028") | st.characters(), max_size=80)
)
def test_nothing_is_lost(text: str) -> None:
    for spans in (sentence_spans(text), line_spans(text)):
        last = 0
        for start, end in spans:
            gap = text[last:start].removeprefix("\ufeff") if last == 0 else text[last:start]

            assert not gap.strip()
            assert text[start:end] == text[start:end].strip() != ""
            last = end
        assert not text[last:].strip("\ufeff" if last == 0 else None).strip()


# A line of 300,000 characters, or as many signs in a row, takes no quadratic time.
@pytest.mark.parametrize("unit", ["One sentence. ", ".", '."', "…", "\n", " ", "A", '"Go!" A '])
def test_linear_time(unit: str) -> None:
    began = time.perf_counter()
    list(sentence_spans(unit * (300_000 // len(unit)) + "x"))

    assert time.perf_counter() - began < 10


# The language is Chinese where Chinese characters outnumber other words.
@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", "en"),
        ("Joan of Arc (聖女貞德) was born in Domrémy.", "en"),
        ("Python 和 Neo4j 是两种不同的软件。", "zh"),
        ("却说唐太宗随着崔判官", "zh"),
        ("ジャンヌ・ダルクはフランスの国民的なヒロインです。", "en"),
        ("天" * 100_000 + "word " * 10_000, "zh"),
    ],
)
def test_language(text: str, language: str) -> None:
    assert language_of(text) == language
