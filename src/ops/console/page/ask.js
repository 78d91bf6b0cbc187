/** What the page asks of its gateway. */

let csrfToken = '';
let onOver = () => {};

/** @param listener told when a session is over, or none was there */
export function whenOver(listener) {
  onOver = listener;
}

/** @throws Error with words for a person */
async function ask(path, { method = 'GET', body } = {}) {
  const headers = { ...(body && { 'content-type': 'application/json' }), 'x-csrf-token': csrfToken };
  const answer = await fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) }).catch(() => {
    throw new Error('The gateway does not answer.');
  });
  if (answer.status === 204) return undefined;
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  if (answer.status === 401 && path !== '/ops/session') onOver();
  throw Object.assign(new Error(wordsFor(answer, told)), { status: answer.status });
}

function wordsFor({ status, headers }, { detail }) {
  if (status === 401) return 'Log in to go on.';
  if (status === 403) return 'You may not do this.';
  if (status === 404) return 'It is not there (any more).';
  if (status === 429) return `Too often: try again in ${headers.get('retry-after') ?? 'some'} seconds.`;
  if (status === 503) return 'The gateway has no time for this now: try again in some seconds.';
  return detail ?? 'Something went wrong.';
}

function keep(session) {
  csrfToken = session.csrfToken;
  return session;
}

export const readSession = async () => keep(await ask('/ops/session'));

export async function logIn(username, password) {
  const session = await ask('/ops/session', { method: 'POST', body: { username, password } }).catch((error) => {
    if (error.status === 401) throw new Error('That is not a username with its password.');
    if (error.status === 403) throw new Error('The console is for people of the installation and of acquirers.');
    throw error;
  });
  return keep(session);
}

export const logOut = () => ask('/ops/session', { method: 'DELETE' });
export const search = (query, hours) => ask('/ops/search', { method: 'POST', body: { query, hours } });
export const readTransaction = (acquirerId, id) => ask(`/ops/transactions/${acquirerId}/${id}`);
export const act = (body) => ask('/ops/acts', { method: 'POST', body });
