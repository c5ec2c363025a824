"""Start the embedded Neo4j that the tests of a run share, and print its address and password."""

import json
import sys

from graphreader.settings import Settings
from graphreader.store.embedded.process import Access, ServerHome
from graphreader.store.embedded.server import ensure_running

# Neo4j plans a statement anew, after ten seconds, if the number of nodes has changed fourfold since
# its last plan. With each test it does: the plans would take more time than all statements.
_REPLANNING = "dbms.cypher.min_replan_interval=24h\n"


def main() -> None:
    """Start the server of the settings, unless it runs."""
    configure = ServerHome.configure

    def configure_for_tests(home: ServerHome, access: Access, settings: Settings) -> None:
        configure(home, access, settings)
        with (home.conf / "neo4j.conf").open("a", encoding="utf-8") as file:
            file.write(_REPLANNING)

    setattr(ServerHome, "configure", configure_for_tests)  # noqa: B010
    server = ensure_running(Settings.read())
    json.dump({"uri": server.uri, "password": server.password.get_secret_value()}, sys.stdout)


if __name__ == "__main__":
    main()
