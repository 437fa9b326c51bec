# Must match tools/node/package.json, the version that the tests use.
ARG NODE_VERSION=26.10.0

# The console is built with development dependencies, which the image does not contain.
FROM node:${NODE_VERSION}-bookworm-slim AS console
WORKDIR /app
COPY package.json package-lock.json openapi.json tsconfig.json ./
COPY tools tools
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src src
# The console uses the client, and its build writes the types of the client.
COPY client/src client/src
COPY console console
RUN node tools/buildConsole.js

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No production dependency needs install scripts. The pinned Node for development is not installed.
# npm keeps the WebAssembly build of sharp, which only the executable uses, because sharp can depend on it too.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && rm -rf node_modules/@img/sharp-wasm32
COPY LICENSE ./
COPY bin bin
COPY src src
# The service serves the guides at /guides.
COPY docs/guides docs/guides
COPY --from=console /app/console/dist console/dist
# A checkout made with a strict umask is not readable for the user below.
RUN chmod -R a+rX .

FROM node:${NODE_VERSION}-bookworm-slim
# Package managers are not needed at run time and would need security updates.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn* /usr/local/bin/yarn* \
  && install -d -m 0700 -o 10001 -g 10001 /data
WORKDIR /app
# Least frequently changed first: a new version of the program adds a layer of about a megabyte.
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/docs docs
COPY --from=build /app/console console
COPY --from=build /app/bin bin
COPY --from=build /app/src src

ARG VERSION=1.3.0
LABEL org.opencontainers.image.title="petstore" \
  org.opencontainers.image.description="An HTTP/JSON service for browsing and managing animals offered for adoption." \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}"

# 127.0.0.1 is not reachable from outside the container.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 HOST=0.0.0.0 PORT=8080 PETSTORE_DATA_DIR=/data
EXPOSE 8080
# The only writable paths: /data for the embedded database (unused with DATABASE_URL), /tmp for "import" from a pipe and "export".
VOLUME /data
# Numeric, for the runAsNonRoot check of Kubernetes.
USER 10001:10001
STOPSIGNAL SIGTERM
# Liveness, not readiness: Swarm restarts unhealthy containers, which does not help if the database is down.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Exec form: the process receives SIGTERM directly. No heap limit: Node derives it from the memory of the container.
ENTRYPOINT ["node", "--max-semi-space-size=8", "--v8-pool-size=1", "bin/petstore.js"]
CMD ["serve"]
