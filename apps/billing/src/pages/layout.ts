import { html, type Html, type HtmlValue } from '../http/html.js';
import type { Session } from '../http/sessions.js';

/** What pages of people who are signed in have in common. */
export interface PageOf {
  readonly session: Session;
  readonly isOperator: boolean;
  readonly hasQueue: boolean;
}

/** @param title of the page, which is its heading too */
export function page(title: string, body: HtmlValue, of?: PageOf): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} - Turnpike billing</title>
        <link rel="stylesheet" href="/assets/style.css" />
      </head>
      <body>
        <a class="skip" href="#content">Skip to content</a>
        ${of === undefined ? undefined : header(of)}
        <main id="content">
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `.text;
}

function header({ session, isOperator, hasQueue }: PageOf): Html {
  const { tenant, key } = session.principal;
  return html`<header>
    <strong>Turnpike</strong>
    <nav aria-label="Pages">
      <a href="/">Usage</a>
      <a href="/response">Responses</a>
      ${isOperator ? html`<a href="/dead-letters">Dead letters</a>` : undefined}
      ${isOperator ? html`<a href="/decisions">Payments and refunds</a>` : undefined}
      ${isOperator && hasQueue ? html`<a href="/admin/queues">Queue</a>` : undefined}
    </nav>
    <form method="post" action="/logout">
      ${tokenField(session)}
      <span class="who">${isOperator ? 'operator' : tenant}, ${key}</span>
      <button class="quiet">Sign out</button>
    </form>
  </header>`;
}

/** What makes a form one of ours. */
export function tokenField({ token }: Session): Html {
  return html`<input type="hidden" name="token" value="${token}" />`;
}

export interface Column {
  readonly title: string;
  readonly isNumber?: boolean;
}

/** @param caption what the table shows, for those who do not see it as well */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly (readonly HtmlValue[])[],
  empty = 'Nothing yet.',
): Html {
  if (rows.length === 0) return html`<p class="empty">${empty}</p>`;
  const kind = (index: number) => (columns[index]?.isNumber === true ? 'number' : 'text');
  return html`<div class="scroll">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(({ title }, index) => html`<th scope="col" class="${kind(index)}">${title}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((cell, index) => html`<td class="${kind(index)}">${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Names with what they stand for. */
export function facts(pairs: readonly (readonly [string, HtmlValue])[]): Html {
  return html`<dl>
    ${pairs.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value === undefined || value === '' ? '-' : value}</dd>`,
    )}
  </dl>`;
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** A moment in UTC, as it can be read aloud. */
export function moment(ms: number | null | undefined): HtmlValue {
  if (ms === null || ms === undefined) return undefined;
  const text = new Date(ms).toISOString();
  return html`<time datetime="${text}">${text.replace('T', ' ').replace('Z', ' UTC')}</time>`;
}
