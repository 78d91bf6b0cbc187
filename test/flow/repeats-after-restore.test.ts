import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fromHex } from '../../src/codecs/bytes/hex.ts';
import { localDateTime } from '../../src/kits/processor-kit/field-values.ts';
import { Disposition } from '../../src/payments/model/disposition.ts';
import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import { inTransaction } from '../../src/store/postgres/group-commit.ts';
import type { PhoneTap } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { createLink, type HandedLink, linkBody, post } from '../support/links.ts';
import { faultsIn } from '../support/log-lines.ts';
import { refundSale, sellApproved, storedSale, voidSale } from '../support/refunds.ts';
import { outcomeOf } from '../support/responses.ts';
import { tapwireHere } from '../support/run-here.ts';
import { MERCHANTS } from '../support/tenants.ts';
import { restoreTestDatabase, type TestDatabase } from '../support/test-database.ts';
import { storedTransaction } from '../support/transactions.ts';

/**
 * A database is restored from a copy, and phones and merchants repeat what they sent after the copy. The switch has booked
 * it once, and must not book it again.
 */
const MINUTE_MS = 60_000;
/** The lost window, in minutes ago, and when the taps in it were made. */
const LOST_FROM = 30;
const LOST_UNTIL = 10;
const TAPPED = 20;
/** When everything before the copy happened, in minutes before it. */
const BEFORE = 45;

const RESTORED =
  'database was restored and may lack commits: requests that could repeat lost ones are held until tapwire restored releases them';
const HELD = { errorCode: 203 };

const DEVICE = randomUUID();

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * MINUTE_MS);

/** What a tap shows if its reader made it then. */
function shownAt(at: Date): Pick<PhoneTap, 'tamper'> {
  const local = localDateTime(at.getTime(), MERCHANTS.coffee.timeZone);
  return {
    tamper: (values) => {
      values.set(0x9a, fromHex(local.slice(2, 8)));
      values.set(0x9f21, fromHex(local.slice(8)));
    },
  };
}

const payment = (at: Date, merchantReference: string = randomUUID()) =>
  ({ amount: '10.00', currency: 'ZAR', merchantReference, ...shownAt(at) }) as const;

const MAPPING = {
  processor: 'type-1',
  delimiter: ';',
  columns: {
    stan: 'STAN',
    rrn: 'RRN',
    tid: 'Terminal',
    amount: 'Amount',
    currency: 'Currency',
    approvedAt: 'Time',
    kind: 'Type',
  },
  amountsIn: 'minor',
  refunds: ['R'],
};

/** The books of the switch as an acquirer might send them. */
function listOf({ ledger }: Installation): string {
  const lines = ledger.map(({ stan, rrn, tid, amountMinor, currencyNumeric, approvedAtMs, kind }) =>
    [
      stan,
      rrn,
      tid,
      amountMinor,
      currencyNumeric,
      new Date(approvedAtMs).toISOString(),
      kind === 'refund' ? 'R' : 'S',
    ].join(';'),
  );
  return ['STAN;RRN;Terminal;Amount;Currency;Time;Type', ...lines].join('\n');
}

/** Puts everything in the copy into the past, as if the test had taken so long. */
async function age(copy: TestDatabase): Promise<void> {
  const earlier = (columns: readonly string[]) =>
    columns.map((column) => `${column} = ${column} - interval '${BEFORE} minutes'`).join(', ');
  const times = ['created_at', 'updated_at', 'sent_at', 'respond_by', 'deadline_at'];
  await copy.database.query(`update transactions set ${earlier(times)}`);
  await copy.database.query(`update links set ${earlier(['created_at', 'updated_at'])}`);
  await copy.database.query(`update database_epoch set ${earlier(['seen_at'])}`);
}

/** Puts a sale back into the moment when its request was under way, overdue by now. */
async function putUnderWay(copy: TestDatabase, id: string): Promise<void> {
  await inTransaction(copy.database, async (client) => {
    await client.query(
      `update transactions set status = 4, disposition = null, response_code = null, authorization_code = null,
         approved_minor = null, settlement_date = null, provider_reference = null, provider_fields = null, card_tags = null, card_type = null
       where id = $1`,
      [id],
    );
    await client.query('set local session_replication_role = replica'); // the audit trail is append-only
    await client.query(
      `delete from transaction_events e where transaction_id = $1
         and id > (select min(id) from transaction_events where transaction_id = $1)`,
      [id],
    );
    await client.query(`delete from webhook_events where transaction_id = $1`, [id]);
    await client.query('insert into open_attempts values (1, $1, 1, clock_timestamp())', [id]);
  });
}

