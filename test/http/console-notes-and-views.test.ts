import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TransactionNote } from '../../schemas/transaction-note.ts';
import type { TransactionStory } from '../../src/console/transaction-story.ts';
import { type ConsoleSession, consoleClient } from '../support/console-client.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { sellApproved } from '../support/refunds.ts';

const INSTALLATION = { acquirerId: 0 };
const PAN = '4111111111111111';
/** As people write a card number, in other digits, and as track 2. */
const CARDS = [
  PAN,
  'card 4111 1111-1111.1111',
  '４１１１１１１１１１１１１１１１',
  '٤١١١١١١١١١١١١١١١',
  `;${PAN}=2512101?`,
];

let installation: Installation;
let id: string;
beforeAll(async () => {
  installation = await startInstallation();
  id = await sellApproved(installation, '10.00');
});
afterAll(() => installation.stop());

const { call, logIn, look } = consoleClient(() => installation);

/** As the page sends it. */
function ask({ cookie, csrf }: ConsoleSession, method: string, path: string, body?: object, more: object = {}) {
  return call(path, {
    method,
    headers: { cookie, 'x-csrf-token': csrf, ...(body && { 'content-type': 'application/json' }), ...more },
    ...(body && { body: JSON.stringify(body) }),
  });
}

const notesOf = (acquirerId: number) => `/acquirers/${acquirerId}/transactions/${id}/notes`;
const withKey = (key: string, body?: object) => ({
  method: body ? 'POST' : 'GET',
  headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
  ...(body && { body: JSON.stringify(body) }),
});

describe('notes on a transaction', () => {
  test('are written by who may act, and shown with author and time to all who see the transaction', async () => {
    const [operator, viewer, owner] = await Promise.all([
      logIn({ acquirerId: 1 }, 'operator'),
      logIn({ acquirerId: 1 }, 'viewer'),
      logIn(INSTALLATION, 'admin'),
    ]);
    const form = { 'idempotency-key': randomUUID() };
    const note = { text: 'Merchant called: <b>goods</b> returned; RRN 632912345678' };
    const added = await ask(operator, 'POST', notesOf(1), note, form);
    expect(added.status).toBe(201);
    // The form is sent again after a lost response.
    expect(await (await ask(operator, 'POST', notesOf(1), note, form)).json()).toEqual(await added.json());
    expect((await ask(owner, 'POST', notesOf(1), { text: 'Seen' })).status).toBe(201);
    expect((await ask(viewer, 'POST', notesOf(1), { text: 'No' })).status).toBe(403);
    const listed = (await (await ask(viewer, 'GET', notesOf(1))).json()) as TransactionNote[];
    expect(listed.map(({ text, author }) => [text, author])).toEqual([
      [note.text, `user ${operator.username}`],
      ['Seen', `user ${owner.username}`],
    ]);
    expect(Math.abs(Date.parse(listed[0]!.at) - Date.now())).toBeLessThan(600_000);
    const { notes } = (await (await look(viewer, id)).json()) as TransactionStory;
    expect(notes).toEqual(listed);
    const { rows } = await installation.database.query(
      `select actor, kind, after from admin_events where subject_id = $1 and after ->> 'did' = 'addNote' order by id`,
      [id],
    );
    expect(rows).toEqual(
      listed.map((each) => ({ actor: each.author, kind: 'transactions', after: { did: 'addNote', noteId: each.id } })),
    );
  });

  test('are not seen or written by another acquirer, and not by keys of integrators', async () => {
    const other = await logIn({ acquirerId: 2 }, 'admin');
    for (const method of ['GET', 'POST'] as const) {
      const body = method === 'POST' ? { text: 'Mine' } : undefined;
      expect((await ask(other, method, notesOf(1), body)).status).toBe(404);
      // Under the own acquirer there is no such transaction.
      expect((await ask(other, method, notesOf(2), body)).status).toBe(404);
    }
    expect((await call(notesOf(1), withKey(await installation.apiKey()))).status).toBe(403);
    const admin = await logIn({ acquirerId: 1 }, 'admin');
    const makeKey = async (scopes: string[]) => {
      const made = await ask(admin, 'POST', '/acquirers/1/keys', { name: 'notes', scopes });
      return ((await made.json()) as { key: string }).key;
    };
    const writer = await makeKey(['transactions:refund']);
    expect((await call(notesOf(1), withKey(writer, { text: 'By a program' }))).status).toBe(201);
    const reader = await makeKey(['transactions:read']);
    expect((await call(notesOf(1), withKey(reader, { text: 'No' }))).status).toBe(403);
    expect((await call(notesOf(1), withKey(reader))).status).toBe(200);
    const { rows } = await installation.database.query('select text from transaction_notes where acquirer_id = 2');
    expect(rows).toEqual([]);
  });

  test('never have a card number, nor text without an end', async () => {
    const operator = await logIn({ acquirerId: 1 }, 'operator');
    for (const text of [...CARDS, '', '  ', 'x'.repeat(1_001), 'a\u0000b', 'two\nlines'])
      expect([text, (await ask(operator, 'POST', notesOf(1), { text })).status]).toEqual([text, 400]);
    const { rows } = await installation.database.query(`select text from transaction_notes where text like '%1111%'`);
    expect(rows).toEqual([]);
  });

  test('end at a hundred', async () => {
    const operator = await logIn({ acquirerId: 1 }, 'operator');
    await installation.database.query(
      `insert into transaction_notes (acquirer_id, id, transaction_id, text, author)
       select 1, gen_random_uuid(), $1, 'n', 'user n' from generate_series(1, 100)`,
      [id],
    );
    expect((await ask(operator, 'POST', notesOf(1), { text: 'One more' })).status).toBe(409);
  });
});

