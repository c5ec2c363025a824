"""The infinitive of an English verb in -ed or -ing, by a list of regular verbs.

A verb is listed only where no form of it has a meaning of its own as a noun: "building" is not
"build", "recorded" not "record", "founded" not "found". Irregular forms stay as they are. The
endings -ize and -ify need no list.
"""

import re

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


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


_VERBS = _words(
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
