# Setpoint in a container: no shell user, no write access but the data volume.
#   docker build -t setpoint .
#   docker run --read-only -p 127.0.0.1:8080:8080 -v ./config:/config:ro -v setpoint-data:/data setpoint
FROM node:24-slim AS build
WORKDIR /app
COPY . .
# The program with its Node and the packages inside; what only builds and tests need stays here.
RUN npm ci && npm run build

FROM debian:trixie-slim
ENV NODE_ENV=production SVC_HTTP_HOST=0.0.0.0 SVC_CONFIG_DIR=/config SVC_DATA_DIR=/data
# Two arenas: by default threads hold much memory that they have given back.
ENV MALLOC_ARENA_MAX=2
WORKDIR /app
RUN useradd --uid 1000 --no-create-home --home-dir /app --shell /usr/sbin/nologin node \
  && install -d -o node -g node -m 0700 /data && install -d /config
COPY --from=build /app/release ./
# For `docker exec CONTAINER setpoint …`.
RUN ln -s /app/node /usr/local/bin/node && ln -s /app/dist/bin/setpoint.js /usr/local/bin/setpoint
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "dist/bin/serve.js"]
