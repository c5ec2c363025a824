# The server of GraphReader. `docker compose up` starts it with Neo4j: docs/serve.md.
FROM python:3.12.12-slim AS builder
WORKDIR /source
COPY requirements requirements
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --no-cache-dir --require-hashes -r requirements/install.lock \
    && python -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --require-hashes -r requirements/serve.lock
COPY pyproject.toml README.md LICENSE ./
COPY cypher cypher
COPY graphreader graphreader
RUN /opt/build/bin/python -m hatchling build -t wheel \
    && /opt/venv/bin/pip install --no-cache-dir --no-deps dist/*.whl

FROM python:3.12.12-slim
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 GRAPHREADER_HOME=/data
# A new volume at /data is owned as the folder is.
RUN useradd --uid 10001 --home-dir /data --shell /usr/sbin/nologin graphreader \
    && install -d -o graphreader -g graphreader -m 700 /data
COPY --from=builder /opt/venv /opt/venv
USER 10001:10001
WORKDIR /data
EXPOSE 8321
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=12 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8321/healthz')"]
ENTRYPOINT ["graphreader"]
CMD ["serve", "--host", "0.0.0.0", "--first-token"]
