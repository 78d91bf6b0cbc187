import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Disposition } from '../../../src/payments/model/disposition.ts';
import { TransactionType } from '../../../src/payments/model/transaction.ts';
import { saveProcessor, saveTerminals } from '../../../src/store/settings/tenants.ts';
import { Phone } from '../../../src/tools/phone/phone.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { refundSale, voidSale } from '../../support/refunds.ts';
import { MERCHANTS, type MerchantName, xTidOf } from '../../support/tenants.ts';
import { letTimePass } from '../../support/transactions.ts';
import { compareBooks, type ShownTransaction, shownTransactions } from '../compare-books.ts';
import { DUPLICATE_RULES, hasPython, PythonSwitch, REVERSAL_RULES } from '../python-switch.ts';

/** Two merchants of one acquirer and one of another, with two terminals each. */
const SHOPS = ['coffee', 'bakery', 'tailor'] as const satisfies readonly MerchantName[];
/** The cents that select a fault in `switch.py`; 00 selects none. */
const FAULTS = ['00', ...[61, 62, 63, 64, 65, 66, 67, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81].map(String)];
const FAULTS_OF_VOIDS = ['00', '77', '78', '79', '80'];
const FAULTS_OF_REFUNDS = FAULTS.filter((cents) => !FAULTS_OF_VOIDS.includes(cents));
const PROFILE = { deadlineMs: 2_000, reversalDelaysSeconds: [10], reversalGiveUpAfterSeconds: 60 };
const LATE_MS = 4_000;
/** Amounts of each till at once. A gateway on a busy machine does not send more within the deadline. */
const AT_ONCE = 6;
/** A phone repeats a tap that was refused for lack of capacity after this time. */
const BUSY_MS = 200;

const ALL_RULES = REVERSAL_RULES.flatMap((reversal) => DUPLICATE_RULES.map((duplicates) => ({ duplicates, reversal })));
/** Each rule once. `FOREIGN_RULES=all` runs every pair, which takes minutes. */
const RULES =
  process.env.FOREIGN_RULES === 'all'
    ? ALL_RULES
    : DUPLICATE_RULES.map((duplicates, at) => ({ duplicates, reversal: REVERSAL_RULES[at % REVERSAL_RULES.length]! }));

