"""Answering from passages, reading chunks and searching without a model."""

from graphreader.baselines.chunk_reading import SUMMARY_TOKENS, ChunkReadTask, NotesReadTask
from graphreader.baselines.search_agent import NOTES_TOKENS, Hit, SearchAction, SearchStepTask
from graphreader.baselines.tasks import Excerpt, PassagesChoiceTask, PassagesTask
from graphreader.offline.decider import OfflineDecider
from graphreader.tokens import count

AUTHOR = "The Glass Road was written by Ida Karhu. It sold well."
TOWN = "Ida Karhu grew up in Turku. She liked the harbour."
NOISE = "Bread is baked at night. The road to the town is long."
QUESTION = "Where did the author of The Glass Road grow up?"
TEXTS = (Excerpt("The Glass Road", AUTHOR, 0), Excerpt("Bread", NOISE, 1), Excerpt("Ida", TOWN, 2))
DECIDER = OfflineDecider()


# An answer is put together of sentences of several passages, copied as they stand.
async def test_answers_from_several_passages() -> None:
    decision = (await DECIDER.decide(PassagesTask(QUESTION, TEXTS))).decision

    assert decision.answered
    assert "Ida Karhu grew up in Turku." in decision.answer
    assert all(any(quote in one.text for one in TEXTS) for quote in decision.quotes)


# What the passages do not hold is not answered; nor do notes count as text.
async def test_does_not_answer() -> None:
    task = PassagesTask("When did Olga Berg sail to Malta?", TEXTS)
    notes = Excerpt("Notes", "Olga Berg sailed to Malta in 1901.", -1)

    decision = (await DECIDER.decide(task)).decision
    with_notes = (await DECIDER.decide(PassagesTask(task.question, (notes, *TEXTS)))).decision

    assert not decision.answered
    assert not decision.quotes
    assert not with_notes.answered


# An option is chosen by the words that only it has, and the best sentence.
async def test_chooses() -> None:
    options = ("in Helsinki", "in Turku", "in the road")
    task = PassagesChoiceTask("Where did Ida Karhu grow up?", TEXTS, options)

    decision = (await DECIDER.decide(task)).decision

    assert decision.option == 2
    assert decision.quotes == ["Ida Karhu grew up in Turku."]
    assert task.problem(decision) is None


# Whatever the options, one of them is chosen.
async def test_always_chooses() -> None:
    for options in (("", "!"), ("same", "same"), ("x",)):
        decision = (await DECIDER.decide(PassagesChoiceTask("Who?", TEXTS, options))).decision
        assert 1 <= decision.option <= len(options)


# A chunk is answerable exactly if an answer can be put together of it.
async def test_reads_alone() -> None:
    question = "Where did Ida Karhu grow up?"
    found = (await DECIDER.decide(ChunkReadTask(question, "Ida", TOWN))).decision
    missed = (await DECIDER.decide(ChunkReadTask(question, "Bread", NOISE))).decision
    chosen = (
        await DECIDER.decide(ChunkReadTask(question, "Ida", TOWN, ("Oslo", "Turku")))
    ).decision

    assert (found.function, found.quotes) == ("answerable", ["Ida Karhu grew up in Turku."])
    assert (missed.function, missed.answer) == ("unanswerable", "")
    assert (chosen.function, chosen.answer) == ("answerable", "2")


# What one chunk told goes along in the summary and counts with the next one.
async def test_reads_with_notes() -> None:
    first = (await DECIDER.decide(NotesReadTask(QUESTION, "The Glass Road", AUTHOR))).decision
    task = NotesReadTask(QUESTION, "Ida", TOWN, (), first.summary)
    second = (await DECIDER.decide(task)).decision

    assert "The Glass Road was written by Ida Karhu. [The Glass Road]" in first.summary
    assert second.function == "answerable"
    assert "Turku" in second.answer
    assert all(quote in TOWN for quote in second.quotes)


# Summary and notes keep their limits, in Chinese as well.
async def test_limits() -> None:
    english = " ".join(f"Ida Karhu grew up beside {n} roads of glass in Turku." for n in range(90))
    chinese = "".join(f"伊达在图尔库长大，那里有{n}条玻璃路，很长很长。" for n in range(90))
    for question, text in ((QUESTION, english), ("伊达在哪里长大？", chinese)):
        summary = notes = ""
        for part in range(12):
            excerpt = text[part * 60 : part * 60 + 900]
            read = NotesReadTask(question, f"T{part}", excerpt, (), summary)
            step = SearchStepTask(
                question, notes, (SearchAction("read_chunk", "", (part,)),),
                (Hit(part, f"T{part}", excerpt, in_full=True),), (), frozenset(), 5,
            )  # fmt: skip
            summary = (await DECIDER.decide(read)).decision.summary
            notes = (await DECIDER.decide(step)).decision.notes
            assert 0 < count(summary) <= SUMMARY_TOKENS
            assert 0 < count(notes) <= NOTES_TOKENS


# The search begins with the question's names, reads what it finds, goes where a name leads, ends.
async def test_searches() -> None:
    def task(result: tuple[Hit, ...], *actions: SearchAction, notes: str = "") -> SearchStepTask:
        unread = frozenset(hit.number for hit in result if not hit.in_full)
        return SearchStepTask(QUESTION, notes, actions, result, (), unread, 9)

    async def step(of: SearchStepTask) -> tuple[str, object, str]:
        decision = (await DECIDER.decide(of)).decision
        assert of.problem(decision) is None
        return decision.function, decision.argument or decision.chunks, decision.notes

    first = await step(task(()))
    searched = SearchAction("keyword_search", str(first[1]), (1,))
    second = await step(task((Hit(1, "The Glass Road, chunk 0", AUTHOR[:40]),), searched))
    has_read = SearchAction("read_chunk", "", (1,))
    full = Hit(1, "The Glass Road, chunk 0", AUTHOR, in_full=True)
    meant = await step(task((full,), searched, has_read))
    by_meaning = SearchAction("semantic_search", QUESTION, (1,))
    third = await step(task((full,), searched, has_read, by_meaning))
    again = SearchAction("keyword_search", str(third[1]), (2,))
    town = Hit(2, "Ida, chunk 0", TOWN, in_full=True)
    last = await step(task((town,), searched, has_read, again, has_read, notes=third[2]))

    assert first[:2] == ("keyword_search", "Glass Road")
    assert second[:2] == ("read_chunk", [1])
    assert meant[:2] == ("semantic_search", QUESTION)
    assert third[:2] == ("keyword_search", "Ida Karhu")
    assert "[1: The Glass Road, chunk 0]" in third[2]
    assert "[2: Ida, chunk 0]" in last[2]


# Out of steps, or with nothing left to search for, it answers.
async def test_ends() -> None:
    read = SearchAction("read_chunk", "", (1,))
    hit = Hit(1, "The Glass Road, chunk 0", AUTHOR, in_full=True)
    out_of_steps = SearchStepTask(QUESTION, "", (read,), (hit,), (), frozenset(), 0)
    asks_nothing = SearchStepTask(
        "?", "", (SearchAction("semantic_search", "?", ()),), (), (), frozenset(), 5
    )

    assert (await DECIDER.decide(out_of_steps)).decision.function == "answer"
    assert (await DECIDER.decide(out_of_steps)).decision.chunks == [1]
    assert (await DECIDER.decide(asks_nothing)).decision.function == "answer"
