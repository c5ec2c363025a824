"""The tokenizer: words of English and Chinese text in the form in which texts are compared.

A term is a folded, lightly stemmed word, a number, or a pair of Chinese characters. There is no
grammar and no dictionary: "Canadian" and "Canada", "directed" and "director" share a stem;
irregular forms and near synonyms are short lists, made for what questions about texts often ask.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import chain


def _groups(text: str) -> list[list[str]]:
    """Groups of words, separated by bars."""
    return [group.split() for group in text.split("|")]


_STOP_WORD_LIST = """
a about above across after again against all almost along already also although always am among an
and another any anybody anyone anything are aren't around as at away be became because become been
before began behind being below beside between beyond both but by came can can't cannot come could
couldn't d did didn't do does doesn't doing don't done down during each either else enough
especially even ever every everyone everything except few first for from further get gets getting
give given go goes going gone got had hadn't has hasn't have haven't having he her here hers herself
him himself his how however i i'd i'll i'm i've if in indeed instead into is isn't it it's its
itself just least let let's like likely ll m made make makes many may maybe me might mine more most
much must my myself near nearly neither never no nobody none nor not nothing now of off often oh on
once one only onto or other others otherwise our ours ourselves out over own per perhaps put quite
rather re really s said same say says several shall she should shouldn't since so some somebody
someone something sometimes soon still such t take taken than that that's the their theirs them
themselves then there therefore these they thing things this those though through thus till to
together too took toward towards under until up upon us used ve very was wasn't way we we're well
went were weren't what whatever when whenever where whereas wherever whether which while who whoever
whole whom whose why will with within without won't would wouldn't yes yet you you're your yours
yourself
"""

# Words that introduce a question and say nothing about what it asks for.
_QUESTION_WORDS = """
according answer appear based become belong call called common consider considered date describe
described detail explain feature find following happen happened include included including involve
kind known list long main many mean mention mentioned name named old part particular passage person
place popular question relate related relation say show similar sort stand take tell text think
thought time times type use various version year years
"""

# The kind of an answer, as in "which country". A text can give the answer without the word.
_ANSWER_KINDS = "birthday country nationality city county state early late long young first last"

# Words so common that one of them alone identifies nothing.
_COMMON_WORDS = """
able act action age air allow area arm army ask back bad bank base battle bear beat begin best
better big black blood blue board boat body book bring brother build building business buy car care
carry case cause center central centre century change chapter character chief child children choose
church city class clear close color come company complete control cost country course court create
cross cut daughter day dead deal death decide deep develop die different direct director do door
draw drive early earth east easy eat effect end enemy enter event example eye face fact fall family
famous far father feel field fight film final fire follow food foot force form four free friend
front full game general girl give go god gold good government great green ground group grow hand
happen hard head hear heart help high hill history hold home hope horse hour house human idea
important increase interest island issue job join keep kill king know lady land language large last
late later law lay lead leader learn leave left less letter level lie life light line little live
local long look lord lose lot love low man map mark market marry matter measure member mention
method mile military mind minute miss modern moment money month moon morning mother mountain move
movie music name nation national natural nature need new news night north note number object offer
office officer official old open order organization original own page paper parent party pass past
pay peace people play player point police political poor position possible power present president
problem produce product public queen question quick race reach read real reason receive record red
region release remain remember report represent require rest result return rich right rise river
road role room rule run school science sea season second see sell send series serve service set
share ship short show side sign simple sing sister sit situation small social society son song sort
sound south speak special stage stand star start state station stay step stone stop story street
strong student study subject success sun support system table talk teach team tell term test third
three time title today town trade travel tree try turn two type unit university use value victory
view village visit voice wait walk wall want war watch water week west white wide wife win wind
window wish woman women wood word work world write year young
"""

# Irregular forms after the word that stands for them.
_IRREGULAR_FORMS = """
lose lost loss losses | win won | bear born | die died dead death deaths dying | begin began begun
| write wrote written | sing sang sung | fight fought | lead led | leave left | make made | build
built | buy bought | sell sold | teach taught | think thought | bring brought | catch caught | find
found | hold held | keep kept | know knew known | grow grew grown | fall fell fallen | rise rose
risen | give gave given | choose chose chosen | speak spoke spoken | break broke broken | wear wore
worn | take took taken | see saw seen | go went gone | come came | become became | run ran | meet
met | send sent | spend spent | pay paid | lay laid | lie lay lain | say said | tell told | sit sat
| stand stood | strike struck | shoot shot | steal stole stolen | draw drew drawn | drive drove
driven | ride rode ridden | fly flew flown | flee fled | swim swam swum | sink sank sunk | drink
drank drunk | eat ate eaten | forget forgot forgotten | hide hid hidden | child children | man men
| woman women | person people | foot feet | wife wives | life lives | live lived living | city
cities | marry marriage
"""

# Near synonyms in questions and their answers. They support each other less than the word itself.
_SYNONYMS = """
lose defeat unsuccessful repulse withdraw retreat surrender beaten | win victory victorious defeat
conquer triumph beat capture champion | battle fight war siege assault attack combat campaign
skirmish army | spouse husband wife marry wed widow bride | father mother parent son daughter child
| sibling brother sister | grandfather grandmother grandson granddaughter | die kill execute
assassinate bury | bear birth native birthplace | found establish create start form | write author
writer novel book poem | film movie | direct director | play star portray actor actress cast |
perform singer sing band record artist | compose composer music | invent inventor discover develop
| locate situated lie stand near region | capital headquarters seat base | population inhabitants
people residents | job occupation profession work career | country nation state nationality | city
town village municipality | county district province state | river stream tributary | study educate
graduate attend university college school | team club squad | religion faith church christian islam
muslim jewish | language speak spoken | own owner belong acquire buy | produce make manufacture |
release publish issue launch | end finish cease abolish dissolve | begin start open | large big
great | old ancient early | visit travel journey arrive | king queen monarch emperor ruler reign |
president leader head govern | weather climate temperature rain | money cost price pay salary |
percentage percent proportion share | england english british britain | france french | germany
german | spain spanish | netherlands dutch | usa america american | 妻子 丈夫 夫人 结婚 | 父亲 母亲
儿子 女儿 | 去世 逝世 病逝 死亡 | 出生 生于 | 成立 创立 建立 创办 创建 | 作者 作家 著作 小说 | 别名
俗名 又称 别称 | 毕业 就读 | 启用 开通 通车 投入
"""

_MONTHS = "January February March April May June July August September October November December"
MONTHS = _MONTHS.split()

# Chinese words that only ask or introduce, and characters that only join. What stands between them
# is a word or a name. A name that contains such a character is cut.
_CHINESE_QUESTION_WORDS = """
为什么 什么时候 什么样 什么 为何 何时 何地 何处 何种 哪些 哪里 哪个 哪种
哪一年 哪一 哪位 哪年 哪家 哪 谁 多少 多大 多长 多高 几个 几年 几 如何
怎么样 怎么 怎样 怎 是否 有没有 请问 可以 吗 呢 分别 称为 称呼 叫做 叫作 叫
包括 具有 有哪 主要 位于 属于 来自于 来自 进行 通常 一般 可能 根据 成为 担任
特点 特性 地点 名字 原因 一个 这一 所指 其中 方面 时候 时期 之间 之后 之前
以及 例如 因为 所以 由于 但是 此外 另外 现任 曾任 现今 亦是 就是 不是 还是
或者 并且 而且 虽然 如果 那么 这个 那个 他们 她们 它们 我们 你们 自己
"""
_CHINESE_PARTICLES = (
    "的了是在和与及或而但也都就被把由从对于以为之其这那有着等并又则"
    "曾使让给很最更还个们他她它我你您不没会能要到"
)

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
HAN_RUN = re.compile(f"[{HAN}]+")
_CHINESE_JOINTS = re.compile(
    "|".join(
        [*sorted(_CHINESE_QUESTION_WORDS.split(), key=len, reverse=True), f"[{_CHINESE_PARTICLES}]"]
    )
)
_CHUNK_NUMBER = re.compile(r"\W+(?:chunk )?\[?\d+\]?$")
_WORD = re.compile(rf"\d+(?:[.,]\d+)*|[^\W\d_{HAN}]+(?:['’.][^\W\d_{HAN}]+)*")

# Suffixes in the order in which they are tried, with the fewest letters that must be left.
_SUFFIXES = [
    (suffix, fewest)
    for suffixes, fewest in (
        ("izations ization ations ation itions ition nesses ments ness ment ities ians ian", 4),
        ("ions ion isms ism ists ist", 4),
        ("ings ing ers ors ess ies ity ied", 3),
        ("ive ans an als al ly", 4),
        ("ed er or es s e y a", 3),
    )
    for suffix in suffixes.split()
]
_STOP_WORDS = frozenset(_STOP_WORD_LIST.split())
_BASE_FORMS = {form: forms[0] for forms in _groups(_IRREGULAR_FORMS) for form in forms}


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """The word in lower case, without accents and without a possessive 's."""
    word = word.replace("’", "'").casefold()
    if not word.isascii():
        decomposed = unicodedata.normalize("NFKD", word)
        word = "".join(sign for sign in decomposed if not unicodedata.combining(sign))
    return word.removesuffix("'s").rstrip("'.")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """What similar forms of a folded word have in common; not always a word itself."""
    word = _BASE_FORMS.get(word, word)
    if not word.isalpha() or len(word) < 4:
        return word
    for _ in range(2):
        for suffix, fewest in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= fewest:
                word = word[: -len(suffix)]
                break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word


