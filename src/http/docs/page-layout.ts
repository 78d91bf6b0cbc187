import { html, type Markup } from './html.ts';
import { slugOf } from './markdown.ts';
import { type DocumentedOperation, pathOfOperation, pathOfSchema, type Reference } from './reference.ts';

export interface PageContent {
  readonly title: string;
  /** Path of the page, as the contents link to it. */
  readonly path: string;
  readonly main: Markup;
}

/** The frame of every page of the reference: search, contents and theme around the text. */
export function pageOf(reference: Reference, { title, path, main }: PageContent): string {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${title} - Tapwire API</title>
    <link rel="icon" href="/docs/icon.svg">
    <link rel="stylesheet" href="/docs/reference.css">
    <script src="/docs/theme.js"></script>
    <script type="module" src="/docs/reference.js"></script>
    <script type="module" src="/docs/try-it.js"></script>
  </head>
  <body>
    <a class="skip" href="#main">Skip to the text</a>
    <header class="bar">
      <a class="brand" href="/docs">Tapwire API</a>
      <search class="search">
        <label class="unseen" for="search">Search the reference</label>
        <input id="search" type="search" placeholder="Search (press /)" autocomplete="off" spellcheck="false" hidden>
        <p class="unseen" id="found" role="status"></p>
        <ol id="results" aria-label="Search results" hidden></ol>
      </search>
      <button id="menu" type="button" aria-controls="contents" aria-expanded="false" hidden>Contents</button>
      <label class="theme" hidden>Theme
        <select id="theme"><option value="">System</option><option value="light">Light</option><option value="dark">Dark</option></select>
      </label>
    </header>
    <div class="layout">
      <nav class="contents" id="contents" aria-label="Contents">${contents(reference, path)}</nav>
      <main id="main" tabindex="-1">${main}</main>
    </div>
  </body>
</html>
`.markup;
}

function contents(reference: Reference, path: string): Markup {
  const item = (target: string, label: string | Markup) =>
    html`<li><a href="${target}"${target === path ? html` aria-current="page"` : ''}>${label}</a></li>`;
  const chapter = (name: string, items: readonly Markup[], isOpen: boolean) =>
    html`<details${isOpen ? html` open` : ''}><summary>${name}</summary><ul>${items}</ul></details>`;
  const chapters = reference.chapters.map(({ name, operations }) =>
    chapter(
      name,
      operations.map((operation) => item(pathOfOperation(operation.operationId), entryOf(operation))),
      operations.some(({ operationId }) => pathOfOperation(operationId) === path),
    ),
  );
  const names = Object.keys(reference.schemas);
  const schemas = names.map((name) => item(pathOfSchema(name), name));
  return html`<ul>${item('/docs', 'Overview')}${item('/docs/errors', 'Codes and values')}</ul>
    ${chapters}
    ${chapter('Schemas', schemas, path.startsWith(pathOfSchema('')))}
    <ul>${item('/openapi.json', 'OpenAPI document')}</ul>`;
}

function entryOf({ method, summary, isWebhook }: DocumentedOperation): Markup {
  return html`${methodBadge(isWebhook ? 'HOOK' : method)} ${summary}`;
}

export function methodBadge(method: string): Markup {
  return html`<span class="method" data-method="${method}">${method}</span>`;
}

export const chapterAnchor = (name: string) => `/docs#${slugOf(name)}`;
