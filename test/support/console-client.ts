import { expect } from 'vitest';
import type { Role } from '../../src/auth/portal/portal-user.ts';
import type { Frame } from '../../src/console/frame.ts';
import type { TransactionRow } from '../../src/console/transaction-browser.ts';
import type { Installation } from './installation.ts';
import { PASSWORD, savePortalUser } from './portal-users.ts';

/** What a browser holds of a session. */
export interface ConsoleSession {
  readonly cookie: string;
  readonly csrf: string;
  readonly username: string;
}

interface ListPage {
  readonly by: string[];
  readonly rows: TransactionRow[];
  readonly next: string | null;
  readonly searchedFrom: string | null;
}

/** The requests of the console's page to a gateway. */
export function consoleClient(installation: () => Installation) {
  const call = (path: string, init: RequestInit = {}) => fetch(new URL(path, installation().url), init);

  function post(path: string, body: unknown, headers: Record<string, string> = {}) {
    return call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  async function logIn(owner: { acquirerId: number; integratorId?: number }, role: Role): Promise<ConsoleSession> {
    const { username } = await savePortalUser(installation().database, owner, role);
    const response = await post('/ops/session', { username, password: PASSWORD });
    expect(response.status).toBe(200);
    const { csrfToken } = (await response.json()) as { csrfToken: string };
    return { cookie: response.headers.get('set-cookie')!.split(';')[0]!, csrf: csrfToken, username };
  }

  const data = (session: ConsoleSession, path: string, body: object) =>
    post(`/ops/data/${path}`, body, { cookie: session.cookie, 'x-csrf-token': session.csrf });

  /** A page of the list of transactions. */
  const list = async (session: ConsoleSession, filter: object, page: object = {}) => {
    const response = await data(session, 'transactions', { filter, ...page });
    expect(response.status).toBe(200);
    return (await response.json()) as ListPage;
  };

  const search = async (session: ConsoleSession, query: string) => {
    const { by, rows } = await list(session, { q: query });
    return { by, found: rows };
  };

  const look = (session: ConsoleSession, id: string) =>
    call(`/ops/data/transactions/${id}`, { headers: { cookie: session.cookie } });

  const act = (
    session: ConsoleSession,
    body: object,
    headers: Record<string, string> = { 'x-csrf-token': session.csrf },
  ) => post('/ops/acts', body, { cookie: session.cookie, ...headers });

  /** The first frame that matches. */
  async function frame(session: ConsoleSession, fits: (frame: Frame) => boolean): Promise<Frame> {
    const ending = new AbortController();
    const response = await call('/ops/stream', { headers: { cookie: session.cookie }, signal: ending.signal });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    try {
      for await (const each of framesOf(response.body!)) if (fits(each)) return each;
    } finally {
      ending.abort();
    }
    throw new Error('the stream ended');
  }

  return { call, post, data, logIn, list, search, look, act, frame };
}

async function* framesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Frame> {
  let text = '';
  for await (const chunk of body) {
    text += Buffer.from(chunk).toString();
    const events = text.split('\n\n');
    text = events.pop()!;
    for (const event of events)
      if (event.startsWith('event: frame')) yield JSON.parse(event.split('\ndata: ')[1]!) as Frame;
  }
}
