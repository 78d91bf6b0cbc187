import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { JobTable } from '../../../src/jobs/job-table.ts';
import { REVERSAL_SCHEDULE } from '../../../src/kits/processor-kit/profile.ts';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { isTapTooOld, TAP_USABLE_DAYS } from '../../../src/payments/model/time-limits.ts';
import { readConfig } from '../../../src/start/config.ts';
import { purge } from '../../../src/store/transactions/purge.ts';
import { failOnBug } from '../../support/fail-on-bug.ts';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.ts';

const RETENTION = { cardDays: 180, auditDays: 2_557, webhookDays: 30, linkDays: 180, messageDays: 30 };

let testDatabase: TestDatabase;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
});
beforeEach(async () => {
  await testDatabase.drop();
  testDatabase = await createTestDatabase();
});
afterAll(() => testDatabase.drop());

const query = (text: string, values: unknown[] = []) => testDatabase.database.query(text, values);

/** One row for each age in days. */
async function transactions(...ages: number[]): Promise<void> {
  await query(
    `insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, type,
       disposition, device_installation_id, respond_by, sealed_card, pan_hash, masked_pan, created_at, updated_at)
     select 1, gen_random_uuid(), '1001', 10, gen_random_uuid(), 1, 8, 1, 0, 'device', now(), 'sealed', 'hash', '411111******1111',
       now() - age * interval '1 day', now() from unnest($1::float8[]) as age`,
    [ages],
  );
}

async function agesWithCard(): Promise<number[]> {
  const { rows } = await query(
    `select round(extract(epoch from now() - created_at) / 86400)::integer as age from transactions
     where sealed_card is not null order by 1`,
  );
  return rows.map(({ age }) => age);
}

const reported = (days: number) =>
  query(
    `insert into transaction_events (acquirer_id, transaction_id, attempt, moves, at, day)
     values (1, $1, 1, '[]', now() - $2 * interval '1 day', (now() at time zone 'UTC')::date - $2::integer)`,
    [randomUUID(), days],
  );

const count = async (table: string) => Number((await query(`select count(*) from ${table}`)).rows[0].count);

describe('sealed cards', () => {
  test('are erased after 180 days, and nothing else of the row', async () => {
    await transactions(1, 179, 181, 400);
    expect(await purge(testDatabase.database, RETENTION)).toBe('done');
    expect(await agesWithCard()).toEqual([1, 179]);
    const { rows } = await query('select distinct masked_pan, pan_hash from transactions');
    expect(rows).toEqual([{ masked_pan: '411111******1111', pan_hash: 'hash' }]);
  });

  test('are erased in batches, the oldest first, until none is left', async () => {
    await transactions(...Array.from({ length: 2_400 }, (_, index) => 181 + index / 24));
    const rounds: string[] = [];
    do rounds.push(await purge(testDatabase.database, RETENTION));
    while (rounds.at(-1) === 'more');
    expect(rounds).toEqual(['more', 'more', 'done']);
    expect(await agesWithCard()).toEqual([]);
  });

  test('are found again after a shorter retention or more time', async () => {
    await transactions(100, 150);
    await purge(testDatabase.database, RETENTION);
    expect(await agesWithCard()).toEqual([100, 150]);
    await purge(testDatabase.database, { ...RETENTION, cardDays: 120 });
    expect(await agesWithCard()).toEqual([100]);
  });
});

