"""Two wordings of one key element get one key, by rules alone (paper, section 3.2).

Unicode forms, case, white space, surrounding punctuation, the possessive, the article before two or
more words, the plural of an English word, the infinitive of a regular verb, the points of an
abbreviation, the commas of a number: nothing that needs meaning. So "Joan of Arc" and "the Maid of
Orléans" stay two, as do "run" and "ran", "The Who" and "who", traditional and simplified Chinese.
Where a rule is in doubt it does nothing: two nodes for one thing cost little, one node for two
things gives wrong answers. This is the rule aggregation of InsTag (Lu et al. 2023), which stems.

The singular of an English word, by its ending and by lists of words that only look like plurals.

It works on lower-case words, where names cannot be told by their capitals: those whose stem is a
name too (Williams, Adams) or a word (Mars, Wells) are listed, as are places. It knows no verbs.

The infinitive of an English verb in -ed or -ing, by a list of regular verbs.

A verb is listed only where no form of it has a meaning of its own as a noun: "building" is not
"build", "recorded" not "record", "founded" not "found". Irregular forms stay as they are. The
endings -ize and -ify need no list.

Ways to write one wording: hyphens, points, accents, British and American spelling.

Each function brings one way of writing to another one; two keys that become equal are one wording.
Only what is certain is listed: "programme", "tyre", "cheque" and "storey" are not, because their
American spellings are words of their own.
"""

import re
import unicodedata
from functools import lru_cache