# The lists are compared by stem, so that "battles" is as common as "battle".
_QUESTION_STEMS = frozenset(map(stem, _QUESTION_WORDS.split()))
_COMMON_STEMS = frozenset(map(stem, _COMMON_WORDS.split()))
_KIND_STEMS = frozenset(map(stem, _ANSWER_KINDS.split()))
_SYNONYMS_OF: dict[str, frozenset[str]] = {}
for _stems in (frozenset(map(stem, group)) for group in _groups(_SYNONYMS)):
    _SYNONYMS_OF |= {term: _SYNONYMS_OF.get(term, frozenset()) | _stems for term in _stems}


def words_of(text: str) -> list[str]:
    """The words and numbers of `text` outside Chinese, as written, with stop words."""
    return _WORD.findall(text)


def is_stop_word(word: str) -> bool:
    """Whether the word says nothing about the subject of a text."""
    return not _has_content(fold(word))


def is_question_word(term: str) -> bool:
    """Whether a term only introduces a question."""
    return term in _QUESTION_STEMS


def is_common(term: str) -> bool:
    """Whether a term is so common that it identifies nothing alone."""
    return term in _COMMON_STEMS


def is_answer_kind(term: str) -> bool:
    """Whether a term names the kind of the answer, which a text can give without the word."""
    return term in _KIND_STEMS


