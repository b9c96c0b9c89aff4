# Installs with the npm of this image. Its Node.js stays behind: the service runs on the one that npm installs.
FROM node:24-slim AS install
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
# By a name that is the same for every processor, and without headers and manuals.
RUN ln -s node_modules/node-linux-*/bin/node node && cd node_modules/node-linux-* && rm -r include share CHANGELOG.md
COPY bin ./bin
COPY src ./src
COPY web ./web

FROM debian:trixie-slim
RUN apt-get update && apt-get install -y --no-install-recommends libatomic1 && rm -r /var/lib/apt/lists/* /var/cache/apt/*
RUN useradd --uid 1000 --no-create-home --home-dir /data book-catalogue && install -d -o 1000 -g 1000 -m 700 /data
COPY --from=install /app /app
RUN ln -s /app/node /usr/local/bin/node && ln -s /app/bin/book-catalogue.js /usr/local/bin/book-catalogue
ENV NODE_ENV=production DB_URL=sqlite:/data/books.db SQLITE_TMPDIR=/data
ENV NODE_COMPILE_CACHE=/tmp/node MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536
WORKDIR /app
USER 1000:1000
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:'+(process.env.PORT||8080)+'/healthz').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
CMD ["node", "--max-semi-space-size=8", "src/main.ts"]
