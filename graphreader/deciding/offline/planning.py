"""The rational plan of a reader without a model: what to look for, in words."""

from graphreader.deciding.decisions import RationalPlan
from graphreader.deciding.offline.question import Question, understand

_KINDS = {
    "en": {"time": "a date or a year", "number": "a number", "name": "a name"},
    "zh": {"time": "日期或年份", "number": "数字", "name": "名称"},
}


def plan(question: str) -> RationalPlan:
    """What is looked for, about what, and how to get from one to the other; as asked.

    The names are needs of their own; what is asked about them is one more, or in Chinese, where
    names hardly show, each piece of it.
    """
    asked = understand(question)
    is_chinese = asked.language == "zh"
    in_words = _in_chinese if is_chinese else _in_english
    about = asked.asked if is_chinese else (" ".join(asked.asked),)
    needs = [need for need in dict.fromkeys([*asked.names, *about]) if need]
    return RationalPlan(plan=in_words(asked, question.strip()), needs=needs)


def _in_english(asked: Question, question: str) -> str:
    steps = [f"Find what the texts say about {', '.join(asked.names)}."] if asked.names else []
    if asked.asked:
        steps.append(f"Look there for these words or near ones: {', '.join(asked.asked)}.")
    if kind := _KINDS["en"].get(asked.kind):
        steps.append(f"The answer should hold {kind}.")
    steps.append("Where a sentence leads to another name, follow it.")
    return " ".join(steps) if asked.needs else f"Find sentences that answer: {question}"


def _in_chinese(asked: Question, question: str) -> str:
    words = "、".join((*asked.names, *asked.asked))
    kind = _KINDS["zh"].get(asked.kind)
    steps = [f"在文中查找：{words or question}。"]
    steps += [f"答案应包含{kind}。"] if kind else []
    return "".join([*steps, "若句子提到其他名称，则继续查找该名称。"])