describe.skipIf(!hasPython)('a switch written in Python from the README alone', () => {
  let foreign: PythonSwitch;
  let installation: Installation;
  let keys: Map<number, string>;
  let tills: { readonly shop: MerchantName; readonly phone: Phone }[];

  beforeAll(async () => {
    foreign = await PythonSwitch.open('--late-ms', String(LATE_MS));
    installation = await startInstallation({ connectTo: async () => foreign.port, role: 'none', profile: PROFILE });
    const { database, tenants } = installation;
    const { rows } = await database.query(`select type, config from processors where acquirer_id = 2`);
    await saveProcessor(database, {
      acquirerId: 2,
      id: 1,
      ...rows[0],
      config: { ...rows[0].config, acquirerId: '50002' },
    });
    await saveTerminals(database, SHOPS.map(secondTerminal));
    keys = new Map([
      [1, await installation.apiKey({ acquirerId: 1, integratorId: 10 })],
      [2, await installation.apiKey({ acquirerId: 2, integratorId: 20 })],
    ]);
    await installation.startGateway();
    tills = SHOPS.flatMap((shop) => {
      const profile = tenants.profile(shop, installation.url);
      const second = { ...profile, merchant: { ...profile.merchant, xTid: `${xTidOf(shop)}-2` } };
      return [profile, second].map((each) => ({ shop, phone: new Phone(each) }));
    });
  });
  afterAll(async () => {
    await installation?.stop();
    await foreign?.close();
  });

  /** Submits a tap twice at once, as a client without patience does. */
  async function tap(phone: Phone, amount: string, merchantReference: string = randomUUID()) {
    const request = await phone.seal({ amount, currency: 'ZAR', merchantReference });
    const submit = async () => {
      for (;;) {
        const response = await phone.submit(request);
        if (response.status !== 503) return response;
        await sleep(BUSY_MS); // the gateway has too much to do, and has stored nothing
      }
    };
    return Promise.all([submit(), submit()]);
  }

  const headers = (acquirerId: number) => ({ 'x-api-key': keys.get(acquirerId)! });
  const refund = ({ acquirerId, id }: ShownTransaction, amount?: string) =>
    refundSale(installation, id, { ...(amount && { amount }), refundReference: randomUUID() }, headers(acquirerId));
  const voids = ({ acquirerId, id }: ShownTransaction) => voidSale(installation, id, headers(acquirerId));

  /** Lets the time of reversals pass until nothing is in progress, and no response is still to come. */
  async function untilAtRest() {
    const { database } = installation;
    await eventually(async () => {
      const { rows } = await database.query<{ id: string; name: string; seconds: number }>(
        `select distinct data ->> 'id' as id, name, extract(epoch from start_after - clock_timestamp())::float8 as seconds
         from pgboss.job where state < 'completed' and name <> 'purge'
         union all
         select id::text, 'overdue', extract(epoch from due_at - clock_timestamp())::float8 from open_attempts`,
      );
      for (const { id, name, seconds } of rows)
        if (name === 'reverse' && seconds > 0) await letTimePass(database, id, Math.ceil(seconds));
      // A void of which nothing is certain stays open until a person has resolved its sale.
      const open = await database.query('select from transactions where disposition is null and type <> $1', [
        TransactionType.Void,
      ]);
      const { waiting } = await foreign.books();
      expect({ jobs: rows, open: open.rowCount, waiting }).toEqual({ jobs: [], open: 0, waiting: 0 });
    });
  }

  /** A second response is recorded some time after the first, so the books are compared until they agree. */
  function untilBooksAgree(shown: () => Promise<ShownTransaction[]>) {
    return eventually(async () => expect(compareBooks(await foreign.books(), await shown())).toEqual([]));
  }

  test.each(
    RULES,
  )('agrees with what clients were shown: duplicates by $duplicates, reversals $reversal', async (rules) => {
    const { database } = installation;
    await untilAtRest();
    const earlier = new Set((await shownTransactions(database)).map(({ id }) => id));
    const shown = () => shownTransactions(database, earlier);
    await foreign.beginBooks(rules);

    const amounts = [
      ...FAULTS.map((cents) => `10.${cents}`),
      ...FAULTS_OF_VOIDS.map((cents) => `20.${cents}`),
      ...FAULTS_OF_REFUNDS.map((cents) => `${100 + Number(cents)}.00`),
    ];
    for (let from = 0; from < amounts.length; from += AT_ONCE) {
      const some = amounts.slice(from, from + AT_ONCE);
      await Promise.all(tills.flatMap(({ phone }) => some.map((amount) => tap(phone, amount))));
    }
    await untilAtRest();
    await untilBooksAgree(shown);
    const sales = await shown();

    await Promise.all(
      sales.flatMap((sale) => {
        const major = Math.trunc(sale.amountMinor / 100);
        if (major === 20) return [voids(sale), refund(sale), voids(sale)];
        if (major >= 100) {
          const amount = `60.${String(major - 100).padStart(2, '0')}`;
          return [refund(sale, amount), refund(sale, amount), voids(sale)];
        }
        return [];
      }),
    );
    await untilAtRest();
    await untilBooksAgree(shown);

    // Nothing more is done with what is in review.
    const before = await foreign.books();
    const all = await shown();
    const blocked = all.filter(
      ({ id, needsReview }) => needsReview || all.some((other) => other.originalId === id && other.needsReview),
    );
    expect(blocked.length).toBeGreaterThan(tills.length);
    const attempts = await Promise.all(
      blocked.flatMap((each) => {
        const { phone } = tills.find(({ shop, phone: at }) => isAt(each, shop, at))!;
        const again = tap(phone, '10.00', each.merchantReference);
        return [refund(each, '1.00'), voids(each), ...(each.type === TransactionType.Refund ? [] : [again])];
      }),
    );
    expect(attempts.flat().filter(({ status }) => status < 400)).toEqual([]);
    await untilAtRest();
    expect((await foreign.books()).entries.slice(before.entries.length)).toEqual([]);

    // Every other sale is refunded in full, twice.
    const rest = (await shown()).filter(({ type }) => type !== TransactionType.Refund);
    await Promise.all(rest.flatMap((sale) => [refund(sale), refund(sale), voids(sale)]));
    await untilAtRest();
    await untilBooksAgree(shown);
    await expectSoundStates(database);
    const faults = new Set((await foreign.books()).entries.map(({ fault }) => fault));
    expect(faults.size).toBeGreaterThan(FAULTS_OF_REFUNDS.length);
    expect((await shown()).some(({ disposition }) => disposition === Disposition.Approved)).toBe(true);
  });

  function isAt({ acquirerId, merchantId, xTid }: ShownTransaction, shop: MerchantName, phone: Phone): boolean {
    const merchant = MERCHANTS[shop];
    return merchant.acquirerId === acquirerId && merchant.id === merchantId && phone === phoneOf(shop, xTid);
  }

  function phoneOf(shop: MerchantName, xTid: string): Phone {
    const both = tills.filter((till) => till.shop === shop);
    return both[xTid === xTidOf(shop) ? 0 : 1]!.phone;
  }
});

function secondTerminal(shop: MerchantName) {
  const { acquirerId, id } = MERCHANTS[shop];
  return {
    acquirerId,
    xTid: `${xTidOf(shop)}-2`,
    tid: `TX${acquirerId}${id.padStart(5, '0')}`,
    mid: `TEST${id.padStart(11, '0')}`,
    canTakePin: true,
    merchantId: id,
  };
}
