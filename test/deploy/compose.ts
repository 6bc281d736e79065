import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface ComposeService {
  readonly build?: string;
  readonly image?: string;
  readonly profiles?: readonly string[];
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly configs?: readonly { readonly source: string; readonly target: string }[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly configs: Readonly<Record<string, { readonly content?: string; readonly file?: string }>>;
}

/** What is read here of a Grafana dashboard. */
export interface Dashboard {
  readonly uid: string;
  readonly panels: readonly {
    readonly id: number;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly datasource: { readonly uid: string }; readonly expr: string }[];
  }[];
}

/** `docker-compose.yml`, with its merges done. */
export function readCompose(): Compose {
  return parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as Compose;
}

/** Text of a config of the file. */
export function configText({ configs }: Compose, name: string): string {
  const { content, file } = configs[name] ?? {};
  if (content !== undefined) return content;
  if (file === undefined) throw new Error(`there is no config ${name}`);
  return readFileSync(join(ROOT, file), 'utf8');
}

/** What the last stage of the Dockerfile copies out of the first one: paths below /app. */
export function copiedByDockerfile(): string[] {
  const last =
    readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
      .split(/^FROM /m)
      .at(-1) ?? '';
  return [...last.matchAll(/^COPY --from=build \/app\/(\S+) \.\/\1$/gm)].map(([, path = '']) => path);
}