describe('sealed cards of open transactions', () => {
  test.each([
    ['a pending reversal', 'reversal_state = 1'],
    ['a reversal that was sent', 'reversal_state = 2'],
    ['a reversal to be confirmed', 'reversal_state = 5'],
    ['a reversal that a person must look at', 'reversal_state = 4'],
    ['a requested void', 'void_state = 1, disposition = 0'],
    ['a status that must not rest', 'status = 5'],
    ['a PIN that is awaited', 'pin_state = 1'],
    ['a completion that is on its way', `completing_until = now() + interval '1 minute'`],
  ])('are kept while there is %s, and erased after it has ended', async (_what, open) => {
    await transactions(181);
    await query(`update transactions set ${open}`);
    await transactions(200);
    expect(await purge(testDatabase.database, RETENTION)).toBe('done');
    expect(await agesWithCard()).toEqual([181]);
    await purge(testDatabase.database, RETENTION);
    expect(await agesWithCard()).toEqual([181]);
    await query(
      'update transactions set reversal_state = 3, void_state = null, disposition = 5, status = 8, pin_state = 0, completing_until = null',
    );
    expect(await purge(testDatabase.database, RETENTION)).toBe('done');
    expect(await agesWithCard()).toEqual([]);
    expect(await count('purge_held_cards')).toBe(0);
  });

  test('are erased half a year later even if the review is not resolved', async () => {
    await transactions(359, 361);
    await query('update transactions set reversal_state = 4');
    await purge(testDatabase.database, RETENTION);
    expect(await agesWithCard()).toEqual([359]);
    await query(`update transactions set created_at = created_at - interval '2 days'`);
    await purge(testDatabase.database, RETENTION);
    expect(await agesWithCard()).toEqual([]);
  });

  test('do not stop a batch from continuing with the others', async () => {
    await transactions(...Array.from({ length: 1_500 }, (_, index) => 181 + index / 24));
    await query('update transactions set reversal_state = 1');
    await transactions(190, 200);
    const rounds: string[] = [];
    do rounds.push(await purge(testDatabase.database, RETENTION));
    while (rounds.at(-1) === 'more');
    expect(await agesWithCard()).toHaveLength(1_500);
    expect(await count('purge_held_cards')).toBe(1_500);
  });
});

describe('the audit trail', () => {
  test('is deleted after seven years', async () => {
    await reported(2_600);
    await reported(2_500);
    await purge(testDatabase.database, RETENTION);
    expect(await count('transaction_events')).toBe(1);
  });

  test('cannot be deleted earlier, nor changed or emptied at any time', async () => {
    await reported(2_500);
    await expect(purge(testDatabase.database, { ...RETENTION, auditDays: 30 })).rejects.toThrow(/append-only/);
    await expect(query(`update transaction_events_default set moves = '[]'`)).rejects.toThrow(/append-only/);
    await expect(query('delete from transaction_events')).rejects.toThrow(/append-only/);
    await expect(query(`update transaction_events set moves = '[]'`)).rejects.toThrow(/append-only/);
    await expect(query('truncate transaction_events')).rejects.toThrow(/append-only/);
    expect(await count('transaction_events')).toBe(1);
  });
});

describe('the messages of attempts', () => {
  const kept = (days: number) =>
    query(
      `insert into attempt_messages (acquirer_id, transaction_id, sent_at, took_ms, processor_id, attempt, number, kind, connection, outcome, day)
       values (1, gen_random_uuid(), now() - $1 * interval '1 day', 1, 1, 1, 1, 'reversal', 'line', 'responded',
         (now() at time zone 'UTC')::date - $1::integer)`,
      [days],
    );

  test('are dropped with their day after 30 days, and deleted where they have no day of their own', async () => {
    for (const days of [32, 31, 29]) await kept(days);
    await query(`do $$ declare day date := (now() at time zone 'UTC')::date - 32; begin
      execute format('create table old_day (like attempt_messages including defaults including constraints)');
      execute format('with moved as (delete from attempt_messages where day = %L returning *) insert into old_day select * from moved', day);
      execute format('alter table attempt_messages attach partition old_day for values from (%L) to (%L)', day, day + 1);
    end $$`);
    expect(await count('attempt_messages')).toBe(3);
    expect(await purge(testDatabase.database, RETENTION)).toBe('done');
    expect(await count('attempt_messages')).toBe(1);
    await expect(query('select from old_day')).rejects.toThrow('does not exist');
  });
});

describe('the admin events', () => {
  const changed = (days: number) =>
    query(
      `insert into admin_events (acquirer_id, actor, action, kind, subject_id, at)
       values (1, 'cli user', 'remove', 'route', '1', now() - $1 * interval '1 day')`,
      [days],
    );

  test('are deleted after seven years, and cannot be before, nor changed or emptied at any time', async () => {
    await changed(2_600);
    await changed(2_500);
    await purge(testDatabase.database, RETENTION);
    expect(await count('admin_events')).toBe(1);
    await expect(purge(testDatabase.database, { ...RETENTION, auditDays: 30 })).rejects.toThrow(/append-only/);
    await expect(query(`update admin_events set actor = 'unknown'`)).rejects.toThrow(/append-only/);
    await expect(query('truncate admin_events')).rejects.toThrow(/append-only/);
    expect(await count('admin_events')).toBe(1);
  });
});

