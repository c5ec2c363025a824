"""The texts as a tool of another agent: python examples/tool.py

With a model configured (GRAPHREADER_MODEL, say openai:gpt-5.4-mini) it decides what to ask. Without
one, the tool is called by hand.
"""

from pathlib import Path

from langchain.agents import create_agent

from graphreader.graph_reader import GraphReader
from graphreader.settings import OFFLINE, Settings, load_environment

TEXT = Path(__file__).with_name("joan_of_arc.txt")
QUESTION = "Which pope canonized Joan of Arc?"


def main(corpus: str = "in-your-code") -> None:
    load_environment()
    with GraphReader(corpus) as reader:
        reader.ingest(TEXT)
        tool = reader.as_tool()
        model = Settings.read().chosen_model
        if model == OFFLINE:
            print(tool.invoke({"question": QUESTION}))
        else:
            agent = create_agent(model, [tool])
            print(agent.invoke({"messages": [("user", QUESTION)]})["messages"][-1].text)


if __name__ == "__main__":
    main()
