import { html, type Markup } from './html.ts';
import { markdown, slugOf } from './markdown.ts';
import { methodBadge, type PageContent } from './page-layout.ts';
import { type DocumentedOperation, isExtension, pathOfOperation, pathOfSchema, type Reference } from './reference.ts';
import { SchemaView } from './schema-view.ts';

/** `/docs`: the introduction, and every operation and schema by name. */
export function overviewPage(reference: Reference): PageContent {
  const addresses = new Map(
    reference.operations.map(({ method, path, operationId }) => [`${method} ${path}`, pathOfOperation(operationId)]),
  );
  const [introduction, credentials = ''] = reference.description.split(/(?=<details>)/);
  const main = html`<article class="text wide">
    <h1>Tapwire API <span class="faint">${reference.version}</span></h1>
    <p>Base URL: <code>${reference.serverUrl}</code>${reference.environment && html` <span class="badge">${reference.environment}</span>`}</p>
    ${markdown(introduction!)}
    <h2 id="files">Files</h2>
    <ul>
      <li><a href="/openapi.json">OpenAPI 3.1 document</a>, for generators</li>
      <li><a href="/docs/postman.json">Postman collection</a>, for Postman and Bruno</li>
      <li><a href="/docs/errors">Codes and values</a>, also as data from <a href="/enums"><code>GET /enums</code></a></li>
    </ul>
    <h2 id="operations">Operations</h2>
    ${reference.chapters.map(
      ({ name, description, operations }) => html`<section id="${slugOf(name)}"><h3>${name}</h3><p>${description}</p>
        <ul class="operations">${operations.map(operationItem)}</ul></section>`,
    )}
    <h2 id="schemas">Schemas</h2>
    <ul class="names">${Object.keys(reference.schemas).map((name) => html`<li><a href="${pathOfSchema(name)}">${name}</a></li>`)}</ul>
    <h2 id="credential-kinds">Credentials</h2>
    ${Object.entries(reference.securitySchemes).map(
      ([name, scheme]) => html`<h3 id="credential-${name}">${name}</h3>${markdown(scheme.description)}`,
    )}
    ${markdown(credentials, (code) => addresses.get(code))}
  </article>`;
  return { title: 'Overview', path: '/docs', main };
}

function operationItem(operation: DocumentedOperation): Markup {
  const { method, path, summary, operationId, deprecated, isWebhook } = operation;
  return html`<li>${methodBadge(isWebhook ? 'HOOK' : method)} <a href="${pathOfOperation(operationId)}">${summary}</a>
    <code class="faint">${path}</code>${deprecated && html` <span class="badge warn">deprecated</span>`}${isExtension(operation) && html` <span class="badge">extension</span>`}</li>`;
}

/** The page of one schema of the document. */
export function schemaPage(reference: Reference, name: string): PageContent {
  const schema = reference.schema(name)!;
  const view = new SchemaView(reference);
  const users = reference.usersOf(name);
  const description = schema.description as string | undefined;
  const main = html`<article class="text wide">
    <p class="faint"><a href="/docs#schemas">Schemas</a></p>
    <h1>${name}</h1>
    ${description !== undefined && markdown(description)}
    ${view.body(schema, name)}
    ${users.length > 0 && html`<h2 id="used-by">Used by</h2><ul class="operations">${users.map(operationItem)}</ul>`}
  </article>`;
  return { title: name, path: pathOfSchema(name), main };
}