describe('links', () => {
  beforeEach(async () => {
    await query(`insert into acquirers (id, name) values (1, 'a');
      insert into integrators (acquirer_id, id, name) values (1, 10, 'i');
      insert into merchants (acquirer_id, id, integrator_id, name, country, mcc, currency, time_zone)
        values (1, '1001', 10, 'm', 'ZA', '5814', 'ZAR', 'UTC')`);
  });

  test('are deleted after 180 days, with their mandates, if no tap holds them', async () => {
    await query(
      `insert into links (acquirer_id, id, integrator_id, merchant_id, kind, type, payment_reference, amount_minor, currency,
         is_consumer_app, sealed_mandate, transaction_id, expires_at, created_at)
       select 1, gen_random_uuid(), 10, '1001', 'link', 2, gen_random_uuid(), 100, 'ZAR', true, 'sealed',
         case when is_paid then gen_random_uuid() end, now(), now() - age * interval '1 day'
       from unnest('{1,179,181,400}'::float8[]) as age, unnest('{true,false}'::boolean[]) as is_paid`,
    );
    expect(await purge(testDatabase.database, RETENTION)).toBe('done');
    expect(await count('links')).toBe(4);
    await purge(testDatabase.database, { ...RETENTION, linkDays: 100 });
    expect(await count('links')).toBe(2);
  });

  test('devices without the app are deleted after that time, and notes of changes after a day', async () => {
    await query(
      `insert into devices (acquirer_id, merchant_id, device_installation_id, friendly_name, sealed_push_token, updated_at)
       select 1, '1001', gen_random_uuid(), 'd', case when has_app then 'sealed'::bytea end, now() - age * interval '1 day'
       from unnest('{1,179,181,400}'::float8[]) as age, unnest('{true,false}'::boolean[]) as has_app`,
    );
    await query(`update settings_changes set changed_at = now() - interval '25 hours'`);
    await query(`insert into settings_changes default values`);
    expect(await purge(testDatabase.database, RETENTION)).toBe('done');
    expect(await count('devices')).toBe(6);
    expect(await count('settings_changes')).toBe(1);
  });

  /** Links of an age, each with a tap under another reference than its own. */
  async function tapped(disposition: number | null, days: number, links = 1): Promise<void> {
    await query(
      `with made as (
         insert into links (acquirer_id, id, integrator_id, merchant_id, kind, type, payment_reference, amount_minor, currency,
           is_consumer_app, sealed_mandate, transaction_id, expires_at, created_at)
         select 1, gen_random_uuid(), 10, '1001', 'link', 2, gen_random_uuid(), 100, 'ZAR', true, 'sealed', gen_random_uuid(),
           now(), now() - $2 * interval '1 day' - n * interval '1 s' from generate_series(1, $3::integer) as n
         returning id, transaction_id)
       insert into transactions (acquirer_id, id, merchant_id, integrator_id, merchant_reference, attempt, status, type,
         disposition, device_installation_id, respond_by, consumer_id, created_at, updated_at)
       select 1, transaction_id, '1001', 10, gen_random_uuid(), 1, 8, 2, $1::smallint, 'device', now(), id, now(), now() from made`,
      [disposition, days, links],
    );
  }

  test('stay without their mandates while a tap holds them: one that was approved, is uncertain or has no outcome', async () => {
    const { Approved, Declined, Indeterminate, UnableToGoOnline } = Disposition;
    for (const disposition of [Approved, Indeterminate, null, Declined, UnableToGoOnline])
      await tapped(disposition, 200);
    await tapped(Approved, 100);
    await purge(testDatabase.database, RETENTION);
    const { rows } = await query(
      `select t.disposition, l.sealed_mandate is not null as "hasMandate"
       from links l join transactions t on t.id = l.transaction_id order by 2, 1 nulls last`,
    );
    expect(rows).toEqual([
      { disposition: Approved, hasMandate: false },
      { disposition: Indeterminate, hasMandate: false },
      { disposition: null, hasMandate: false },
      { disposition: Approved, hasMandate: true },
    ]);
  });

  test('links that stay do not keep the purge from those after them', async () => {
    await tapped(Disposition.Approved, 300, 1_500);
    await tapped(Disposition.Declined, 200, 1_500);
    let rounds = 1;
    while ((await purge(testDatabase.database, RETENTION)) === 'more') rounds++;
    expect(rounds).toBeLessThan(6);
    expect(await count('links')).toBe(1_500);
  });
});

