# syntax=docker/dockerfile:1
# The gateway without PostgreSQL: set DATABASE_URL. The file system may be read-only; nothing is written but to the data volume.
FROM node:24-bookworm-slim AS install
WORKDIR /srv/tollgate
COPY package.json package-lock.json .npmrc ./
COPY clients/typescript/package.json clients/typescript/
COPY test/generators/package.json test/generators/
# The optional packages are an embedded PostgreSQL and a Node 24: the image has the one and needs the other from outside.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 TOLLGATE_DATA=/data
WORKDIR /srv/tollgate
COPY --from=install /srv/tollgate/node_modules node_modules
COPY package.json LICENSE ./
COPY bin bin
COPY migrations migrations
COPY src src
# Types are stripped here and not at each start.
RUN node bin/strip-types.js
RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/health/ready').then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--max-semi-space-size=16", "--v8-pool-size=1", "--no-memory-reducer", "--heap-growing-percent=40", "bin/tollgate.js"]
CMD ["serve"]
