import { ENUMS } from '#schemas/enums';
import { FIRST_FOREIGN_CODE } from '#schemas/error-codes';
import { exampleOf, type JsonSchema } from '../openapi/components.ts';
import { GUIDES, targetOfLink } from './guides.ts';
import { html, inlineMarkdown, type Markup, markdown, slugOf } from './html.ts';
import {
  type DocumentedOperation,
  type DocumentedResponse,
  pathOfOperation,
  pathOfSchema,
  type Reference,
} from './reference.ts';
import { samplesOf, tryItForm } from './samples.ts';
import { SchemaView } from './schema-view.ts';

const PROBLEM_TYPE = 'application/problem+json';

/** `/docs`: the introduction, and every operation and schema by name. */
export function overviewPage(reference: Reference): string {
  const { description, version, serverUrl, environment, chapters, schemas, securitySchemes } = reference;
  const main = html`<article class="text wide">
    <h1>Tapwire API <span class="faint">${version}</span></h1>
    <p>Base URL: <code>${serverUrl}</code>${environment && html` <span class="badge">${environment}</span>`}</p>
    ${markdown(description)}
    <h2 id="guides">Guides</h2>
    <ul>${[...GUIDES.values()].map(({ path, title }) => html`<li>${link(path, title)}</li>`)}</ul>
    <h2 id="files">Files</h2>
    <ul>
      <li><a href="/openapi.json">OpenAPI 3.1 document</a>, for generators</li>
      <li><a href="/docs/postman.json">Postman collection</a>, for Postman and Bruno</li>
      <li><a href="/docs/errors">Codes and values</a>, also as data from <a href="/enums"><code>GET /enums</code></a></li>
    </ul>
    <h2 id="operations">Operations</h2>
    ${chapters.map(
      ({ name, description, operations }) => html`<section id="${slugOf(name)}"><h3>${name}</h3><p>${description}</p>
        ${operationList(operations)}</section>`,
    )}
    <h2 id="schemas">Schemas</h2>
    <ul class="names">${Object.keys(schemas).map((name) => html`<li>${link(pathOfSchema(name), name)}</li>`)}</ul>
    <h2 id="credential-kinds">Credentials</h2>
    ${Object.entries(securitySchemes).map(
      ([name, scheme]) => html`<h3 id="credential-${name}">${name}</h3>${markdown(scheme.description)}`,
    )}
    <h2 id="credentials-for-each-operation">Credentials for each operation</h2>
    ${table(['operation', 'credential'], reference.operations.filter(({ isWebhook }) => !isWebhook).map(credentialRow))}
  </article>`;
  return pageOf(reference, 'Overview', '/docs', main);
}

/** The line of its description that names who may call an operation. */
function credentialRow({ method, path, operationId, description }: DocumentedOperation): Row {
  const [, credentials = ''] = /^Credentials: (.+)\.$/m.exec(description) ?? [];
  return [
    html`<a href="${pathOfOperation(operationId)}"><code>${method} ${path}</code></a>`,
    inlineMarkdown(credentials),
  ];
}

/** Operations that a text names, such as `POST /login`, link to their pages. */
function addressesOf({ operations }: Reference) {
  const addresses = new Map(
    operations.map(({ method, path, operationId }) => [`${method} ${path}`, pathOfOperation(operationId)]),
  );
  return { ofCode: (code: string) => addresses.get(code), ofLink: targetOfLink };
}

/** The page of a guide, or of the glossary. */
export function guidePage(reference: Reference, key: string): string | undefined {
  const guide = GUIDES.get(key);
  if (guide === undefined) return undefined;
  const { path, title, text } = guide;
  const main = html`<article class="text wide"><h1>${title}</h1>${markdown(text, addressesOf(reference))}</article>`;
  return pageOf(reference, title, path, main);
}