describe('webhooks', () => {
  async function event(state: string, days: number): Promise<void> {
    const id = randomUUID();
    await query(
      `insert into webhook_events (acquirer_id, id, integrator_id, endpoint_id, transaction_id, type, body, state, created_at)
       values (1, $1, 10, $1, $1, 'transaction.completed', '{}', $2, now() - $3 * interval '1 day')`,
      [id, state, days],
    );
    await query(
      `insert into webhook_attempts (acquirer_id, event_id, number, at, url, duration_ms)
       values (1, $1, 1, now() - $2 * interval '1 day', 'https://x.example', 1)`,
      [id, days],
    );
  }

  test('webhooks that are settled are deleted after 30 days with their attempts; of a pending one the old attempts are', async () => {
    await event('delivered', 31);
    await event('delivered', 29);
    await event('pending', 31);
    await purge(testDatabase.database, RETENTION);
    const { rows } = await query('select state from webhook_events order by state');
    expect(rows.map(({ state }) => state)).toEqual(['delivered', 'pending']);
    expect(await count('webhook_attempts')).toBe(1);
  });
});

describe('records of connections', () => {
  test('are deleted after a month: business dates, retired keys, faults; a key in use remains', async () => {
    for (const days of [29, 31]) {
      const at = `now() - interval '${days} days'`;
      await query(
        `insert into business_dates (acquirer_id, processor_id, business_date, since) values (1, 1, ${at}, ${at})`,
      );
      await query(
        `insert into processor_faults (acquirer_id, processor_id, reason, seen_at) values (1, ${days}, 'why', ${at})`,
      );
      await query(
        `insert into handover_keys (worker_id, public_key, published_at, expires_at) values ('${days}', '', ${at}, ${at})`,
      );
      for (const [id, retiresAt] of [
        [`retired-${days}`, at],
        [`live-${days}`, 'null'],
      ])
        await query(
          `insert into exchanged_keys (acquirer_id, processor_id, key_id, use, number, transport_key_id, form, wrapped, kcv, announced_at, retires_at)
           values (1, 1, '${id}', 'mac', 1, 'zmk', 'cryptogram', '00', 'AAAAAA', ${at}, ${retiresAt})`,
        );
    }
    await purge(testDatabase.database, RETENTION);
    expect(await count('business_dates')).toBe(1);
    expect(await count('processor_faults')).toBe(1);
    expect(await count('handover_keys')).toBe(1);
    const { rows } = await query('select key_id as id from exchanged_keys order by 1');
    expect(rows.map(({ id }) => id)).toEqual(['live-29', 'live-31', 'retired-29']);
  });

  test('resolutions are kept like the audit trail, and proposals until they are decided', async () => {
    const propose = `insert into review_resolutions
        (acquirer_id, id, transaction_id, books, reason, state, seen, proposed_by, proposed_at)
      select 1, gen_random_uuid(), gen_random_uuid(), 'voided', 'case', state, '', 'user test', now() - age * interval '1 day'
      from unnest(array['done', 'rejected', 'proposed', 'done']) with ordinality s(state, n), lateral (select case n when 4 then 2556 else 2558 end as age) a`;
    await query("insert into acquirers (id, name) values (1, 'one') on conflict do nothing");
    await query(propose);
    await purge(testDatabase.database, RETENTION);
    const { rows } = await query('select state from review_resolutions order by state');
    expect(rows).toEqual([{ state: 'done' }, { state: 'proposed' }]);
  });

  test('late responses are kept like the audit trail', async () => {
    for (const days of [2_556, 2_558])
      await query(
        `insert into late_responses (acquirer_id, transaction_id, attempt, kind, response_code, authorization_code, reversal_attempt, came_at)
         values (1, gen_random_uuid(), 1, 'approved', '00', '', 1, now() - interval '${days} days')`,
      );
    await purge(testDatabase.database, RETENTION);
    expect(await count('late_responses')).toBe(1);
  });
});

