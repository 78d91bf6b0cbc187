import { exampleOf } from '../openapi/components.ts';
import { curlOf, fetchOf, type SampleRequest, sampleUrl } from './code-samples.ts';
import { html, type Markup } from './html.ts';
import type { DocumentedOperation, DocumentedParameter, Reference } from './reference.ts';

/** Shell variables for credentials, where the page knows none. */
const VARIABLES = { apiKey: '$TAPWIRE_API_KEY', token: '$TAPWIRE_TOKEN' } as const;
const JSON_TYPE = 'application/json';
/** Header fields that a client adds itself, or that only tracing needs. */
const RARE_HEADERS = new Set(['X-Correlation-Id', 'traceparent']);

/** The parameters that a reader may want to fill in. */
export function usualParameters({ parameters }: DocumentedOperation): readonly DocumentedParameter[] {
  return parameters.filter(({ name }) => !RARE_HEADERS.has(name));
}

/** The value that a sample has for a parameter; empty for an optional one, which samples leave out. */
export function sampleValue(reference: Reference, { required, example, schema }: DocumentedParameter): string {
  if (!required) return '';
  return String(example ?? (schema.examples as readonly unknown[])?.[0] ?? exampleOf(schema, reference.schemas));
}

export function sampleBody(reference: Reference, { requestBody }: DocumentedOperation): string | undefined {
  const media = requestBody?.content[JSON_TYPE];
  if (media === undefined) return undefined;
  return JSON.stringify(media.example ?? exampleOf(media.schema, reference.schemas), undefined, 2);
}

/** The requirement that the sample meets: one for which the page has credentials, else the first. */
export function sampleSecurity({ credentials }: Reference, { security }: DocumentedOperation): readonly string[] {
  const schemes = security.map((requirement) => Object.keys(requirement));
  return schemes.find((names) => names.every((name) => name in credentials)) ?? schemes[0] ?? [];
}

export function samplesOf(reference: Reference, operation: DocumentedOperation): { curl: string; fetch: string } {
  const { method, path, parameters } = operation;
  const values = parameters.map((each) => ({ ...each, value: sampleValue(reference, each) }));
  const body = sampleBody(reference, operation);
  const request: SampleRequest = {
    method,
    url: sampleUrl(baseOf(reference, operation), path, values),
    headers: [
      ...values
        .filter((each) => each.in === 'header' && each.value !== '')
        .map((each) => [each.name, each.value] as const),
      ...sampleSecurity(reference, operation).map((scheme) => credentialHeader(scheme, reference.credentials[scheme])),
      ...(body === undefined ? [] : [['Content-Type', JSON_TYPE] as const]),
    ],
    body,
  };
  return { curl: curlOf(request), fetch: fetchOf(request) };
}

function baseOf({ serverUrl }: Reference, { servers }: DocumentedOperation): string {
  return servers?.[0]?.url ?? serverUrl;
}

function credentialHeader(scheme: string, credential?: string): readonly [string, string] {
  if (scheme === 'apiKey') return ['x-api-key', credential ?? VARIABLES.apiKey];
  return ['Authorization', `Bearer ${credential ?? VARIABLES.token}`];
}

/** The form that sends a request from the page. It is hidden until its script runs. */
export function tryItForm(reference: Reference, operation: DocumentedOperation): Markup {
  const { method, path } = operation;
  const { environment } = reference;
  const fields = (isRequired: boolean) =>
    usualParameters(operation)
      .filter(({ required }) => required === isRequired)
      .map((parameter) => parameterField(reference, parameter));
  const optional = fields(false);
  const body = sampleBody(reference, operation);
  return html`<form id="try-it" data-method="${method}" data-path="${path}" data-base="${baseOf(reference, operation)}" hidden>
    <h2>Try it</h2>
    ${environment !== '' && environment !== 'dev' && html`<p class="badge warn">This sends a real request to this installation (${environment}).</p>`}
    ${credentialFields(reference, operation)}
    ${fields(true)}
    ${optional.length > 0 && html`<details><summary>Optional parameters</summary>${optional}</details>`}
    ${body !== undefined && html`<label for="try-body">Body</label><textarea id="try-body" rows="${Math.min(body.split('\n').length + 1, 16)}" spellcheck="false">${body}</textarea>`}
    <p class="send"><button type="submit">Send</button> <span id="try-status" role="status"></span></p>
    <div id="try-response" hidden>
      <details><summary>Response headers</summary><pre><code id="try-headers"></code></pre></details>
      <figure class="code"><figcaption>Response body</figcaption><pre id="try-text"><code></code></pre></figure>
    </div>
  </form>`;
}

function parameterField(reference: Reference, parameter: DocumentedParameter): Markup {
  const { name, in: place, required, schema } = parameter;
  const id = `try-${place}-${name}`;
  const value = sampleValue(reference, parameter);
  const choices = schema.enum as readonly unknown[] | undefined;
  const data = html`id="${id}" data-in="${place}" data-name="${name}"${required && html` required`}`;
  const control = choices
    ? html`<select ${data}>${!required && html`<option value=""></option>`}${choices.map((choice) => option(String(choice), String(choice), value))}</select>`
    : html`<input ${data} value="${value}" autocomplete="off" spellcheck="false">`;
  return html`<label for="${id}">${name} <span class="faint">${place}</span></label>${control}`;
}

function option(value: string, text: string, chosen: string): Markup {
  return html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`;
}

function credentialFields(reference: Reference, operation: DocumentedOperation): Markup | false {
  const choices = operation.security.map((requirement) => Object.keys(requirement));
  if (choices.length === 0) return false;
  const chosen = sampleSecurity(reference, operation).join(' ');
  const choice =
    choices.length === 1
      ? html`<input id="try-security" type="hidden" value="${chosen}">`
      : html`<label for="try-security">Credential</label>
        <select id="try-security">${choices.map((names) => option(names.join(' '), names.join(' and '), chosen))}</select>`;
  const inputs = [...new Set(choices.flat())].map((scheme) => {
    const label = scheme === 'apiKey' ? 'API key' : `Bearer token (${scheme})`;
    return html`<div data-credential="${scheme}"><label for="try-${scheme}">${label}</label>
      <input id="try-${scheme}" type="password" data-scheme="${scheme}" value="${reference.credentials[scheme] ?? ''}" autocomplete="off"></div>`;
  });
  return html`${choice}${inputs}`;
}