/** The page of one schema of the document. */
export function schemaPage(reference: Reference, name: string): string | undefined {
  const schema = reference.schema(name);
  if (schema === undefined) return undefined;
  const users = reference.usersOf(name);
  const main = html`<article class="text wide">
    <p class="faint"><a href="/docs#schemas">Schemas</a></p>
    <h1>${name}</h1>
    ${schema.description !== undefined && markdown(String(schema.description))}
    ${new SchemaView(reference).body(schema, name)}
    ${users.length > 0 && html`<h2 id="used-by">Used by</h2>${operationList(users)}`}
  </article>`;
  return pageOf(reference, name, pathOfSchema(name), main);
}

/** `/docs/errors`: every code and value with its meaning. The `type` of each problem links to a row of this page. */
export function errorsPage(reference: Reference): string {
  const { errorCodes, errorCodeRanges, responseCodes, statuses, dispositions, transactionTypes, qrCodeStates } = ENUMS;
  const ranges = errorCodeRanges.map(({ from, to, name, meaning }) => [`${from} to ${to}`, name, meaning]);
  const values = (title: string, anchor: string, head: string, prefix: string, list: typeof statuses) =>
    html`<h2 id="${anchor}">${title}</h2>${table(
      ['id', head, 'meaning'],
      list.map(({ id, name, meaning }) => [id, name, meaning]),
      prefix,
    )}`;
  const main = html`<article class="text wide">
      <h1>Codes and values</h1>
      <h2 id="error-codes">Error codes</h2>
      ${table(CODE_HEAD, errorCodes.map(codeRow), '')}
      <h3>Code ranges</h3>
      ${table(CODE_HEAD, [...ranges, [`${FIRST_FOREIGN_CODE} and over`, '', 'Out of scope']])}
      <h2 id="response-codes">ISO 8583 response codes</h2>
      ${table(
        ['code', 'text'],
        responseCodes.map(({ code, text }) => [code, text]),
        'response-',
      )}
      ${values('status', 'status', 'status', 'status-', statuses)}
      ${values('disposition', 'disposition', 'disposition', 'disposition-', dispositions)}
      ${values('type', 'type', 'type', 'type-', transactionTypes)}
      ${values('qrCodeState', 'qr-code-state', 'state', 'state-', qrCodeStates)}
    </article>`;
  return pageOf(reference, 'Codes and values', '/docs/errors', main);
}

const CODE_HEAD = ['errorCode', 'name', 'meaning'];

function codeRow({ code, name, meaning }: (typeof ENUMS.errorCodes)[number]) {
  return [code, name, meaning];
}

type Row = readonly (Markup | string | number)[];

/** @param prefix start of the anchor of each row, before its first cell; without it the rows have none */
function table(head: readonly string[], rows: readonly Row[], prefix?: string): Markup {
  const body = rows.map((row) => {
    const id = prefix !== undefined && html` id="${prefix}${row[0]}"`;
    return html`<tr${id}>${row.map((cell) => html`<td>${cell}</td>`)}</tr>\n`;
  });
  const titles = head.map((title) => html`<th scope="col">${title}</th>`);
  return html`<table><thead><tr>${titles}</tr></thead><tbody>${body}</tbody></table>`;
}

