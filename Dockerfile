# Not built where it was written (there was no Docker engine): see docs/operations.md.
FROM node:24-slim
ENV NODE_ENV=production DB_URL=sqlite:/data/books.db NODE_COMPILE_CACHE=/tmp/node MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=65536
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev && npm cache clean --force
COPY bin ./bin
COPY src ./src
COPY web ./web
# What npm has installed, by a name that is the same for every processor.
RUN ln -s "$(node bin/pinned-node.js -p process.execPath)" node
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["./node", "-e", "fetch('http://127.0.0.1:'+(process.env.PORT||8080)+'/healthz').then(r=>process.exit(r.ok?0:1),()=>process.exit(1))"]
CMD ["./node", "--max-semi-space-size=8", "src/main.ts"]
