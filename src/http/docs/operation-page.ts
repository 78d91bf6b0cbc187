import { ENUMS } from '#schemas/enums';
import { exampleOf } from '../openapi/example.ts';
import { html, type Markup } from './html.ts';
import { inlineMarkdown, markdown } from './markdown.ts';
import { chapterAnchor, methodBadge, type PageContent } from './page-layout.ts';
import {
  type DocumentedOperation,
  type DocumentedParameter,
  type DocumentedResponse,
  isExtension,
  pathOfOperation,
  type Reference,
} from './reference.ts';
import { samplesOf } from './sample-request.ts';
import { SchemaView } from './schema-view.ts';
import { tryItForm } from './try-it-form.ts';

const PROBLEM_TYPE = 'application/problem+json';

/** The page of one operation, or of a request that the gateway sends. */
export function operationPage(reference: Reference, operation: DocumentedOperation): PageContent {
  const { operationId, summary, description, tags, method, path, deprecated, isWebhook } = operation;
  const view = new SchemaView(reference);
  const main = html`
    <article class="operation">
      <div class="text">
        <p class="faint"><a href="${chapterAnchor(tags[0]!)}">${tags[0]!}</a></p>
        <h1>${summary}</h1>
        <p class="address">${methodBadge(method)} <code>${path}</code></p>
        <p class="badges">${deprecated && html`<span class="badge warn">deprecated</span> `}${isExtension(operation) && html`<span class="badge">extension</span> `}<span class="badge">operationId: ${operationId}</span></p>
        ${markdown(description)}
        ${authentication(reference, operation)}
        ${parameterSection(view, operation, 'path')}
        ${parameterSection(view, operation, 'query')}
        ${requestBody(view, operation)}
        ${parameterSection(view, operation, 'header')}
        <h2 id="responses">Responses</h2>
        ${Object.entries(operation.responses).map(([status, response]) => responseOf(reference, view, status, response))}
        ${neighbours(reference, operation)}
      </div>
      <aside class="samples" aria-label="Examples">
        ${isWebhook ? webhookExample(reference, operation) : requestExamples(reference, operation)}
        ${responseExample(reference, operation)}
      </aside>
    </article>`;
  return { title: summary, path: pathOfOperation(operationId), main };
}

function authentication(
  { securitySchemes }: Reference,
  { security, isWebhook }: DocumentedOperation,
): Markup | undefined {
  if (isWebhook) return undefined;
  const schemes = [...new Set(security.flatMap((requirement) => Object.keys(requirement)))];
  if (schemes.length === 0) return undefined;
  const nameOf = (scheme: string) => (scheme === 'apiKey' ? 'x-api-key' : 'Authorization: Bearer');
  return html`<h2 id="credentials">Credentials</h2>
    ${schemes.map(
      (scheme) => html`<details id="credentials.${scheme}"><summary><code>${nameOf(scheme)}</code> ${scheme}</summary>
        ${markdown(securitySchemes[scheme]!.description)}</details>`,
    )}`;
}

const PARAMETER_TITLES = { path: 'Path', query: 'Query', header: 'Headers' } as const;

function parameterSection(
  view: SchemaView,
  { parameters }: DocumentedOperation,
  place: DocumentedParameter['in'],
): Markup | undefined {
  const such = parameters.filter((each) => each.in === place);
  if (such.length === 0) return undefined;
  return html`<h2 id="${place}">${PARAMETER_TITLES[place]}</h2>
    <div class="properties">${such.map((each) => parameterOf(view, each))}</div>`;
}

