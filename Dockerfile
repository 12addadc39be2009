# Setpoint in a container: no shell user, no write access but the data volume.
#   docker build -t setpoint .
#   docker run --read-only -p 127.0.0.1:8080:8080 -v ./config:/config:ro -v setpoint-data:/data setpoint
FROM node:24-slim AS build
WORKDIR /app
COPY . .
# The console is built by the install itself; what only builds and tests need is removed again.
RUN npm ci && npm prune --omit=dev --ignore-scripts

FROM node:24-slim
ENV NODE_ENV=production SVC_HTTP_HOST=0.0.0.0 SVC_CONFIG_DIR=/config SVC_DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/src ./src
COPY --from=build /app/console/dist ./console/dist
COPY --from=build /app/docs/contract ./docs/contract
RUN install -d -o node -g node -m 0700 /data && install -d /config
# For `docker exec CONTAINER setpoint …`: npm exec would write into a home.
RUN ln -s /app/src/bin/setpoint.ts /usr/local/bin/setpoint
USER node
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8080/health').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/bin/serve.ts"]
