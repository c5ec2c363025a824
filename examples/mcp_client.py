"""The texts through the Model Context Protocol, as Claude or Cursor see them:

python examples/mcp_client.py

It needs the extra `mcp`: pip install -e ".[mcp]" in the checkout.
"""

import asyncio
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters

from graphreader.graph_reader import GraphReader
from graphreader.settings import load_environment

TEXT = Path(__file__).with_name("joan_of_arc.txt")


async def main(corpus: str = "in-your-code") -> None:
    load_environment()
    with GraphReader(corpus) as reader:
        await reader.aingest(TEXT)
    command = ["-m", "graphreader", "mcp", "--corpus", corpus]
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))
    async with Client(server) as client:
        print("tools:", *(tool.name for tool in (await client.list_tools()).tools))
        asked = {"question": "Which pope canonized Joan of Arc?"}
        found = await client.call_tool("ask", asked)
        print(found.structured_content["answer"] if found.structured_content else found.content)


if __name__ == "__main__":
    asyncio.run(main())
