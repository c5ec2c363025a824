import pytest

from graphreader.errors import BudgetError
from graphreader.llm.protocols import Budget
from graphreader.usage import Usage


# A reservation counts at once; what a request did not need is given back, all of it if it failed.
def test_reservations() -> None:
    budget = Budget(max_calls=3, max_tokens=1000)
    budget.take(600, "explore")
    with pytest.raises(BudgetError, match="max_tokens is 1,000"):
        budget.take(600, "explore")
    budget.settle(600, Usage())
    budget.take(900, "explore")
    budget.settle(900, Usage(calls=1, input_tokens=300, output_tokens=100))

    assert budget.left("explore") == 600
    budget.take(600, "explore")
    with pytest.raises(BudgetError):
        budget.take(1, "explore")


# What cost more than could be told before counts for all that come later.
def test_what_cost_more() -> None:
    budget = Budget(max_tokens=1000)
    budget.take(300, "explore")
    budget.settle(300, Usage(calls=1, input_tokens=200, output_tokens=900))

    assert budget.left("explore") == -100
    with pytest.raises(BudgetError, match=r"max_tokens is 1,000\. For more, set --max-tokens"):
        budget.take(1, "answer")


# Where not even the first request may be made, the sentence says how much that would need.
def test_too_small_from_the_start() -> None:
    with pytest.raises(BudgetError, match=r"max_tokens is 500, .* need 1,100, .* --max-tokens"):
        Budget(max_tokens=500, answer_tokens=400).take(700, "plan")
    with pytest.raises(BudgetError, match=r"max_calls is 1, .* need 2, .* --max-calls"):
        Budget(max_calls=1, answer_tokens=400).take(700, "plan")
    with pytest.raises(BudgetError, match=r"need 700: set --max-tokens"):
        Budget(max_tokens=500).take(700, "extract")


# One call and its tokens are kept back for the answer, which may use them.
def test_the_answer_has_its_part() -> None:
    budget = Budget(max_calls=3, max_tokens=1000, answer_tokens=400)
    budget.take(300, "plan")
    with pytest.raises(BudgetError):
        budget.take(301, "explore")
    budget.take(300, "explore")
    with pytest.raises(BudgetError):
        budget.take(0, "explore")

    budget.take(400, "answer")