def synonyms_of(term: str) -> frozenset[str]:
    """Terms that mean nearly the same, without the term itself."""
    return _SYNONYMS_OF.get(term, frozenset()) - {term}


@lru_cache(maxsize=8192)
def terms_of(text: str) -> frozenset[str]:
    """The terms by which `text` is compared: stems of its content words, pairs of Han characters.

    Numbers stay exact ("1,000" is "1000"). A single Han character between other signs counts.
    """
    words = (fold(word) for word in words_of(text))
    stems = (term_of(word) for word in words if _has_content(word))
    return frozenset(chain(stems, han_pairs(text)))


def title_terms(label: str) -> frozenset[str]:
    """The terms of a chunk's label ("Joan of Arc, chunk 3") without the chunk's number."""
    return terms_of(_CHUNK_NUMBER.sub("", label))


def term_of(folded_word: str) -> str:
    """The term of one folded word or number."""
    return folded_word.replace(",", "") if folded_word[0].isdigit() else stem(folded_word)


def han_pairs(text: str) -> list[str]:
    """Every two neighboring Han characters; a run of one character as it is."""
    pairs: list[str] = []
    for run in HAN_RUN.findall(text):
        pairs.extend(run[i : i + 2] for i in range(max(1, len(run) - 1)))
    return pairs


def chinese_pieces(text: str) -> list[str]:
    """Runs of two or more Han characters between question words and particles."""
    pieces = (piece for run in HAN_RUN.findall(text) for piece in _CHINESE_JOINTS.split(run))
    return [piece for piece in pieces if len(piece) > 1]


def _has_content(folded_word: str) -> bool:
    """Not a stop word and not a single letter; a single digit can be what a question asks for."""
    return folded_word not in _STOP_WORDS and (len(folded_word) > 1 or folded_word.isdigit())