/** The page of one operation, or of a request that the gateway sends. */
export function operationPage(reference: Reference, id: string): string | undefined {
  const operation = reference.operation(id);
  if (operation === undefined) return undefined;
  const { summary, description, tags, method, path, responses } = operation;
  const view = new SchemaView(reference);
  const main = html`
    <article class="operation">
      <div class="text">
        <p class="faint">${link(`/docs#${slugOf(tags[0]!)}`, tags[0]!)}</p>
        <h1>${summary}</h1>
        <p class="address">${methodBadge(method)} <code>${path}</code></p>
        <p class="badges">${badges(operation)} <span class="badge">operationId: ${id}</span></p>
        ${markdown(description)}
        ${credentials(reference, operation)}
        ${parameters(view, operation, 'path', 'Path')}
        ${parameters(view, operation, 'query', 'Query')}
        ${requestBody(view, operation)}
        ${parameters(view, operation, 'header', 'Headers')}
        <h2 id="responses">Responses</h2>
        ${Object.entries(responses).map(([status, response]) => responseOf(reference, view, status, response))}
        ${neighbours(reference, operation)}
      </div>
      <aside class="samples" aria-label="Examples">
        ${requestExamples(reference, operation)}
        ${responseExample(operation)}
      </aside>
    </article>`;
  return pageOf(reference, summary, pathOfOperation(id), main);
}

function credentials({ securitySchemes }: Reference, operation: DocumentedOperation): Markup | false {
  const schemes = [...new Set(operation.security.flatMap((requirement) => Object.keys(requirement)))];
  if (schemes.length === 0) return false;
  const header = (scheme: string) => (scheme === 'apiKey' ? 'x-api-key' : 'Authorization: Bearer');
  return html`<h2 id="credentials">Credentials</h2>
    ${schemes.map(
      (scheme) => html`<details id="credentials.${scheme}"><summary><code>${header(scheme)}</code> ${scheme}</summary>
        ${markdown(securitySchemes[scheme]!.description)}</details>`,
    )}`;
}

function parameters(view: SchemaView, operation: DocumentedOperation, place: string, title: string): Markup | false {
  const such = operation.parameters.filter((each) => each.in === place);
  if (such.length === 0) return false;
  return html`<h2 id="${place}">${title}</h2><div class="properties">${such.map(
    ({ name, schema, required, description }) => view.parameter(name, schema, required, place, description),
  )}</div>`;
}

function requestBody(view: SchemaView, { requestBody: body }: DocumentedOperation): readonly Markup[] {
  return Object.entries(body?.content ?? {}).map(
    ([type, { schema }]) => html`<h2 id="body">Body</h2>
      <p class="faint"><code>${type}</code> ${view.typeOf(schema)}${body!.required ? '' : ', optional'}</p>
      ${view.body(schema, 'body')}`,
  );
}

function responseOf(reference: Reference, view: SchemaView, status: string, response: DocumentedResponse): Markup {
  const { description, headers = {}, content = {} } = response;
  const prefix = `response-${status}`;
  const isProblem = PROBLEM_TYPE in content;
  const bodies = Object.entries(content).map(([type, { schema, examples = {} }]) =>
    isProblem
      ? problemOf(reference, view, schema, Object.values(examples), prefix)
      : html`<p class="faint"><code>${type}</code> ${view.typeOf(schema)}</p>${view.body(schema, `${prefix}.body`)}`,
  );
  const given = Object.entries(headers).map(([name, { $ref }]) => {
    const header = reference.resolve<{ description: string; schema: JsonSchema }>($ref);
    return view.parameter(name, header.schema, false, `${prefix}.header`, header.description);
  });
  const [kind, codes] = description.split(': ');
  return html`<details class="response" id="${prefix}"${isProblem ? '' : html` open`}>
    <summary><span class="status" data-kind="${status[0]}">${status}</span> ${kind}${codes !== undefined && html` <span class="faint">${codes}</span>`}</summary>
    ${bodies}
    ${given.length > 0 && html`<details><summary>Response headers</summary><div class="properties">${given}</div></details>`}
  </details>`;
}

/** An error response: each of its errorCodes in words, then the fields of the body. */
function problemOf(
  reference: Reference,
  view: SchemaView,
  problem: JsonSchema,
  examples: readonly { readonly $ref: string }[],
  prefix: string,
): Markup {
  const bodies = examples.map(({ $ref }) => reference.resolve<{ value: { errorCode: number } }>($ref).value);
  const codes = bodies.map(({ errorCode }) => errorCode);
  const rows = ENUMS.errorCodes
    .filter(({ code }) => codes.includes(code))
    .map(({ code, name, meaning }) => [link(`/docs/errors#${code}`, String(code)), name, meaning]);
  return html`${table(CODE_HEAD, rows)}
    <p class="faint"><code>${PROBLEM_TYPE}</code> ${view.typeOf(problem)}</p>
    <details><summary>Fields</summary>${view.body(problem, `${prefix}.body`)}</details>
    <details><summary>Example</summary>${jsonExample('Body', `${prefix}.example`, bodies[0])}</details>`;
}

