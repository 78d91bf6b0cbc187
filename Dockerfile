# One image for every part: gateway (api, worker, all) and simulated switch. It brings no Postgres.
FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json ./
# The base image is the Node we pin, and the database is another container: so without the optional dependencies.
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund && npm cache clean --force
COPY src src
COPY schemas schemas
COPY processors processors
COPY readers readers
RUN mkdir -p /var/lib/tapwire && chown node:node /var/lib/tapwire
USER node
EXPOSE 8080
ENV HOST=0.0.0.0
# One gateway process per core behind one port (src/ops/README.md).
ENV TAPWIRE_PROCESSES=auto
ENTRYPOINT ["node", "src/cli/tapwire.mjs"]
CMD ["start"]
