"""The agent as one step of a graph of your own, path by path: python examples/subgraph.py"""

import asyncio
from pathlib import Path

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from graphreader.graph_reader import GraphReader
from graphreader.settings import load_environment

TEXT = Path(__file__).with_name("joan_of_arc.txt")


class Story(TypedDict, total=False):
    question: str
    answer: str
    title: str


async def main(corpus: str = "in-your-code") -> None:
    load_environment()
    with GraphReader(corpus) as reader:
        await reader.aingest(TEXT)
        graph = StateGraph(Story)
        graph.add_node("read", reader.as_graph())
        graph.add_node("entitle", lambda state: {"title": state["answer"].upper()})
        graph.add_edge(START, "read")
        graph.add_edge("read", "entitle")
        graph.add_edge("entitle", END)
        given: Story = {"question": "Which pope canonized Joan of Arc?"}
        steps = graph.compile().astream(given, stream_mode="updates", subgraphs=True)
        async for inside, update in steps:
            print("  " * len(inside), *update)
        print(update["entitle"]["title"])


if __name__ == "__main__":
    asyncio.run(main())