function requestExamples(reference: Reference, operation: DocumentedOperation): Markup {
  if (operation.isWebhook) {
    const { schema } = operation.requestBody!.content['application/json']!;
    return html`<h2>Request</h2>${jsonExample('Body', 'webhook', exampleOf(schema, reference.schemas))}`;
  }
  const { curl, fetch } = samplesOf(reference, operation);
  return html`<h2>Request</h2>
    ${code('curl', 'curl', curl)}
    <details><summary>JavaScript</summary>${code('JavaScript', 'fetch', fetch)}</details>
    ${tryItForm(reference, operation)}`;
}

function responseExample({ responses }: DocumentedOperation): Markup | false {
  const [status, success] = Object.entries(responses)[0]!;
  const example = success.content?.['application/json']?.example;
  return example !== undefined && html`<h2>Response</h2>${jsonExample(`Response ${status}`, 'response', example)}`;
}

function jsonExample(label: string, id: string, value: unknown): Markup {
  return code(label, id, JSON.stringify(value, undefined, 2));
}

function code(label: string, id: string, text: string): Markup {
  return html`<figure class="code"><figcaption>${label}</figcaption><pre id="${id}"><code>${text}</code></pre></figure>`;
}

function neighbours({ operations }: Reference, operation: DocumentedOperation): Markup {
  const at = operations.indexOf(operation);
  const neighbour = (target: DocumentedOperation | undefined, rel: string, words: string) =>
    target &&
    html`<a rel="${rel}" href="${pathOfOperation(target.operationId)}"><span class="faint">${words}</span> ${target.summary}</a>`;
  return html`<nav class="neighbours" aria-label="Neighbouring operations">${neighbour(operations[at - 1], 'prev', 'Previous:')}${neighbour(operations[at + 1], 'next', 'Next:')}</nav>`;
}

function operationList(operations: readonly DocumentedOperation[]): Markup {
  return html`<ul class="operations">${operations.map(
    (
      operation,
    ) => html`<li>${methodBadge(verbOf(operation))} ${link(pathOfOperation(operation.operationId), operation.summary)}
      <code class="faint">${operation.path}</code> ${badges(operation)}</li>`,
  )}</ul>`;
}

function badges(operation: DocumentedOperation): Markup {
  return html`${operation.deprecated && html`<span class="badge warn">deprecated</span>`} ${operation['x-extension'] && html`<span class="badge">extension</span>`}`;
}

const verbOf = ({ method, isWebhook }: DocumentedOperation) => (isWebhook ? 'HOOK' : method);

function methodBadge(method: string): Markup {
  return html`<span class="method" data-method="${method}">${method}</span>`;
}

function link(target: string, label: string): Markup {
  return html`<a href="${target}">${label}</a>`;
}

/**
 * The frame of every page: search, contents and theme around the text.
 *
 * @param path path of the page, as the contents link to it
 */
function pageOf(reference: Reference, title: string, path: string, main: Markup): string {
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

function contents({ chapters, schemas }: Reference, path: string): Markup {
  const item = (target: string, label: string | Markup) =>
    html`<li><a href="${target}"${target === path && html` aria-current="page"`}>${label}</a></li>`;
  const chapter = (name: string, targets: ReadonlyMap<string, string | Markup>) =>
    html`<details${targets.has(path) && html` open`}><summary>${name}</summary><ul>${[...targets].map((entry) => item(...entry))}</ul></details>`;
  const entryOf = (operation: DocumentedOperation) =>
    [pathOfOperation(operation.operationId), html`${methodBadge(verbOf(operation))} ${operation.summary}`] as const;
  const guides = [...GUIDES.values()].map((guide) => item(guide.path, guide.title));
  return html`<ul>${item('/docs', 'Overview')}${guides}${item('/docs/errors', 'Codes and values')}</ul>
    ${chapters.map(({ name, operations }) => chapter(name, new Map(operations.map(entryOf))))}
    ${chapter('Schemas', new Map(Object.keys(schemas).map((name) => [pathOfSchema(name), name])))}
    <ul>${item('/openapi.json', 'OpenAPI document')}</ul>`;
}
