"""Packs cypher/inspect into one file for Neo4j Browser: `python -m scripts.favorites`."""

import json
import re
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

INSPECT = Path(__file__).parents[1] / "cypher" / "inspect"
TARGET = INSPECT / "favorites.zip"


def favorites() -> dict[str, str]:
    """The text of each favorite, by the name of its file; the Browser shows their folder."""
    files = sorted(INSPECT.glob("*.cypher"))
    queries = {file.name: file.read_text(encoding="utf-8") for file in files}
    grass = (INSPECT / "colours.grass").read_text(encoding="utf-8")
    # As JSON, because a semicolon ends a command.
    style = {
        selector: dict(re.findall(r"^  ([\w-]+): '?(.*?)'?;$", rules, re.MULTILINE))
        for selector, rules in re.findall(r"^(\S+) \{\n(.*?)^\}", grass, re.MULTILINE | re.DOTALL)
    }
    parameters = re.findall(r"^// (:param .+)$", "\n".join(queries.values()), re.MULTILINE)
    texts = {
        "0_colours.cypher": f"// 0 colours: run this first\n:style {json.dumps(style)}\n",
        "0_values.cypher": "// 0 values: what the queries ask for; change it, then run it\n"
        + "".join(f"{parameter};\n" for parameter in dict.fromkeys(parameters)),
        **queries,
    }
    return {f"GraphReader/{name}": text for name, text in texts.items()}


def main() -> None:
    """Write the archive."""
    with ZipFile(TARGET, "w") as archive:
        for name, text in favorites().items():
            archive.writestr(ZipInfo(name), text, ZIP_DEFLATED)


if __name__ == "__main__":
    main()
