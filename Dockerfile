# One image for every part: gateway (api, worker, all) and simulated switch. It brings no Postgres.
FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json ./
# The base image is the Node we pin, and the database is another container: so without the optional dependencies. For AWS
# Payment Cryptography or traces, build with `--build-arg OMIT_OPTIONAL=`.
ARG OMIT_OPTIONAL=--omit=optional
RUN npm ci --omit=dev $OMIT_OPTIONAL --no-audit --no-fund && npm cache clean --force
COPY src src
COPY schemas schemas
COPY processors processors
COPY readers readers
RUN mkdir -p /var/lib/tapwire && chown node:node /var/lib/tapwire
USER node
EXPOSE 8080
ENV HOST=0.0.0.0
# The folder that the process may write to. Mount a volume here.
ENV TAPWIRE_DATA=/var/lib/tapwire
# One gateway process per core behind one port (src/observe/README.md).
ENV TAPWIRE_PROCESSES=auto
ENTRYPOINT ["node", "src/cli/tapwire.mjs"]
CMD ["start"]
