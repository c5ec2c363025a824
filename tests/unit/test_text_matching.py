"""Quotes in a text: other typography is found, other words, numbers and names are not."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphreader.text.matching import locate

TEXT = "It began.\nJoan said: “I  was\nthere – in Rouen’s tower.” It ended. 贞德生于法国。"
CHINESE = "祖师说：“也罢”，悟空 （Wukong）在2008 年道。"
SIGNS = "The price (in $) was 3.5* [net] + tax?\nYes."


# A quote is found where it stands, whatever became of white space, quotation marks and dashes, and
# of the width of Chinese punctuation; signs of regular expressions are plain text.
@pytest.mark.parametrize(
    ("text", "quote", "passage"),
    [
        (TEXT, "It began.", "It began."),
        (TEXT, "I was there - in Rouen's tower.", "I  was\nthere – in Rouen’s tower."),
        (TEXT, "“I was\tthere", "I  was\nthere"),
        (TEXT, "... It ended …", "It ended"),
        (TEXT, "it began.", "It began."),
        (TEXT, "贞德生于法国。", "贞德生于法国。"),
        (SIGNS, "(in $)  was 3.5* [net] + tax?", "(in $) was 3.5* [net] + tax?"),
        (CHINESE, '祖师说:"也罢"', "祖师说：“也罢"),
        (CHINESE, "祖师说：‘也罢’，悟空（Wukong）在2008年道。", CHINESE),
        (CHINESE, "祖师说：『也罢』、悟空", "祖师说：“也罢”，悟空"),
    ],
)
def test_quotes_are_found(text: str, quote: str, passage: str) -> None:
    span = locate(quote, text)

    assert span is not None
    assert text[slice(*span)] == passage


# What does not stand in the text is not found, however near it comes.
@pytest.mark.parametrize(
    "quote", ["", "   ", "...", "I was not there", "IT began", "贞德生于英国", "祖师说：‘不罢’"]
)
def test_inventions_are_not_found(quote: str) -> None:
    assert locate(quote, TEXT + CHINESE) is None


# The text as it is typeset, and the quote as a model or a person writes it.
@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("of navi-\ngation on the Scheldt", "of navigation on the Scheldt"),
        ("her well-\nread sister", "her well-read sister"),
        ("COVID-\n19 and the Anglo-\nSaxon", "COVID-19 and the Anglo-Saxon"),
        ("NAVI-\nGATION ON THE SCHELDT", "Navigation on the Scheldt"),
        ("to\xadge\xad\nther, low\u200blands", "together, lowlands"),
        ("an eﬀective, ﬁnal toll", "an effective, final toll"),
        ("Zoe\u0308 Brontë", "Zoë Bronte\u0308"),
        ("\u1112\u1161\u11ab국의 수도", "한국의 수도"),
        ("ＡＢＣ　１２３ ｶﾞﾗｽ", "ABC 123 ガラス"),
        ("a half‑timbered house", "a half-timbered house"),
        ("war—peace—war", "war--peace-war"),
        ("fell to −17.5 crowns", "fell to -17.5 crowns"),
        ("THE TENANT, McNEIL, OWES IN MAY 5 MW", "THE TENANT, McNEIL, owes in May 5 MW"),
        ("the œuvre sold at ¾ price", "the oeuvre sold at 3/4 price"),
        ("1½ hours for 10⁻³ g of H₂O", "1 1/2 hours for 10^-3 g of H2O"),
        ("a **bold** claim, _see_ `code` here", "a bold claim, see code here"),
        ("see [the deed](https://deeds.example/a_(b)) now", "see the deed now"),
        ("这是**重要**的，见[契约](https://deeds.example)。", "这是重要的，见契约。"),
        ("王\n伟卖掉了磨坊", "王伟卖掉了磨坊"),
        ("said… nothing of 5′ 3″", "said... nothing of 5' 3\""),
        ("İzmir’de bir gün", "I\u0307zmir'de bir gün"),
        ("- 5 kg of flour\n- 6 eggs", "5 kg of flour"),
        ("in 1931 100 men fell", "100 men fell"),
        ("東京は日本の首都です", "東京は日本の首都"),
        ("母は帰るなら電話する", "母は帰る"),
        ("![Lock](pic/lock.png) The lock gate rose", "The lock gate rose"),
        ("- **7 sacks** of oats\n- 2 hens", "7 sacks of oats"),
        ("Ruth sang.[4] Otto wept", "Ruth sang. Otto wept"),
        ("Ruth sang;[4][note 2] Otto wept", "Ruth sang; Otto wept"),
        ("Ruth sang[4]. Otto wept", "Ruth sang. Otto wept"),
        ("Ruth sang.² Otto wept", "Ruth sang. Otto wept"),
        ("他卖了磨坊。[5]她走了", "他卖了磨坊。她走了"),
        ("lost 8% of it at 3 °C", "lost 8 % of it at 3°C"),
        ('he cried "they were 60" and fled', "they were 60"),
        ("he cried ‘they were 60’ and didn't stay", "they were 60"),
        ("er rief „es waren\n60“ und ging", "es waren 60"),
        ("他说“一共有60”就走了", "一共有60"),
        ('他说"一共有60"就走了', "一共有60"),
        ("母は「全部は60」と言った", "全部は60"),
        ("“I sold the barn—” she began", "I sold the barn"),
        ("| 60 geese | for x = 90 days", "60 geese"),
        ("She slept.He woke", "She slept"),
        ("यह घर है। वह गया", "यह घर है"),
        ("他在柏林。IBM公司也在", "IBM公司也在"),
        ("in 1850 £40 was much", "in 1850"),
        ("老陈建了石桥。1926年石桥被冲走", "老陈建了石桥。"),
        ("老陈建了石桥。1926年石桥被冲走", "1926年石桥被冲走"),
        ("全村共有28。1926年又少了", "全村共有28。"),
        ("祖父は橋を架けた。１９２６年に流された", "祖父は橋を架けた。"),
        ("祖父は橋を架けた．１９２６年に流された", "１９２６年に流された"),
        ("老陈等了……1926年才走", "1926年才走"),
        ("老陈走了——1926年的事", "1926年的事"),
        ("老陈走了——一九二六年的事", "老陈走了——"),
        ("记于1925，1926年各册", "1926年各册"),
        ("共1，250，后来减了", "共1，250"),
        ("见于1925、1926年各册", "1926年各册"),
        ("老陈说「共有28」1926年又", "1926年又"),
        ("할아버지가 다리를 놓았다.1926년에 무너졌다", "1926년에 무너졌다"),
        ("पुल बना था।1926 में बह गया", "1926 में बह गया"),
        ("بنى الجسر؟1926 انهار", "1926 انهار"),
        ("Anna built the bridge.1926 saw it fall", "Anna built the bridge."),
        ("Anna waited...1926 came", "1926 came"),
        ("built by Anna—1926 was wet", "1926 was wet"),
        ("built by Anna — 1926 was wet", "1926 was wet"),
        ("built in 1926—Anna was ten", "built in 1926"),
        ("—Где Анна? Она ушла", "— Где Анна?"),
    ],
)
def test_typography(text: str, quote: str) -> None:
    assert locate(quote, text)
    whole = f"Before. {text} After."
    if not text.startswith("-"):  # an item of a list
        assert locate(quote, whole)


# A part of a word or of a number, another number, unit, name or negation: each is another text.
@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("paid 17.5 crowns", ["paid 17", "5 crowns", "paid 175", "paid 17,5"]),
        ("paid 1,250 crowns", ["paid 1", "250 crowns", "paid 1,25", "paid 1250"]),
        ("paid 2 000 000 crowns", ["paid 2", "000 crowns", "paid 2 000"]),
        ("fell to −42 crowns", ["42 crowns", "to 42 crowns"]),
        ("fell to - 42 crowns", ["42 crowns"]),
        ("lost −$5 million", ["$5 million", "5 million"]),
        ("some .5 apples, <3 mg, 5% of", ["5 apples", "3 mg, 5%", "3 mg, 5"]),
        ("made 10² copies", ["made 10", "made 102 copies", "102 copies"]),
        ("made 10²3 copies", ["made 10^23 copies", "made 10^2", "3 copies"]),
        ("made 10⁻³ copies", ["made 10^3", "made 103", "made 10-3"]),
        ("took 1½ hours", ["took 1", "1/2 hours", "took 11/2 hours", "took 1/2 hours"]),
        ("took ½\u200b5 hours", ["took 1/25 hours", "took 1/2"]),
        ("gave 2*3, 2*\u200b3 and 10[5](https://a.example)", ["gave 23", "23 and", "and 105"]),
        ("from 10① and ③ ㎡", ["from 101", "and 3 m2"]),
        ("1" + "\u200b" * 400 + "5 apples", ["5 apples"]),
        ("in 1914-\n18 and 1990–95", ["in 191418", "in 1914", "and 1990"]),
        ("a 5 mW laser, 3 MW of power", ["a 5 MW laser", "a 5 Mw laser", "3 mW of power"]),
        ("log₂8 of CO₂", ["log28", "log2", "8 of CO", "of CO₂5"]),
        ("O'Brien, AT&T and an F-16", ["Brien, AT&T", "T and an F-16", "O'Brien, AT", "and an F"]),
        ("didn’t, cannot", ["didn", "didn’t, can"]),
        ("a non-member and non-\nsmoker", ["member and", "a non", "smoker", "a nonmember"]),
        ("a re-sign, a resign", ["resign, a", "a re-sign, a re-sign"]),
        ("an oﬀ day, a ﬁnal", ["an of", "nal day", "f day"]),
        ("Bill of the IT house", ["bill of the it house", "Bill of the it house"]),
        ("in Maßen, in cafés", ["in Massen", "in cafes", "in café"]),
        ("he is guilty", ["he is not guilty", "he isn't guilty"]),
        ("he is ~~not~~ guilty, he is [not](https://a.example) mad", ["he is guilty", "he is mad"]),
        ("snake_case here", ["snakecase here", "snake", "case here"]),
        ("A\u0301gnes and Agnes\u0301", ["gnes and Agnes", "and Agnes"]),
        ("长3。5里，价1，250元，共２，５００只", ["5里，价", "250元，共", "里，价1", "５００只"]),
        ("看第3．5节，比10：30早", ["5节，比", "看第3", "30早", "，比10"]),
        ("降到—5度以下", ["5度以下"]),
        ("fell to —5 degrees", ["5 degrees", "fell to —6"]),
        ("of 5 kg—10 kg, 1926—1931", ["of 5 kg", "10 kg, 1926", "kg, 1926—"]),
        ("in A.5 and of .5 t", ["in A.", "5 and", "5 and of", "5 t"]),
        ("十五万人，三分之一的人", ["五万人，", "一的人死", "五万人，三"]),
        ("他不同意这个条约", ["同意这个条约", "他同意这个条约"]),
        ("负五度的天气，三点五亿", ["五度的天气", "天气，三", "五度的天气，三点五亿"]),
        ("価格は15万円", ["価格は15", "価格は5万円"]),
        ("彼は行かない", ["彼は行か", "彼は行く"]),
        ("母は帰るな、飲むな", ["母は帰る", "母は帰るな、飲む"]),
        ("70 mm of snow, 9 g of tin", ["70 Mm of snow", "Mm of snow", "9 G of tin"]),
        ("an un**fair** offer, un[kind](http://c.example) men", ["fair offer", "kind men"]),
        ("an un*fair* offer, un`kind` men", ["fair offer", "kind men"]),
        ("**3**400 francs, rose to 40**7**", ["400 francs", "rose to 40"]),
        ("taught C# and C++, Li+, Fe3+", ["taught C", "C# and C", "C# and C+", "C++, Li"]),
        ("marked B- by Vue.js in .NET style", ["marked B", "B- by Vue", "js in .NET", "NET style"]),
        ("write to eva@y.example today", ["write to eva", "y.example today", "example today"]),
        ("ran 70 km/h, made 30×10⁶, or 80٪", ["ran 70 km", "made 30", "30×10⁶, or 80"]),
        ("was ≠31, ∓32, ≪33, ⩽35, -(36 men)", ["31, ∓32", "32, ≪33", "33, ⩽35", "36 men"]),
        ("was &lt;31 men, 2×45 cows", ["31 men", "45 cows"]),
        ("$3 million, US$4 million", ["3 million", "4 million", "$4 million"]),
        ("cost €6 million, or 80 €", ["6 million", "6 million, or 80 €", "€6 million, or 80"]),
        ("is 5' 11\" tall", ["is 5", "is 5'", "is 5' 11", '11" tall']),
        ('is 70" wide, 40′ long', ["is 70", "is 70'", 'is 70" wide, 40']),
        ('he said "yes" of 70” wood, of 3 × 10⁶', ['yes" of 70', "wood, of 3"]),
        ("Ruth sang [not] of 20 m² here", ["Ruth sang of", "20 m here"]),
    ],
)
def test_other_texts(text: str, quotes: list[str]) -> None:
    for quote in quotes:
        assert locate(quote, text) is None
        assert locate(quote, f"Before. {text} after it.") is None


# A place inside of a word does not hide a later place of the quote.
def test_next_place() -> None:
    text = "another man; others; 1,000 men; the other men"

    assert locate("other men", text) == (36, 45)
    assert locate("the other", text * 50) == (32, 41)


# A quote runs over the foot and the head of pages, whose lines recur but for their numbers; other
# lines at the edge of a page are text.
def test_pages() -> None:
    pages = [
        f"Report 2019 – page {number}\nthe basin in year {number}. {name} kept the lock.\n"
        f"The board made rules for\nConfidential {number} of 3"
        for number, name in enumerate(("Ada Moe", "Tom Vik", "Eva Rud"), 1)
    ]
    text = "\n\n".join(pages)
    starts = [text.index(page) for page in pages]
    span = locate("made rules for the basin in year 2.", text, starts)

    assert span is not None
    assert text[slice(*span)].split("\n")[1:4] == [
        "Confidential 1 of 3",
        "",
        "Report 2019 – page 2",
    ]
    assert locate("made rules for the basin in year 2.", text) is None
    assert locate("made rules for the basin in year 4.", text, starts) is None
    assert (
        locate("the lock. The lock was sold", "the lock.\nNot so:\n\nThe lock was sold", [19])
        is None
    )


WORDS = ["the", "mill", "lock", "Ada", "Bergen", "Holt", "sold", "kept", "built"]
WORDS += ["12 men", "1931 was", "4.5 t", "-3 degrees", "1,250 men", "½ acre", "10² men"]
WORDS += ["not", "never", "in", "near", "by"]
OTHERS = ["13 men", "1932 was", "4.6 t", "-4.5 t", "45 t", "3 degrees", "125 men", "1,251 men"]
OTHERS += ["1 acre", "1½ acre", "½ men", "10³ men", "10 men", "102 men", "Eva", "Malmo", "un"]


# Of a text of these words every run is found, also in capitals, and none after a change of a
# number or a name, or with a negation more or less.
@given(st.lists(st.sampled_from(WORDS), min_size=4, max_size=14), st.data())
def test_changes(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    start = data.draw(st.integers(0, len(words) - 3))
    end = data.draw(st.integers(start + 3, len(words)))
    run = words[start:end]
    at = data.draw(st.integers(0, len(run) - 1))
    changed = [*run[:at], data.draw(st.sampled_from(OTHERS)), *run[at + 1 :]]
    negated = [*run[:at], data.draw(st.sampled_from(["hardly", "no", "nor"])), *run[at:]]
    less = [word for word in run if word not in ("not", "never")]

    span = locate(" ".join(run), text)
    assert span is not None
    assert text[slice(*span)] == " ".join(run)
    assert locate(" ".join(run).upper(), text.upper()) is not None
    for other in (changed, negated, less):
        spaced = " ".join(other)
        assert locate(spaced, text) is None or f" {spaced.lower()} " in f" {text.lower()} "


# No order of marks, dashes, links and white space stops the search.
@given(
    st.lists(
        st.sampled_from([*"![]()*_`-–— \n1a.#不\u200b\xad½", "](a.b)", "](#c-d)"]), max_size=30
    )
)
def test_marks(tokens: list[str]) -> None:
    text = "".join(tokens)

    assert locate("The lock gate rose", f"{text}. The lock gate rose")
    assert locate("The lock gate fell", f"{text}The lock gate rose") is None


# Whatever is found has the quote's letters and its digits, and ends where they end.
@given(
    st.text(
        alphabet="abfi-\n*_`[]()é\u0308\u200b\xadﬁ½²³₂①1５.。，'’−+ 陈不五—/:hc#%", max_size=40
    ),
    st.integers(0, 40),
    st.integers(4, 40),
    st.sampled_from(["", "\u200b", "*", "-", "1", ".", "not ", "²", "\n", "fi"]),
)
def test_letters_and_digits(text: str, start: int, size: int, added: str) -> None:
    def signs(part: str) -> str:
        plain = unicodedata.normalize("NFKC", part).casefold()
        return "".join(one for one in plain if one.isalnum())

    quote = text[start : start + size // 2] + added + text[start + size // 2 : start + size]
    span = locate(quote, text)
    if span is None or "](" in text:
        return
    assert signs(quote) == signs(text[slice(*span)])
    before, after = text[: span[0]], text[span[1] :]
    first, last = text[span[0]], text[span[1] - 1]
    assert not (first.isdigit() and before[-1:].isdigit())
    assert not (last.isdigit() and after[:1].isdigit())
    assert not (last in "abfi" and after[:1] and after[0] in "abfiéﬁ\u0308")
