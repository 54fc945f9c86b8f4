FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/conflictscore \
    && /opt/conflictscore/bin/pip install --no-cache-dir '.[docs,fetch,local,mcp,nli,postgres,serve]'

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home conflictscore \
    && install --directory --owner=conflictscore /data /docs
COPY --from=build /opt/conflictscore /opt/conflictscore
ENV PATH=/opt/conflictscore/bin:$PATH CONFLICTSCORE_CACHE_DIR=/data/cache
USER 10001
VOLUME /data
EXPOSE 8400
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8400/healthz', timeout=3)"]
ENTRYPOINT ["conflictscore"]
CMD ["serve", "--host", "0.0.0.0", "--docs", "/docs", "--model", "local", "--runs-file", "/data/runs.sqlite"]
