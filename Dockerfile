# Built once with everything, run with what production needs, as a user without rights.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# Where the store is, unless the configuration names a database: mount a volume here to keep it.
RUN mkdir data && chown node:node data
USER node
EXPOSE 8686
CMD ["node", "dist/apps/gateway/apps/gateway/src/main.js"]
