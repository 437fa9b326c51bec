# The Node that the tests run on: the version in tools/node/package.json.
ARG NODE_VERSION=26.10.0

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Nothing that runs needs a script at its installation, so none may run one. The Node of development is not installed.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY LICENSE ./
COPY bin bin
COPY src src
# The service shows its guides at /guides.
COPY docs/guides docs/guides
# A checkout made under a strict umask would be unreadable to the user below.
RUN chmod -R a+rX .

FROM node:${NODE_VERSION}-bookworm-slim
# What installs packages is not needed any more, and would only have to be kept patched.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn* /usr/local/bin/yarn* \
  && install -d -m 0700 -o 10001 -g 10001 /data
WORKDIR /app
# By how seldom they change: a new version of the program is a layer of a megabyte.
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/docs docs
COPY --from=build /app/bin bin
COPY --from=build /app/src src

ARG VERSION=1.0.0-dev
LABEL org.opencontainers.image.title="petstore" \
  org.opencontainers.image.description="An HTTP/JSON service for browsing and managing animals offered for adoption." \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}"

# Inside a container 127.0.0.1 is nobody's but the container's own.
ENV NODE_ENV=production MALLOC_ARENA_MAX=1 HOST=0.0.0.0 PORT=8080 PETSTORE_DATA_DIR=/data
EXPOSE 8080
# Written to: /data by the embedded store (by nobody with DATABASE_URL), /tmp by "import" from a pipe. All else may be
# read-only.
VOLUME /data
# By number, so that Kubernetes can see that it is not root.
USER 10001:10001
STOPSIGNAL SIGTERM
# Whether the process is up, not whether its database is: Swarm restarts what is unhealthy, which would not help.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Without a shell in between, so that the signal to stop arrives. No heap limit: Node derives it from the container's
# memory.
ENTRYPOINT ["node", "--max-semi-space-size=8", "--v8-pool-size=1", "bin/petstore.js"]
CMD ["serve"]