test('retention is configured with environment variables, and no audit is deleted before seven years', () => {
  expect(readConfig({ RETENTION_CARD_DAYS: '90' })).toMatchObject({
    RETENTION_CARD_DAYS: 90,
    RETENTION_AUDIT_DAYS: 2_557,
    RETENTION_WEBHOOK_DAYS: 30,
  });
  expect(() => readConfig({ RETENTION_AUDIT_DAYS: '365' })).toThrow(/RETENTION_AUDIT_DAYS/);
});

test('cards are kept at least until the reversal of a void at the end of the longest business day has been given up', () => {
  const days = 5 + REVERSAL_SCHEDULE.giveUpAfterSeconds / 86_400;
  expect(() => readConfig({ RETENTION_CARD_DAYS: String(days) })).toThrow(/RETENTION_CARD_DAYS/);
  expect(readConfig({ RETENTION_CARD_DAYS: '10' })).toMatchObject({ RETENTION_CARD_DAYS: 10 });
});

test('one purge job exists for any number of processes', async () => {
  const tables = await Promise.all([1, 2].map(() => JobTable.open(testDatabase.database, failOnBug)));
  try {
    await Promise.all(tables.map((table) => table.keepOne({ queue: 'purge', data: {} })));
    expect((await query(`select from pgboss.job where name = 'purge'`)).rowCount).toBe(1);
  } finally {
    for (const table of tables) await table.close();
  }
});

describe('the values by which copies of taps are found', () => {
  const DAY_MS = 86_400_000;
  const dateOf = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(2, 10).replaceAll('-', '');
  const use = (beginning: string) => `${beginning}${randomUUID().replaceAll('-', '').slice(beginning.length)}`;
  const stored = async () => {
    const { rows } = await query(`select left(hash::text, 6) as date from used_values order by hash`);
    return rows.map(({ date }) => date);
  };
  const insert = (...hashes: string[]) =>
    query('insert into used_values (hash, used_by, acquirer_id) select unnest($1::uuid[]), gen_random_uuid(), 1', [
      hashes,
    ]);

  test('are deleted, batch by batch, once taps of their date are refused; those of PINs and without a date stay', async () => {
    const dates = ['000000', '000101', '251231', dateOf(40), dateOf(39), dateOf(20), dateOf(0), dateOf(-2), 'ffffff'];
    await insert(...dates.map(use));
    await insert(...Array.from({ length: 2_500 }, () => use(dateOf(45))));
    const left: string[] = [];
    for (let batches = 0; batches < 4; batches++)
      left.push(await purge(testDatabase.database, { ...RETENTION, useDays: 30 }));
    expect(left).toEqual(['more', 'more', 'done', 'done']);
    expect(await stored()).toEqual(dates.filter((date) => ![dateOf(40), dateOf(39)].includes(date)).sort());
  });

  test('are kept for as long as a tap of their date is accepted', async () => {
    await insert(use(dateOf(0)), use('260101'));
    expect(await purge(testDatabase.database, RETENTION)).toBe('done');
    expect(await stored()).toEqual(['260101', dateOf(0)]);
    for (const years of [0, 1, 3, 20]) {
      const nowMs = Date.UTC(2026 + years, 6, 1);
      // As in the purge: the last date whose rows it deletes is refused.
      const deleted = new Date(nowMs - (TAP_USABLE_DAYS + 3 + 1) * DAY_MS)
        .toISOString()
        .slice(2, 10)
        .replaceAll('-', '');
      expect(isTapTooOld(deleted, nowMs)).toBe(deleted >= '260101');
      const today = new Date(nowMs).toISOString().slice(2, 10).replaceAll('-', '');
      for (const accepted of [today, '000101', '991231', undefined]) expect(isTapTooOld(accepted, nowMs)).toBe(false);
    }
  });
});
