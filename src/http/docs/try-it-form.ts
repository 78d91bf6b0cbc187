import { html, type Markup } from './html.ts';
import type { DocumentedOperation, DocumentedParameter, Reference } from './reference.ts';
import { sampleBody, sampleSecurity, sampleValue } from './sample-request.ts';

/** Header fields that a reader need not fill in. */
const RARE_HEADERS = new Set(['X-Correlation-Id', 'traceparent']);

/** The form that sends a request from the page. It is hidden until its script runs. */
export function tryItForm(reference: Reference, operation: DocumentedOperation): Markup {
  const { method, path, parameters, servers } = operation;
  const { environment } = reference;
  const shown = parameters.filter(({ name }) => !RARE_HEADERS.has(name));
  const field = (parameter: DocumentedParameter) => parameterField(reference, parameter);
  const optional = shown.filter(({ required }) => !required);
  const body = sampleBody(reference, operation);
  return html`<form id="try-it" data-method="${method}" data-path="${path}" data-base="${servers?.[0]?.url ?? reference.serverUrl}" hidden>
    <h2>Try it</h2>
    ${environment !== '' && environment !== 'dev' && html`<p class="badge warn">This sends a real request to this installation (${environment}).</p>`}
    ${credentialFields(reference, operation)}
    ${shown.filter(({ required }) => required).map(field)}
    ${optional.length > 0 && html`<details><summary>Optional parameters</summary>${optional.map(field)}</details>`}
    ${body !== undefined && html`<label for="try-body">Body</label><textarea id="try-body" rows="${Math.min(body.split('\n').length + 1, 16)}" spellcheck="false">${body}</textarea>`}
    <p class="send"><button type="submit">Send</button> <span id="try-status" role="status"></span></p>
    <div id="try-answer" hidden>
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
  const data = html`id="${id}" data-in="${place}" data-name="${name}"${required ? html` required` : ''}`;
  const control = choices
    ? html`<select ${data}>${required ? '' : html`<option value=""></option>`}${choices.map((choice) => html`<option${String(choice) === value ? html` selected` : ''}>${String(choice)}</option>`)}</select>`
    : html`<input ${data} value="${value}" autocomplete="off" spellcheck="false">`;
  return html`<label for="${id}">${name} <span class="faint">${place}</span></label>${control}`;
}

function credentialFields(reference: Reference, operation: DocumentedOperation): Markup | undefined {
  const { security } = operation;
  if (security.length === 0) return undefined;
  const chosen = sampleSecurity(reference, operation).join(' ');
  const options = security.map((requirement) => Object.keys(requirement));
  const schemes = [...new Set(options.flat())];
  const select = html`<label for="try-security">Credential</label>
    <select id="try-security">${options.map((names) => html`<option value="${names.join(' ')}"${names.join(' ') === chosen ? html` selected` : ''}>${names.join(' and ')}</option>`)}</select>`;
  const inputs = schemes.map(
    (
      scheme,
    ) => html`<div data-credential="${scheme}"><label for="try-${scheme}">${scheme === 'apiKey' ? 'API key' : `Bearer token (${scheme})`}</label>
      <input id="try-${scheme}" type="password" data-scheme="${scheme}" value="${reference.credentials[scheme] ?? ''}" autocomplete="off"></div>`,
  );
  return html`${options.length > 1 ? select : html`<input id="try-security" type="hidden" value="${chosen}">`}${inputs}`;
}
