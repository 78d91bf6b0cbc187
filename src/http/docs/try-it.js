// Sends requests from the page of an operation to the gateway that served it, and keeps the examples in step with the
// fields. Credentials stay in this tab.

import { curlOf, fetchOf, sampleUrl } from './code-samples.js';

/**
 * @param {string} id
 * @returns {any} an element of any kind that has this id
 */
const element = (id) => document.getElementById(id);
const form = element('try-it');
/**
 * @param {string} selector
 * @returns {any[]} the fields of the form that match
 */
const fields = (selector) => [...form.querySelectorAll(selector)];

/** The longest body that the page shows. */
const MAX_SHOWN = 200_000;
/** A tap waits for its switch for up to 35 s. */
const TIMEOUT_MS = 60_000;

/** @type {Record<string, string>} */
const VARIABLES = { apiKey: '$TAPWIRE_API_KEY' };
const TOKEN_VARIABLE = '$TAPWIRE_TOKEN';
/** @param {string} scheme */
const storageKey = (scheme) => `tapwire-docs-${scheme}`;

/** Credentials that the page was delivered with: those of a local demo, which the examples may show. */
const delivered = new Map();

function parameters() {
  return fields('[data-in]').map((field) => ({
    name: field.dataset.name,
    in: field.dataset.in,
    value: field.value,
  }));
}

const chosenSchemes = () => (element('try-security')?.value ?? '').split(' ').filter(Boolean);

/**
 * @param {string} base
 * @param {boolean} isShown whether the request is an example, in which variables replace credentials that the reader entered
 */
function requestOf(base, isShown) {
  const given = parameters();
  const credentials = chosenSchemes().flatMap((/** @type {string} */ scheme) => {
    const entered = element(`try-${scheme}`).value.trim();
    const value = isShown && entered !== delivered.get(scheme) ? (VARIABLES[scheme] ?? TOKEN_VARIABLE) : entered;
    if (value === '') return [];
    return [scheme === 'apiKey' ? ['x-api-key', value] : ['Authorization', `Bearer ${value}`]];
  });
  const body = element('try-body')?.value;
  return {
    method: form.dataset.method,
    url: sampleUrl(base, form.dataset.path, given),
    headers: [
      ...given.filter((each) => each.in === 'header' && each.value !== '').map(({ name, value }) => [name, value]),
      ...credentials,
      ...(body === undefined ? [] : [['Content-Type', 'application/json']]),
    ],
    body,
  };
}

function showExamples() {
  const request = requestOf(form.dataset.base, true);
  element('curl').firstChild.textContent = curlOf(request);
  element('fetch').firstChild.textContent = fetchOf(request);
}

function showCredentialFields() {
  const chosen = chosenSchemes();
  for (const part of fields('[data-credential]')) part.hidden = !chosen.includes(part.dataset.credential);
}

/** @param {SubmitEvent} event */
async function send(event) {
  event.preventDefault();
  const { method, url, headers, body } = requestOf('', false);
  const button = form.querySelector('[type=submit]');
  button.disabled = true;
  element('try-status').textContent = 'Sending …';
  const startedAtMs = performance.now();
  try {
    const response = await fetch(url, {
      method,
      headers,
      body,
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    const took = Math.round(performance.now() - startedAtMs);
    element('try-status').textContent = `${response.status} ${response.statusText}, ${took} ms`;
    showResponse([...response.headers].map((pair) => pair.join(': ')).join('\n'), text);
  } catch (error) {
    element('try-status').textContent = `No response: ${error.message}`;
    element('try-response').hidden = true;
  } finally {
    button.disabled = false;
  }
}

/**
 * @param {string} headers
 * @param {string} text
 */
function showResponse(headers, text) {
  element('try-headers').textContent = headers;
  element('try-text').firstChild.textContent = pretty(text).slice(0, MAX_SHOWN) || '(no body)';
  element('try-response').hidden = false;
}

/** @param {string} text */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

function start() {
  for (const field of fields('[data-scheme]')) {
    const { scheme } = field.dataset;
    if (field.value) delivered.set(scheme, field.value);
    else field.value = kept(scheme);
    field.addEventListener('input', () => keep(scheme, field.value));
  }
  showCredentialFields();
  form.addEventListener('input', () => {
    showCredentialFields();
    showExamples();
  });
  form.addEventListener('submit', send);
  form.hidden = false;
}

/** @param {string} scheme */
function kept(scheme) {
  try {
    return sessionStorage.getItem(storageKey(scheme)) ?? '';
  } catch {
    return '';
  }
}

/**
 * @param {string} scheme
 * @param {string} value
 */
function keep(scheme, value) {
  try {
    sessionStorage.setItem(storageKey(scheme), value);
  } catch {
    // Storage is forbidden: the field keeps the value until the page is left.
  }
}

if (form) start();
