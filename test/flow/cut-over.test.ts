import { afterEach, beforeEach, expect, test } from 'vitest';
import { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { expectSoundStates } from '../support/invariants.ts';
import { outcomeOf } from '../support/responses.ts';
import { ScriptedSwitch } from '../support/scripted-switch.ts';
import { storedTransaction, untilResponded } from '../support/transactions.ts';

const TAP = { amount: '10.00', currency: 'ZAR' } as const;
const DAY_MS = 86_400_000;
/** The scope of the coffee shop's terminal. */
const SCOPE = '1';

let scripted: ScriptedSwitch;
let installation: Installation;

beforeEach(async () => {
  scripted = await ScriptedSwitch.open();
  installation = await startInstallation({ connectTo: async () => scripted.port, role: 'none' });
  for (const table of ['routes', 'processors'])
    await installation.database.query(`delete from ${table} where acquirer_id = 2`);
});
afterEach(async () => {
  await expectSoundStates(installation.database);
  await installation.stop();
  await scripted.close();
});

function dateText(daysFromToday: number): string {
  return new Date(Date.now() + daysFromToday * DAY_MS).toISOString().slice(0, 10);
}

function monthDay(daysFromToday: number): string {
  return dateText(daysFromToday).slice(5).replace('-', '');
}

async function announcedDates(): Promise<string[]> {
  const { rows } = await installation.database.query<{ date: string }>(
    `select business_date::text as date from business_dates where acquirer_id = 1 and processor_id = 1 order by 1`,
  );
  return rows.map(({ date }) => date);
}

/** The switch's own message on each of its connections. */
function announceCutOver(settlementDate?: string): void {
  for (const line of scripted.lines) {
    const transmissionDateTime = '1120120000';
    scripted.send(line, {
      mti: '0800',
      transmissionDateTime,
      stan: '000999',
      networkCode: '201',
      ...(settlementDate !== undefined && { settlementDate }),
    });
  }
}

/** Uses all but `left` numbers of the acquirer's business day. */
function useUpNumbers(left: number): Promise<unknown> {
  return installation.database.query(
    `insert into stan_blocks (scope, next_value, business_date, day_first) values ($1, $2, $3, 0)
     on conflict (scope) do update set next_value = $2, business_date = $3, day_first = 0`,
    [SCOPE, 999_999 - left, dateText(0)],
  );
}

test('an acquirer without STANs for the day is UnableToGoOnline until the switch cuts over', async () => {
  scripted.onRequest = ({ message, respond }) =>
    respond(
      {},
      { change: (response) => Object.assign(response, { settlementDate: message.localDate && monthDay(0) }) },
    );
  await useUpNumbers(99);
  await installation.startGateway();
  const spent = outcomeOf(await installation.phone().tap(TAP));
  expect(spent.type).toBe('UnableToGoOnline');
  await untilResponded(installation.database, spent.serviceReference);
  expect(scripted.requests).toEqual([]);

  announceCutOver(monthDay(1));
  await eventually(async () => expect(await announcedDates()).toEqual([dateText(1)]));
  const { type, serviceReference } = outcomeOf(await installation.phone().tap(TAP));
  expect(type).toBe('Approved');
  // Numbers do not restart: they continue after the previous day.
  expect((await storedTransaction(installation.database, serviceReference)).stan).toBe('999901');
});

test('a reserved block is not used on the next business date, on any worker', async () => {
  scripted.onRequest = ({ respond }) => respond({}, { change: (response) => delete response.settlementDate });
  await installation.startGateway();
  const other = await installation.startGateway();
  const stanOf = async (url: string) => {
    const response = await new Phone(installation.profile('coffee', url)).tap(TAP);
    return Number((await storedTransaction(installation.database, outcomeOf(response).serviceReference)).stan);
  };
  const [here, there] = [await stanOf(installation.url), await stanOf(other.url)];
  expect([here, there]).toEqual([1, 101]);
  announceCutOver(monthDay(1));
  await eventually(() => expect(scripted.responses).toHaveLength(2));
  expect([await stanOf(installation.url), await stanOf(other.url)]).toEqual([201, 301]);
});

test('a cut-over without a date begins the next day, once for all connections', async () => {
  const nearest = new Date(Date.now() + DAY_MS / 2).toISOString().slice(0, 10);
  await installation.startGateway();
  await installation.startGateway();
  announceCutOver();
  await eventually(async () => expect(await announcedDates()).toEqual([nearest]));
  announceCutOver();
  const response = outcomeOf(await installation.phone().tap(TAP));
  expect(response.type).toBe('Approved');
  expect((await announcedDates()).filter((date) => date > nearest)).toEqual([]);
});

test('the settlement date of a response is a business date, too; an impossible one is ignored', async () => {
  await installation.startGateway();
  for (const settlementDate of ['9999', '0000', monthDay(100), monthDay(-100), monthDay(2), monthDay(1)]) {
    scripted.onRequest = ({ respond }) =>
      respond({}, { change: (response) => Object.assign(response, { settlementDate }) });
    expect(outcomeOf(await installation.phone().tap(TAP)).type).toBe('Approved');
  }
  await eventually(async () => expect(await announcedDates()).toEqual([dateText(2)]));
});
