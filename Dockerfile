# The server of trained runs. Build: docker build -t rars .   Run: see compose.yaml
FROM python:3.11-slim

ENV PIP_NO_CACHE_DIR=1 OMP_NUM_THREADS=1 RARS_SERVE_HOST=0.0.0.0 RARS_SERVE_PORT=8080
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
# The CPU build of torch: the other one brings gigabytes that a server without a GPU never uses.
RUN pip install --extra-index-url https://download.pytorch.org/whl/cpu -c constraints.txt ".[serve,tracing]"
RUN useradd --create-home rars && mkdir -p /runs /state && chown rars /runs /state
USER rars
EXPOSE 8080
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/livez', timeout=5)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["rars", "serve"]
CMD ["/runs/demo"]
