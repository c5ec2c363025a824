"""The singular of an English word, by its ending and by lists of words that only look like plurals.

It works on lower-case words, where names cannot be told by their capitals: those whose stem is a
name too (Williams, Adams) or a word (Mars, Wells) are listed, as are places. It knows no verbs.
"""


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