def singular(word: str, phrase: str) -> str:
    """The singular of the lower-case `word` that ends `phrase`, or the word itself if in doubt."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word in _NO_PLURAL or "_".join(phrase.split()[-2:]) in _NO_PLURAL_PHRASES:
        return word
    if word.endswith("ics"):
        return word[:-1] if word in _PLURAL_OF_ICS else word
    if word.endswith(("as", "os")):
        return word[:-1] if word in _PLURAL_OF_VOWEL else word
    return _without_ending(word)


def _without_ending(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 or word in _IE else word[:-3] + "y"
    if word.endswith("oes"):
        return word[:-1] if word in _OE else word[:-2]
    if word.endswith(("ches", "shes", "xes", "sses", "tzes", "zzes")) and word not in _CHE:
        return word[:-2]
    return word[:-1]


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_IRREGULAR = dict(
    pair.split(":")
    for pair in _words(
        "children:child women:woman men:man feet:foot teeth:tooth geese:goose mice:mouse oxen:ox "
        "policemen:policeman gentlemen:gentleman noblemen:nobleman clergymen:clergyman "
        "fishermen:fisherman horsemen:horseman workmen:workman countrymen:countryman "
        "statesmen:statesman salesmen:salesman businessmen:businessman "
        "grandchildren:grandchild stepchildren:stepchild "
        "knives:knife lives:life wives:wife housewives:housewife wolves:wolf "
        "thieves:thief halves:half shelves:shelf calves:calf loaves:loaf scarves:scarf elves:elf "
        "buses:bus gases:gas lenses:lens viruses:virus campuses:campus bonuses:bonus "
        "choruses:chorus circuses:circus censuses:census statuses:status focuses:focus "
        "surpluses:surplus geniuses:genius atlases:atlas canvases:canvas "
        "crises:crisis theses:thesis hypotheses:hypothesis analyses:analysis diagnoses:diagnosis "
        "syntheses:synthesis parentheses:parenthesis oases:oasis emphases:emphasis quizzes:quiz"
    )
)

_IE = _words(
    "movies cookies zombies calories prairies genies pixies brownies rookies hippies collies "
    "eyries magpies neckties"
)

_OE = _words("shoes horseshoes snowshoes canoes toes tiptoes foes hoes woes oboes aloes throes")

_CHE = _words(
    "aches headaches toothaches caches niches avalanches moustaches mustaches psyches axes"
)

_PLURAL_OF_VOWEL = _words(
    "ideas areas seas teas peas pleas eras fleas cameras dramas formulas operas pizzas sofas "
    "villas visas gorillas umbrellas arenas cinemas agendas dilemmas diplomas plazas schemas "
    "pandas enigmas stigmas magnolias militias encyclopedias aromas bananas pyjamas photos "
    "videos radios studios zoos pianos memos euros logos kilos tattoos cargos ratios scenarios "
    "portfolios casinos discos egos embryos ghettos manifestos mosquitos solos sopranos stereos "
    "tangos tempos trios tuxedos volcanos kangaroos bamboos patios pesos dynamos"
)

_PLURAL_OF_ICS = _words(
    "topics critics clinics comics fabrics mosaics relics lyrics metrics characteristics "
    "heretics fanatics sceptics skeptics picnics attics antics medics cynics alcoholics "
    "romantics tics"
)

_NO_PLURAL_PHRASES = _words("united_states united_nations")

_NO_PLURAL = _words(
    # words
    "news series species means lens summons corps headquarters barracks gallows measles mumps "
    "shambles innings mews crossroads scissors trousers pants jeans thanks clothes goods arms "
    "customs outskirts surroundings proceedings remains odds riches leaves woods wells does "
    "goes says always perhaps besides towards backwards forwards upwards downwards afterwards "
    "sometimes nowadays indoors outdoors upstairs downstairs hers ours yours theirs unawares "
    "aids sars mers bios rabies scabies "
    # places and peoples
    "athens wales naples brussels cannes versailles marseilles tours orleans rheims reims "
    "troyes bourges amiens nantes rennes limoges angers poitiers sens ypres vosges algiers "
    "netherlands philippines maldives seychelles andes alps ardennes pyrenees hebrides cyclades "
    "thames rhodes thebes euphrates ganges indies flanders hastings massachusetts illinois "
    "angeles aires mars "
    # names of persons
    "james charles giles jules georges jacques yves gilles agnes ines dolores hans jens lars "
    "mats anders niels frans hermes ares hercules achilles socrates pericles aristophanes "
    "euripides sophocles archimedes demosthenes xerxes artaxerxes rameses ramses mercedes "
    "cervantes descartes hobbes keynes barnes holmes hughes jones yates keats yeats brahms "
    "dickens rubens siemens abrahams adams andrews daniels davies davids edwards edmunds evans "
    "gibbs griffiths hawkins hopkins humphreys isaacs jacobs jeffries jenkins johns matthews "
    "michaels nichols owens parsons perkins peters phillips philips reynolds richards roberts "
    "robbins rodgers rogers samuels sanders saunders simmons simons stephens stevens symonds "
    "walters watkins watts wilkins williams withers hodges briggs higgins collins rawlings "
    "rollins mullins cummings jennings billings gonzales morales rosales torres flores reyes "
    "aries moses"
)

_MADE = re.compile(r"([a-z]{3,}if)(?:ied|ying)|([a-z]{3,}iz)(?:ed|ing)")


def infinitive(word: str) -> str:
    """The infinitive of a lower-case word, or the word itself if in doubt; -s is for plurals."""
    if not word.endswith(("ed", "ing")):
        return word
    made = _MADE.fullmatch(word)
    if made:
        return f"{made[1]}y" if made[1] else f"{made[2]}e"
    return _INFINITIVE_OF.get(word, word)


def _forms(verb: str) -> tuple[str, str]:
    if verb.endswith("+"):  # doubles its last letter
        return f"{verb[:-1]}{verb[-2]}ed", f"{verb[:-1]}{verb[-2]}ing"
    if verb.endswith("e"):
        return f"{verb}d", verb + "ing" if verb.endswith("ee") else f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in "aeo":
        return f"{verb[:-1]}ied", f"{verb}ing"
    return f"{verb}ed", f"{verb}ing"


def _verb_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_VERBS = _verb_words(
    "abandon abolish absorb accept accompany accomplish accuse achieve acknowledge acquire adapt "
    "adopt advise allow announce appear applaud appoint appreciate approve arrive ascend "
    "assassinate assemble assert assist assume attend avoid awaken banish believe betray "
    "borrow bury calculate celebrate collaborate collapse communicate compel+ compete complain "
    "complete compose conceal condemn confess confirm confiscate conquer consist construct contain "
    "continue contribute convince cooperate create deceive declare dedicate defeat defend defy "
    "deliver demolish deny depart depend depict deport derive descend describe deserve despise "
    "destroy detect deteriorate develop devour disagree disappear discover discuss dismiss "
    "disperse dissolve distribute donate elect eliminate embrace emerge emigrate employ enable "
    "encourage enjoy enlist enroll ensure entertain establish evacuate evaluate examine exclude "
    "execute exist expand expel+ explain explode explore expose extend fail flourish generate "
    "happen hesitate illustrate imagine imitate implement imprison improve include increase "
    "inform inhabit inherit injure inquire insist inspire install introduce invade invent "
    "investigate invite isolate kill locate maintain marry migrate motivate neglect negotiate "
    "nominate obey observe obtain occupy occur+ offend oppose oppress participate perceive "
    "perform persecute persuade possess postpone praise preach predict prefer+ prepare preserve "
    "prevail prevent proclaim produce prohibit promote propose prosecute protect prove provide "
    "provoke punish pursue receive recommend recover reduce refer+ reject rejoice release rely "
    "remember remind remove renounce repeat replace represent rescue resemble resign resist "
    "resolve respond restore restrict retire reveal revise revive seize select separate solve "
    "submit+ succeed suffer suggest supervise suppress surrender survive suspend terminate "
    "threaten tolerate transform translate transmit+ vanish vary violate visit wander weaken"
)

_INFINITIVE_OF = {form: verb.rstrip("+") for verb in _VERBS for form in _forms(verb)}
LONGEST = 200  # characters: what Neo4j indexes must not be long
_REMOVED = re.compile("[\ud800-\udfff\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_APOSTROPHE = re.compile("[’‘ʼ´`′＇]")
_DASH = re.compile(r"[‐‑‒–−]")
_QUOTE = re.compile("[“”„‟«»〝〞]")
_DOT = re.compile(r"(?<=[^\W\d_])[・•‧∙⋅](?=[^\W\d_])")  # between the parts of a foreign name
_SUPERSCRIPT = re.compile(r"(?<=\d)(?=[²³¹⁰⁴-⁹⁻])")
_FRACTION = re.compile(r"(?<=\d)(?=[¼-¾⅐-⅞])")
_POSSESSIVE = re.compile(r"(?<=\w)'s\Z|(?<=s)'(?!\w)")
_ABBREVIATION = re.compile(r"(?<![\w.])[^\W\d_](?:\.[^\W\d_])+(?!\w)\.?")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,]|\.\d+,)")
_ARTICLE = re.compile(r"\Athe (?=\S+ \S)")
_LAST_WORD = re.compile(r"(?<![^\s-])[a-z]{4,}\Z")
_PLAIN = re.compile(r"[a-z0-9]+(?:[ -][a-z0-9]+)*")
_BEFORE_NUMBERS = "-+."  # these belong to what they stand at: -5, .5; #3, @name; C++, C#, 5%
_BEFORE_WORDS = "#@&§"
_BEHIND_WORDS = "%‰°+#"

_OPENED_BY = {
    ")": "(",
    "]": "[",
    "}": "{",
    "）": "（",
    "》": "《",
    "」": "「",
    "』": "『",
    "】": "【",
}


def clean_surface(surface: str) -> str:
    """The wording as it can be stored and shown: one line, trimmed, at most 200 characters."""
    return " ".join(_REMOVED.sub("", surface).split())[:LONGEST].strip()


def normalize(surface: str) -> str:
    """The key that all wordings of one key element share; empty where nothing is left.

    At most 200 characters. A key is its own key: `normalize(normalize(x)) == normalize(x)`. Case
    is no part of it, so plurals are told from names such as "Paris" by lists, and only in words of
    a to z; Chinese and other scripts keep every character.
    """
    key = clean_surface(surface).lower()
    for _ in range(LONGEST):
        before = key
        key = _one_form(key) if _PLAIN.fullmatch(key) else _one_form(_one_writing(key))
        if key == before:
            break
    return key


def _one_writing(text: str) -> str:
    """Without what signs, case and spaces can differ in; plain words need none of this."""
    text = _FRACTION.sub(" ", _SUPERSCRIPT.sub("^", text))  # 10² is not 102, nor 1½ 11/2
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    text = _APOSTROPHE.sub("'", _DASH.sub("-", _INVISIBLE.sub("", text)))
    text = _DOT.sub("·", _QUOTE.sub('"', text))
    text = _ABBREVIATION.sub(lambda match: match.group().replace(".", ""), text)
    text = _strip(clean_surface(text))
    text = _POSSESSIVE.sub("", text)
    return _NUMBER.sub(lambda match: match.group().replace(",", ""), text)


def _one_form(text: str) -> str:
    """Without the article before a phrase; a word alone as infinitive, a last word as singular."""
    text = _ARTICLE.sub("", text)
    match = _LAST_WORD.search(text)
    if match is None:
        return text
    start, word = match.start(), match.group()
    return text[:start] + singular(infinitive(word) if start == 0 else word, text)


def _strip(text: str) -> str:
    """The text without the punctuation around it."""
    start, end = 0, len(text)
    while start < end and not _begins(text, start):
        start += 1
    while start < end and not _finishes(text, start, end - 1):
        end -= 1
    return text[start:end]


def _begins(text: str, at: int) -> bool:
    following = text[at + 1 : at + 2]
    if text[at] in _BEFORE_NUMBERS:
        return following.isdigit() and text[at - 1 : at] in ("", " ", "(")
    if text[at] in _BEFORE_WORDS:
        return following.isalnum()
    return _is_content(text[at])


def _finishes(text: str, start: int, at: int) -> bool:
    char = text[at]
    if char in _OPENED_BY:
        return _OPENED_BY[char] in text[start:at]
    if char in _BEHIND_WORDS:
        return text[start:at].rstrip(_BEHIND_WORDS)[-1:].isalnum()
    return _is_content(char)


def _is_content(char: str) -> bool:
    """Letters, digits, signs that belong to letters, currencies, pictures."""
    return char.isalnum() or unicodedata.category(char) in ("Mn", "Mc", "Me", "Sc", "So")


_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_BETWEEN_HAN = re.compile(rf"(?<=[{_HAN}])[\s·-]+(?=[{_HAN}])")
_INITIALS = re.compile(r"(?<!\w)([^\W\d_])\.\s*(?=[^\W\d_]\.)")
_POINT = re.compile(r"(?<=\w)\.(?=\s|\Z)")
_AND = re.compile(r"(?<=\s)(?:&|'n'|'n|n')(?=\s)")
_SIGN = re.compile("[a-z][\u0300-\u036f]*|.", re.DOTALL)
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"})
_HYPHENED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_SHORTEST = 6  # letters of a word that a hyphen may have divided: "co-op" is no coop
_NOT_JOINED = frozenset(("re", "un", "in", "de", "ex"))  # "re-cover" is not "recover"


def spaced(key: str) -> str:
    """Hyphens as spaces, "&" as "and", no points behind words; Chinese names without dots."""
    key = _POINT.sub("", _INITIALS.sub(r"\1", key))
    return " ".join(_AND.sub("and", _BETWEEN_HAN.sub("", key).replace("-", " ")).split())


def joined(key: str) -> str:
    """Hyphens between letters left out: "co-founder" as "cofounder"."""
    return _HYPHENED.sub(_join, key)


def _join(match: re.Match[str]) -> str:
    word = match.group().replace("-", "")
    first, rest = match.group().split("-", 1)
    kept = first in _NOT_JOINED and not (first == "re" and rest.startswith("e"))
    return match.group() if kept or len(word) < _SHORTEST else word


def plain(key: str) -> str:
    """Latin letters without accents; other scripts keep their marks, which make other letters."""
    return key if key.isascii() else "".join(letter[0] for letter in letters(key))


def letters(key: str) -> list[str]:
    """Each sign; a Latin letter with its accents behind it."""
    return _SIGN.findall(unicodedata.normalize("NFD", key.translate(_LETTERS)))


@lru_cache(maxsize=8192)
def american(word: str) -> str:
    """A common lower-case word in one spelling: "colour" as "color", "fiancé" as "fiance"."""
    if not word.isascii():
        one = singular(plain(word), word)
        word = one if one in _LOAN_WORDS else word
    word = _IRREGULAR_SPELLINGS.get(word, word)
    for pattern, replacement in _RULES:
        word = pattern.sub(replacement, word)
    return word


def _spelling_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_OUR = (
    "ard|arm|behavi|cand|clam|col|demean|discol|endeav|fav|ferv|flav|glam|harb|hon|hum|lab"
    "|neighb|od|parl|ranc|rig|rum|sav|savi|splend|succ|tum|val|vap|vig"
)

_RE = (
    "amphitheat|calib|cent|centimet|epicent|fib|goit|kilomet|lit|lust|meag|millimet"
    "|och|reconnoit|sab|saltpet|scept|sepulch|somb|spect|theat"
)

_L = (
    "bevel|cancel|channel|counsel|cudgel|dial|duel|enamel|equal|fuel|funnel|gambol|grovel|jewel"
    "|label|level|libel|marshal|marvel|model|panel|parcel|pencil|quarrel|revel|rival|shovel"
    "|shrivel|signal|snivel|spiral|swivel|total|towel|travel|tunnel|unravel"
)

_RULES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (rf"\A(dis|un|mis|multi)?({_OUR})our", r"\1\2or"),
        (rf"\A({_RE})re(s|)\Z", r"\1er\2"),
        (rf"\A({_RE})red\Z", r"\1ered"),
        (rf"\A({_L})l(ed|er|ers|ing|ings|ist|ists|ous|ously|or|ors)\Z", r"\1\2"),
        (r"(?<=[a-z]{4})is(e|es|ed|er|ers|ing|able|ation|ations|ational)\Z", r"iz\1"),
        (r"(?<=l)ys(e|ed|er|ers|ing)\Z", r"yz\1"),
        (r"\A(ana|cata|dia|epi|mono)logue(s?)\Z", r"\1log\2"),
        (r"\A(def|off|pret)ence(s|less)?\Z", r"\1ense\2"),
        (r"\A(arch|encyclop|p|medi|an|h)ae(?=olog|di|do|val|sth|mi|ma|mo)", r"\1e"),
    )
)  # fmt: skip

_IRREGULAR_SPELLINGS = dict(
    pair.split(":")
    for pair in _spelling_words(
        "grey:gray greys:grays greyish:grayish mould:mold moulds:molds moulding:molding "
        "plough:plow ploughs:plows ploughing:plowing ploughed:plowed aluminium:aluminum "
        "sulphur:sulfur sulphuric:sulfuric moustache:mustache moustaches:mustaches "
        "pyjama:pajama pyjamas:pajamas judgement:judgment judgements:judgments "
        "acknowledgement:acknowledgment ageing:aging sceptic:skeptic sceptical:skeptical "
        "scepticism:skepticism cosy:cozy artefact:artifact artefacts:artifacts gaol:jail "
        "waggon:wagon waggons:wagons connexion:connection jewellery:jewelry jeweller:jeweler "
        "marvellous:marvelous woollen:woolen skilful:skillful wilful:willful fulfil:fulfill "
        "fulfilment:fulfillment enrol:enroll enrolment:enrollment instalment:installment "
        "foetus:fetus foetal:fetal manoeuvre:maneuver manoeuvres:maneuvers "
        "diarrhoea:diarrhea oesophagus:esophagus"
    )
)

_LOAN_WORDS = _spelling_words(
    "aperitif baton blase boutonniere cafe canape chateau cliche communique consomme "
    "cortege creche creme crepe debacle debris debut decor decoupage detente doppelganger "
    "eclair elan elite emigre entree facade fete fiance fiancee frappe habitue ingenue jalapeno "
    "matinee melange melee menage metier naive naivete negligee pinata "
    "precis premiere protege protegee puree raison regime risque role roue seance senor "
    "senora senorita smorgasbord soiree souffle soupcon uber "
    "voila"
)

ACCENT_MATTERS = _spelling_words(
    "ane cote expose forte lame mate pate peche pique resume rose sake opera marche"
)
"""Words that an accent makes another one, also where they have a capital: "Rosé", "Rose"."""