describe('saved views', () => {
  const saved = async (session: ConsoleSession) => {
    const response = await ask(session, 'GET', '/ops/data/views');
    return ((await response.json()) as { views: { name: string; filter: object }[] }).views;
  };
  const change = (session: ConsoleSession, body: object) => ask(session, 'POST', '/ops/account/acts', body);

  test('are kept for each person, replaced by name, and removed', async () => {
    const [one, other] = [await logIn({ acquirerId: 1 }, 'viewer'), await logIn({ acquirerId: 1 }, 'viewer')];
    const filter = { outcome: 'declined', period: '24h', q: 'order 7' };
    expect(await (await change(one, { act: 'saveView', name: 'Today', filter: {} })).json()).toEqual({
      views: [{ name: 'Today', filter: {} }],
    });
    await change(one, { act: 'saveView', name: 'Today', filter });
    await change(one, { act: 'saveView', name: 'a first', filter: { from: '2026-03-01T10:00:00.000Z' } });
    expect((await saved(one)).map(({ name }) => name)).toEqual(['a first', 'Today']);
    expect((await saved(one))[1]!.filter).toEqual(filter);
    expect(await saved(other)).toEqual([]);
    await change(other, { act: 'removeView', name: 'Today' });
    expect(await (await change(one, { act: 'removeView', name: 'a first' })).json()).toEqual({
      views: [{ name: 'Today', filter }],
    });
    await installation.database.query('delete from users where username = $1', [one.username]);
    expect((await installation.database.query('select name from console_views')).rows).toEqual([]);
  });

  test('have limits, and no card number in a name or a filter', async () => {
    const person = await logIn(INSTALLATION, 'viewer');
    for (const view of [
      ...CARDS.map((card) => ({ name: card.slice(0, 60), filter: {} })),
      ...CARDS.map((q) => ({ name: 'card', filter: { q } })),
      { name: 'card', filter: { merchant: PAN } },
      { name: 'x'.repeat(61), filter: {} },
      { name: 'unknown', filter: { colour: 'red' } },
      { name: 'long', filter: { q: 'x'.repeat(256) } },
    ])
      expect([view, (await change(person, { act: 'saveView', ...view })).status]).toEqual([view, 400]);
    for (let n = 1; n <= 50; n++)
      expect((await change(person, { act: 'saveView', name: `view ${n}`, filter: {} })).status).toBe(200);
    expect((await change(person, { act: 'saveView', name: 'view 51', filter: {} })).status).toBe(409);
    expect((await change(person, { act: 'saveView', name: 'view 50', filter: { q: 'x' } })).status).toBe(200);
  });
});

test('the record of an export has no card number, in whichever field a person typed it', async () => {
  const person = await logIn({ acquirerId: 1 }, 'viewer');
  const filter = { merchant: PAN, terminal: '4111-1111-1111-1111', q: 'order' };
  const response = await ask(person, 'POST', '/ops/data/transactions/export', { filter });
  expect(response.status).toBe(200);
  await response.text();
  const { rows } = await installation.database.query(
    `select after -> 'filter' as filter from admin_events where after ->> 'did' = 'exportTransactions'`,
  );
  expect(rows).toEqual([{ filter: { merchant: '[withheld]', terminal: '[withheld]', q: '[withheld]' } }]);
});