describe.each([
  { how: 'cold', isServing: false },
  { how: 'hot', isServing: true },
])('on a $how copy', ({ isServing }) => {
  let installation: Installation;
  let copy: TestDatabase;
  /** A phone at the gateway that runs now. */
  const phone = () => installation.phone('coffee', DEVICE);
  let key: Readonly<Record<string, string>>;
  let environment: NodeJS.ProcessEnv;
  /** Before the copy. */
  let sale: string;
  let underWay: string;
  let link: HandedLink;
  /** After it. */
  let lostTap: TapRequest;
  let lostLinkTap: TapRequest;
  const refundReference = randomUUID();
  const lostReference = randomUUID();
  let booked: number;
  let lostLinkStan: string | null;
  let lastStan: number;
  let loggedBefore: number;

  const tapwire = async (...words: string[]) => {
    const { exitCode, output } = await tapwireHere(['restored', ...words], environment);
    expect({ exitCode, output }).toMatchObject({ exitCode: 0 });
    return output;
  };
  const refund = () =>
    refundSale(installation, sale, { amount: '4.00', refundReference }, { 'content-type': 'application/json', ...key });
  const createLostLink = () =>
    post(installation, '/consumer/applink', linkBody('coffee', { paymentReference: lostReference }), key);
  const isHeld = (response: { status: number; body: unknown }) =>
    expect(response).toMatchObject({ status: 503, body: HELD });

  beforeAll(async () => {
    installation = await startInstallation({ role: 'none' });
    const lost = await installation.startGateway();
    key = { 'x-api-key': await installation.apiKey() };
    sale = await sellApproved(installation, '10.00');
    underWay = await sellApproved(installation, '12.00');
    link = await createLink(installation);
    if (!isServing) await lost.stop();
    copy = await restoreTestDatabase(installation.environment().DATABASE_URL!);
    const present = isServing ? lost : await installation.startGateway();
    await age(copy);
    await putUnderWay(copy, underWay);

    lostTap = await phone().seal(payment(minutesAgo(TAPPED)));
    lostLinkTap = await phone().seal(payment(minutesAgo(TAPPED), link.paymentReference));
    // The copy has ended the connections of the gateway.
    const lostSale = await eventually(async () => outcomeOf(await phone().submit(lostTap)));
    expect(lostSale.type).toBe('Approved');
    const lostLinkSale = outcomeOf(await phone().submit(lostLinkTap));
    expect(lostLinkSale.type).toBe('Approved');
    lostLinkStan = (await storedTransaction(installation.database, lostLinkSale.serviceReference)).stan;
    expect(await refund()).toMatchObject({ status: 200 });
    expect(await createLostLink()).toMatchObject({ status: 200 });
    const lostLinkPaid = await phone().tap(payment(minutesAgo(TAPPED), lostReference));
    expect(outcomeOf(lostLinkPaid).type).toBe('Approved');
    const { stan } = await storedTransaction(installation.database, lostSale.serviceReference);
    lastStan = Number(stan);
    await present.stop();
    booked = installation.ledger.length;

    environment = installation.environment({ DATABASE_URL: copy.url });
    const [from, until] = [LOST_FROM, LOST_UNTIL].map((minutes) => minutesAgo(minutes).toISOString());
    await tapwire('--lost-from', from!, '--lost-until', until!);
    loggedBefore = installation.logLines.length;
    await installation.startGateway({ DATABASE_URL: copy.url });
  });
  afterAll(async () => {
    await installation.stop();
    await copy.drop();
  });

  const books = () => ({ booked: installation.ledger.length, reversals: installation.asked.reversals });

  test('the gateway says at its start that requests are held', () => {
    expect(faultsIn(installation.logLines.slice(loggedBefore)).map(({ msg }) => msg)).toEqual([RESTORED]);
  });

  test('no repeated order, link, refund or void is sent to the switch, however often it is repeated', async () => {
    for (const _ of [1, 2]) {
      isHeld(await phone().submit(lostTap));
      isHeld(await phone().submit(lostLinkTap));
      isHeld(await refund());
      isHeld(await voidSale(installation, sale, key));
      isHeld(await createLostLink());
    }
    expect(books()).toEqual({ booked, reversals: 0 });
    const { references } = JSON.parse(await tapwire('--json')) as { references: object[] };
    expect(references).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ kind: 'tap', reference: lostTap.merchantReference, amountMinor: 1_000, requests: 2 }),
        expect.objectContaining({ kind: 'tap', reference: link.paymentReference }),
        expect.objectContaining({ kind: 'refund', reference: refundReference, amountMinor: 400 }),
        expect.objectContaining({ kind: 'void', reference: sale }),
        expect.objectContaining({ kind: 'link', reference: lostReference }),
      ]),
    );
    expect(references).toHaveLength(5);
  });

  test('a new presentation of a card pays neither a held order nor a link of before', async () => {
    isHeld(await phone().tap(payment(new Date(), lostTap.merchantReference)));
    isHeld(await phone().tap(payment(new Date(), (await createLinkInCopy()).paymentReference)));
    expect(books()).toEqual({ booked, reversals: 0 });
  });

  /** Another open link of before, which was not held yet. */
  async function createLinkInCopy(): Promise<{ paymentReference: string }> {
    const paymentReference = randomUUID();
    await copy.database.query(
      `insert into links (acquirer_id, id, integrator_id, merchant_id, kind, type, payment_reference, amount_minor, currency,
         is_consumer_app, expires_at, created_at)
       select acquirer_id, $2, integrator_id, merchant_id, kind, type, $3, amount_minor, currency, is_consumer_app,
         clock_timestamp() + interval '1 hour', created_at from links where id = $1`,
      [link.id, randomUUID(), paymentReference],
    );
    return { paymentReference };
  }

  test('a request that was under way is neither reversed nor sent, and waits for a person', async () => {
    await eventually(async () =>
      expect(await storedSale(copy.database, underWay)).toMatchObject({
        disposition: Disposition.Indeterminate,
        needsReview: true,
      }),
    );
    expect(books()).toEqual({ booked, reversals: 0 });
  });

  test('a response that the database knows is returned as before', async () => {
    const known = await phone().seal(payment(new Date()));
    const first = outcomeOf(await phone().submit(known));
    expect(first.type).toBe('Approved');
    expect(outcomeOf(await phone().submit(known))).toEqual(first);
  });

  test('a tap that is certainly new goes on, with a STAN that was not used', async () => {
    const before = installation.ledger.length;
    const { type, serviceReference } = outcomeOf(await phone().tap(payment(new Date())));
    expect(type).toBe('Approved');
    expect(installation.ledger).toHaveLength(before + 1);
    const { stan } = await storedTransaction(copy.database, serviceReference);
    expect(Number(stan)).toBeGreaterThan(lastStan + 10_000);
  });

  test('a tap without a time that its reader shows is held', async () => {
    const { amount, currency } = payment(new Date());
    isHeld(await phone().tap({ amount, currency, tamper: (values) => void values.delete(0x9f21) }));
  });

  test('no state rests without a job, and no number was used twice', async () => {
    await expectSoundStates(copy.database);
    const keys = installation.ledger.map(({ tid, stan }) => `${tid} ${stan}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('the list of the switch shows every approval that the copy lacks, and its sales are entered for a review', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tapwire-list-'));
    const [list, mapping, missing] = ['list.csv', 'mapping.json', 'missing.csv'].map((name) => join(folder, name));
    writeFileSync(list!, listOf(installation));
    writeFileSync(mapping!, JSON.stringify(MAPPING));
    const compare = () => tapwireHere(['verify-ledger', '--list', list!, '--mapping', mapping!, '--csv'], environment);
    const [, ...lines] = (await compare()).stdout.trim().split('\r\n');
    expect(lines.map((line) => line.split(',')[0])).toEqual(['I1', 'I1', 'I1', 'I1']);

    const [titles, ...found] = (await compare()).stdout.trim().split('\r\n');
    const referenceOf = (line: string) => (line.includes(`,${lostLinkStan},`) ? link.paymentReference : '');
    writeFileSync(
      missing!,
      [`${titles},reference`, ...found.map((line) => `${line},${referenceOf(line)}`)].join('\r\n'),
    );
    expect(await tapwire('--enter', missing!, '--acquirer', '1')).toMatch(
      /^3 sales were entered.*\n1 refunds were not/s,
    );
    expect(await tapwire('--enter', missing!, '--acquirer', '1')).toContain('0 sales were entered');
    // As a list of a month whose transactions were archived: the database has none of them.
    const old = new Date(Date.now() - 200 * 86_400_000).toISOString();
    const oldLines = found.map((line) =>
      line.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, old).replace(/,\d{12},/, ',999999999999,'),
    );
    writeFileSync(missing!, [titles, ...oldLines].join('\r\n'));
    const entry = await tapwireHere(['restored', '--enter', missing!, '--acquirer', '1'], environment);
    expect(entry.stdout).toMatch(
      /^0 sales were entered.*\n1 refunds were not.*\n3 sales of more than 190 days ago were not/s,
    );
    expect(entry.exitCode).toBe(1);
    const [, ...left] = (await compare()).stdout.trim().split('\r\n');
    expect(left).toEqual([expect.stringMatching(/^I1,.*,refund,/)]);
    const { rows } = await copy.database.query<{ id: string; amountMinor: number }>(
      `select id, amount_minor::float8 as "amountMinor" from transactions where needs_review and id <> $1`,
      [underWay],
    );
    expect(rows.map(({ amountMinor }) => amountMinor)).toEqual([1_000, 1_000, 1_000]);
    const paid = await copy.database.query('select from transactions where needs_review and consumer_id = $1', [
      link.id,
    ]);
    expect(paid.rowCount).toBe(1);
    rmSync(folder, { recursive: true });
  });

  test('what the operator has compared is released by merchant and as a whole, with a record', async () => {
    const before = installation.ledger.length;
    await tapwire('--release', '--acquirer', '1', '--merchant', MERCHANTS.coffee.id);
    await eventually(async () => expect(await createLostLink()).toMatchObject({ status: 200 }));
    const again = await phone().tap(payment(new Date(), link.paymentReference));
    expect(again).toMatchObject({ status: 409, body: { errorCode: 124 } });
    expect(installation.ledger).toHaveLength(before);
    expect(await tapwire('--release', '--all')).toContain('Nothing is held');
    expect(await tapwire()).toContain('Nothing is held');
    const { rows } = await copy.database.query<{ action: string }>(
      `select action from admin_events where kind = 'restore' order by id`,
    );
    expect(rows.map(({ action }) => action)).toEqual(['add', 'change', 'remove']);
  });
});
