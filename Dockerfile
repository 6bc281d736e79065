# Built once with everything, run with what production needs, as a user without rights. Gateway, billing and engine are one
# image: the command says which.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./package.json
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/turnpike.example.yaml ./turnpike.example.yaml
COPY --from=build /app/prices.example.yaml ./prices.example.yaml
# Where the journal, the sealing key and, unless the configuration names a database, the store are: mount a volume here.
RUN mkdir data && chown node:node data
USER node
EXPOSE 8686 8687
CMD ["node", "dist/apps/gateway/apps/gateway/src/main.js"]