function parameterOf(
  view: SchemaView,
  { name, in: place, schema, required, description }: DocumentedParameter,
): Markup {
  return view.parameter(name, schema, required, place, description);
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
  const isProblem = PROBLEM_TYPE in content;
  const prefix = `response-${status}`;
  const bodies = Object.entries(content).map(([type, { schema }]) =>
    isProblem
      ? problemOf(view, schema, prefix)
      : html`<p class="faint"><code>${type}</code> ${view.typeOf(schema)}</p>${view.body(schema, `${prefix}.body`)}`,
  );
  const given = Object.entries(headers).map(([name, { $ref }]) => {
    const { description: text, schema } = reference.resolve<{ description: string; schema: Record<string, unknown> }>(
      $ref,
    );
    return view.parameter(name, schema, false, `${prefix}.header`, text);
  });
  const [kind, codes] = description.split(': ');
  return html`<details class="response" id="${prefix}"${isProblem ? '' : html` open`}>
    <summary><span class="status" data-kind="${status[0]!}">${status}</span> ${kind!}${codes !== undefined && html` <span class="faint">${codes}</span>`}</summary>
    ${bodies}
    ${given.length > 0 && html`<details><summary>Response headers</summary><div class="properties">${given}</div></details>`}
  </details>`;
}

/** An error response: each of its errorCodes in words, then the fields of the body. */
function problemOf(view: SchemaView, schema: Readonly<Record<string, unknown>>, prefix: string): Markup {
  const rows = codesOf(schema).map(
    ({ code, name, meaning }) =>
      html`<tr><td><a href="/docs/errors#${code}">${code}</a></td><td>${name}</td><td>${meaning}</td></tr>`,
  );
  const [problem] = schema.allOf as readonly [Record<string, unknown>];
  return html`<table><thead><tr><th scope="col">errorCode</th><th scope="col">name</th><th scope="col">meaning</th></tr></thead><tbody>${rows}</tbody></table>
    <p class="faint"><code>${PROBLEM_TYPE}</code> ${view.typeOf(problem)}</p>
    <details><summary>Fields</summary>${view.body(problem, `${prefix}.body`)}</details>`;
}

function codesOf({ allOf }: Readonly<Record<string, unknown>>) {
  const [, narrowed] = allOf as readonly { properties?: { errorCode?: { enum?: readonly number[] } } }[];
  const codes: readonly number[] = narrowed?.properties?.errorCode?.enum ?? [];
  return ENUMS.errorCodes.filter(({ code }) => codes.includes(code));
}

function requestExamples(reference: Reference, operation: DocumentedOperation): Markup {
  const { curl, fetch } = samplesOf(reference, operation);
  return html`<h2>Request</h2>
    ${code('curl', 'curl', curl)}
    <details><summary>JavaScript</summary>${code('JavaScript', 'fetch', fetch)}</details>
    ${tryItForm(reference, operation)}`;
}

function webhookExample({ schemas }: Reference, { requestBody: body }: DocumentedOperation): Markup {
  const example = exampleOf(body!.content['application/json']!.schema, schemas);
  return html`<h2>Request</h2>${code('Body', 'webhook', JSON.stringify(example, undefined, 2))}`;
}

function responseExample({ schemas }: Reference, { responses }: DocumentedOperation): Markup | undefined {
  const [status, success] = Object.entries(responses)[0]!;
  const schema = success.content?.['application/json']?.schema;
  if (schema === undefined || Object.keys(schema).length === 0) return undefined;
  const text = JSON.stringify(exampleOf(schema, schemas), undefined, 2);
  return html`<h2>Response</h2>${code(`Response ${status}`, 'response', text)}`;
}

function code(label: string, id: string, text: string): Markup {
  return html`<figure class="code"><figcaption>${label}</figcaption><pre id="${id}"><code>${text}</code></pre></figure>`;
}

function neighbours(reference: Reference, { operationId }: DocumentedOperation): Markup {
  const all = reference.operations;
  const at = all.findIndex((each) => each.operationId === operationId);
  const link = (target: DocumentedOperation | undefined, rel: string, words: string) =>
    target &&
    html`<a rel="${rel}" href="${pathOfOperation(target.operationId)}"><span class="faint">${words}</span> ${inlineMarkdown(target.summary)}</a>`;
  return html`<nav class="neighbours" aria-label="Neighbouring operations">${link(all[at - 1], 'prev', 'Previous:')}${link(all[at + 1], 'next', 'Next:')}</nav>`;
}
