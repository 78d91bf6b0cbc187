/** The requests of the page to its gateway. */

/**
 * What the gateway sends for a value: JSON has texts for dates.
 *
 * @template Value
 * @typedef {Value extends Date ? string : Value extends object ? { [Name in keyof Value]: Json<Value[Name]> } : Value} Json
 */

const NEWLINE = 10;
let csrfToken = '';
let onOver = () => {};
let onUnavailable = () => {};

/** @param {() => void} listener */
export function whenOver(listener) {
  onOver = listener;
}

/** @param {() => void} listener */
export function whenUnavailable(listener) {
  onUnavailable = listener;
}

/**
 * @param {string} path
 * @param {{ method?: string, body?: object, formId?: string, signal?: AbortSignal, read?: (response: Response) => Promise<unknown> }} [options]
 * @returns {Promise<any>}
 * @throws Error with a message for a person
 */
async function ask(path, { method = 'GET', body, formId, signal, read } = {}) {
  const headers = {
    ...(body && { 'content-type': 'application/json' }),
    ...(formId && { 'idempotency-key': formId }),
    'x-csrf-token': csrfToken,
  };
  const response = await fetch(path, {
    ...{ method, headers, signal },
    ...(body && { body: JSON.stringify(body) }),
  }).catch(() => {
    if (!signal?.aborted) onUnavailable();
    throw new Error('The gateway does not respond.');
  });
  if (response.status === 204) return undefined;
  if (response.ok && read)
    return read(response).catch(() => {
      throw new Error('The file broke off. Export it again.');
    });
  const data = await response.json().catch(() => ({}));
  if (response.ok) return data;
  if (response.status === 503) onUnavailable();
  if (response.status === 401 && path !== '/ops/session') onOver();
  throw Object.assign(new Error(wordsFor(response, data)), { status: response.status, errors: data.errors });
}

/**
 * @param {Response} response
 * @param {{ detail?: string, errors?: { pointer?: string, detail: string }[] }} problem
 */
function wordsFor({ status, headers }, { detail, errors }) {
  if (status === 401) return 'Log in to continue.';
  if (status === 403) return 'You do not have permission to do this.';
  if (status === 404) return 'Not found, or removed in the meantime.';
  if (status === 429) return `Too many attempts. Try again in ${headers.get('retry-after') ?? 'a few'} seconds.`;
  if (status === 503) return detail ?? 'The gateway is busy. Try again in a few seconds.';
  if (errors?.[0]) return `${errors[0].pointer?.split('/').pop() ?? 'A value'} ${errors[0].detail}.`;
  return detail ?? 'Unexpected error.';
}

/**
 * @template {{ csrfToken: string }} Session
 * @param {Session} session
 */
function keep(session) {
  csrfToken = session.csrfToken;
  return session;
}

export const readSession = async () => keep(await ask('/ops/session'));

/**
 * @param {string} username
 * @param {string} password
 * @param {string} [code]
 */
export async function logIn(username, password, code) {
  const body = { username, password, ...(code && { code }) };
  const session = await ask('/ops/session', { method: 'POST', body }).catch((error) => {
    if (error.status === 401) throw new Error('Wrong username, password or one-time code.');
    if (error.status === 403) throw new Error('Only users of the installation or of an acquirer can use the console.');
    throw error;
  });
  return keep(session);
}

export const logOut = () => ask('/ops/session', { method: 'DELETE' });
/**
 * @param {string} path
 * @param {object} body
 */
const post = (path, body) => ask(path, { method: 'POST', body });
const id = encodeURIComponent;

/** Reads the ways to sign in. Needs no session. */
export const readWaysToSignIn = () => ask('/ops/sign-in');
/** Reads what is available, also without the database. */
export const readAvailability = () => ask('/ops/availability');
export const readAccount = () => ask('/ops/data/account');
/** @returns {Promise<{ views: import('#schemas/console-views').SavedView[] }>} */
export const readViews = () => ask('/ops/data/views');
export const readAllSessions = () => ask('/ops/data/sessions');
export const readCells = () => ask('/ops/data/cells');
/** Field tables, to decode messages in the browser. */
export const readSpecs = () => ask('/ops/data/specs');
/** @param {string | URLSearchParams} query */
export const readHistory = (query) => ask(`/ops/data/history?${query}`);
export const readNames = () => ask('/ops/data/names');
/** @param {string} text */
export const suggestMerchants = (text) => post('/ops/data/merchants', { text });
/**
 * @param {object} filter
 * @param {object | null} [after]
 */
export const listTransactions = (filter, after) => post('/ops/data/transactions', { filter, ...(after && { after }) });
/** @param {object} filter */
export const countTransactions = (filter) => post('/ops/data/transactions/count', { filter });
/**
 * @param {object} filter
 * @param {string | undefined} newest
 * @param {unknown} shown
 */
export const readChanges = (filter, newest, shown) =>
  post('/ops/data/transactions/changes', { filter, shown, ...(newest && { newest }) });
/** @param {string} transaction */
export const readTransaction = (transaction) => ask(`/ops/data/transactions/${id(transaction)}`);
/**
 * Like `readTransaction`, as an automatic update: it does not prolong the session.
 *
 * @param {string} transaction
 */
export const followTransaction = (transaction) => ask(`/ops/data/transactions/${id(transaction)}/present`);
/**
 * @param {object} filter
 * @param {(rows: number, all: number) => void} onProgress called with the rows so far, and with those that are expected
 * @param {AbortSignal} signal
 * @returns the file; a file that breaks off is an error
 */
export const exportTransactions = (filter, onProgress, signal) =>
  ask('/ops/data/transactions/export', {
    method: 'POST',
    body: { filter },
    signal,
    read: async (response) => {
      const all = Number(response.headers.get('x-rows'));
      let rows = -1; // the titles
      const counted = new TransformStream({
        transform(chunk, controller) {
          for (const byte of chunk) if (byte === NEWLINE) rows++;
          onProgress(Math.max(rows, 0), all);
          controller.enqueue(chunk);
        },
      });
      return new Response(response.body?.pipeThrough(counted)).blob();
    },
  });
/**
 * @param {string} list
 * @param {object} filter
 * @param {object | null} [after]
 */
export const readWork = (list, filter, after) => post('/ops/data/work', { list, filter, ...(after && { after }) });
/**
 * What the hash chain of the admin events says.
 *
 * @param {string | undefined} acquirer undefined for all
 * @returns {Promise<import('../audit-verdict.ts').AuditVerdict>}
 */
export const verifyAudit = (acquirer) => ask(`/ops/data/audit-verdict${acquirer ? `?acquirer=${acquirer}` : ''}`);
/** What the person may administer. */
export const readOperations = () => ask('/ops/data/operations');
/**
 * An operation of the admin API.
 *
 * @param {string} method
 * @param {string} path
 * @param {{ body?: object, formId?: string }} [options] `formId`: makes sending the same form again safe
 * @returns {Promise<{ data: any, hasNext: boolean }>} `hasNext`: a list continues
 */
export const operate = async (method, path, { body, formId } = {}) => {
  const read = async (/** @type {Response} */ response) => ({
    data: await response.json(),
    hasNext: response.headers.has('link'),
  });
  return (await ask(path, { method, read, ...(body && { body }), ...(formId && { formId }) })) ?? { hasNext: false };
};
/** @param {object} body */
export const changeAccount = (body) => post('/ops/account/acts', body);
/** @param {object} body */
export const refundSale = (body) => post('/ops/refunds', body);
/** @param {object} body */
export const act = (body) => ask('/ops/acts', { method: 'POST', body });
