import { createServer, type Server } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import type { StoredProcessor } from '../../../schemas/admin-routing.ts';
import type { Webhook } from '../../../schemas/webhook.ts';
import { Disposition, type DispositionId, dispositionName } from '../../../src/payments/model/disposition.ts';
import { TransactionType } from '../../../src/payments/model/transaction.ts';
import { seededRandom } from '../../../src/tools/simulator/faults.ts';
import { saveApiKey } from '../../support/api-keys.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectSoundStates } from '../../support/invariants.ts';
import { refundSale, voidSale } from '../../support/refunds.ts';
import { request } from '../../support/requests.ts';
import { withCode } from '../../support/scripted-installation.ts';
import { type ReceivedRequest, ScriptedSwitch } from '../../support/scripted-switch.ts';
import { xTidOf } from '../../support/tenants.ts';
import { jobsOf, letTimePass } from '../../support/transactions.ts';
import { Backend } from '../../webhooks/backend.ts';
import { startReceiver } from '../../webhooks/receiver.ts';

/**
 * Changes of settings between any two steps of taps, judged by the books of both switches. Each run is made from its seed:
 * taps, refunds, voids and silences of the switches on one side, changes of the processor, its route, the terminal and the
 * integrator's endpoint on the other. An administrator who states only what is true.
 *
 * - What stands at the switches is what the gateway has stored, or it is in review.
 * - A reversal or a refund is at the switch that has the sale, and a reversal names the terminal of its original.
 * - The last event of every transaction that has reached an endpoint has its outcome.
 *
 * The seeds of the short form find it if a reversal may go to another switch than its original. The long form is
 * `npm run search-settings`; SEEDS, FIRST_SEED and STEPS change its size.
 */
const SEEDS = Number(process.env.SEEDS ?? 2);
const FIRST_SEED = Number(process.env.FIRST_SEED ?? 11);
const STEPS = Number(process.env.STEPS ?? 20);
const DEADLINE_MS = 400;
/** Longer than every wait of a reversal in its first hour. */
const A_WHILE_SECONDS = 120;

type Behaviour = 'responses' | 'books and is silent' | 'hears nothing';

/** A switch with books of its own: what it has booked for each RRN. It cannot locate what it has never booked. */
class BookedSwitch {
  readonly booked = new Map<string, number>();
  /** RRNs of reversals that name another terminal than the request. */
  readonly atOtherTerminal: string[] = [];
  /** RRNs of reversals of requests that it never received. */
  readonly foreign: string[] = [];
  /** The terminal of each request that it has received, by RRN. */
  readonly #heard = new Map<string, unknown>();
  behaviour: Behaviour = 'responses';

  readonly scripted: ScriptedSwitch;

  constructor(scripted: ScriptedSwitch) {
    this.scripted = scripted;
    scripted.onRequest = (received) => this.#take(received);
  }

  #take({ message, respond }: ReceivedRequest): void {
    if (this.behaviour === 'hears nothing') return;
    const rrn = message.rrn as string;
    if (message.mti === '0200') {
      this.#heard.set(rrn, message.tid);
      this.booked.set(rrn, (this.booked.get(rrn) ?? 0) + 1);
    } else {
      if (!this.#heard.has(rrn)) this.foreign.push(rrn);
      else if (this.#heard.get(rrn) !== message.tid) this.atOtherTerminal.push(rrn);
      if (this.booked.get(rrn)) this.booked.set(rrn, 0);
    }
    if (this.behaviour === 'responses') respond(message.mti !== '0200' && !this.#heard.has(rrn) ? withCode('25') : {});
  }
}

let installation: Installation | undefined;
const opened: { close(): unknown }[] = [];
afterAll(async () => {
  await installation?.stop();
  for (const each of opened) await each.close();
});

/** Another address of the same switch. */
async function secondPort(scripted: ScriptedSwitch): Promise<number> {
  const server: Server = createServer((socket) => scripted.join(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push(server);
  return (server.address() as { port: number }).port;
}

async function openBooks(): Promise<BookedSwitch> {
  const scripted = await ScriptedSwitch.open();
  opened.push(scripted);
  return new BookedSwitch(scripted);
}

test.each(
  Array.from({ length: SEEDS }, (_, n) => FIRST_SEED + n),
)('seed %i: the books of both switches agree with the stored outcomes', async (seed) => {
  const generator = seededRandom(seed);
  const random = () => generator.next();
  const oneOf = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  const switches = [await openBooks(), await openBooks()] as const;
  const ports = [
    { of: 0, port: switches[0].scripted.port },
    { of: 0, port: await secondPort(switches[0].scripted) },
    { of: 1, port: switches[1].scripted.port },
  ];
  await installation?.stop();
  const profile = { deadlineMs: DEADLINE_MS, overtakingGuardSeconds: 0 };
  installation = await startInstallation({ connectTo: async () => ports[0]!.port, profile });
  const { database } = installation;
  const key = await saveApiKey(database, { acquirerId: 1 }, ['processors:manage', 'tenants:manage']);
  const { url } = installation;
  const admin = async (method: string, path: string, body?: object) => {
    const headers = { 'x-api-key': key, 'content-type': body && 'application/json' };
    return request(url, `/acquirers/1/${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  };
  const receivers = [await startReceiver(), await startReceiver()] as const;
  opened.push(...receivers);
  const backend = await Backend.open(installation);
  await backend.register(receivers[0].url);
  let at = ports[0]!;
  const trail: string[] = [];

  async function changeProcessor(): Promise<void> {
    const to = oneOf(ports);
    const { body } = await admin('GET', 'processors/1');
    const { type, config } = body as StoredProcessor;
    const isSameSwitch = to.of === at.of;
    const addresses = [{ host: '127.0.0.1', port: to.port }];
    const { status } = await admin('PUT', 'processors/1', { type, config: { ...config, addresses }, isSameSwitch });
    trail.push(`processor from ${at.of} to ${to.of}: ${status}`);
    expect([200, 409]).toContain(status);
    if (status === 200) at = to;
  }

  async function replaceRoute(): Promise<void> {
    const { body } = await admin('GET', 'routes');
    const [route] = body as { id: number }[];
    const added = await admin('POST', 'routes', { processorId: 1, priority: 1 });
    const removed = route && (await admin('DELETE', `routes/${route.id}`));
    trail.push(`route: ${added.status} ${removed?.status}`);
  }

  /** The terminal gets other numbers at the switch. */
  async function changeTerminal(): Promise<void> {
    const tid = oneOf(['TW000001', 'TW000002', 'TW000003']);
    const { status } = await admin('PATCH', `terminals/${xTidOf('coffee')}`, { tid });
    trail.push(`terminal ${tid}: ${status}`);
    expect(status).toBe(200);
  }

  async function changeEndpoint(): Promise<void> {
    const to = oneOf(receivers);
    trail.push(`endpoint ${receivers.indexOf(to)}: ${(await backend.register(to.url)).status}`);
  }

  async function giveBack(how: 'void' | 'refund'): Promise<void> {
    const { rows } = await database.query<{ id: string }>(
      `select id from transactions where type = ${TransactionType.Tap} and disposition = ${Disposition.Approved}
         and void_state is null order by created_at`,
    );
    if (rows.length === 0) return;
    const { id } = oneOf(rows);
    const body = { amount: oneOf(['10.00', '4.00']), refundReference: `refund ${refunds++}` };
    const { status } = how === 'void' ? await voidSale(installation!, id) : await refundSale(installation!, id, body);
    trail.push(`${how}: ${status}`);
  }
  let refunds = 0;

  const acts: Readonly<Record<string, () => Promise<unknown> | unknown>> = {
    changeProcessor,
    replaceRoute,
    changeTerminal,
    changeEndpoint,
    behaviour: () => {
      const [which, behaviour] = [
        oneOf(switches),
        oneOf<Behaviour>(['responses', 'books and is silent', 'hears nothing']),
      ];
      which.behaviour = behaviour;
      trail.push(`switch ${switches.indexOf(which)} ${behaviour}`);
    },
    void: () => giveBack('void'),
    refund: () => giveBack('refund'),
    time: async () => {
      const { rows } = await database.query<{ id: string }>('select id from transactions');
      for (const { id } of rows) await letTimePass(database, id, A_WHILE_SECONDS);
    },
  };

  const taps: Promise<unknown>[] = [];
  for (let step = 0; step < STEPS; step++) {
    if (random() < 0.5) {
      taps.push(
        installation
          .phone()
          .tap({ amount: '10.00', currency: 'ZAR' })
          .catch(() => {}),
      );
      if (random() < 0.5) await taps.at(-1);
    } else await acts[oneOf(Object.keys(acts))]!();
  }
  await Promise.all(taps);
  for (const each of switches) each.behaviour = 'responses';
  await eventually(async () => {
    const { rows } = await database.query<{ id: string }>('select id from transactions');
    for (const { id } of rows) await letTimePass(database, id, A_WHILE_SECONDS);
    for (const { id } of rows) expect(await jobsOf(database, id)).toEqual([]);
  });
  await expectSoundStates(database);

  const { rows } = await database.query<Stored>(STORED);
  for (const { rrn, disposition, needsReview } of rows) {
    const booked = switches.reduce((sum, each) => sum + (each.booked.get(rrn) ?? 0), 0);
    const expected = disposition === Disposition.Approved ? 1 : 0;
    const agrees = needsReview || (disposition !== Disposition.Indeterminate && booked === expected);
    expect({ rrn, booked, disposition, needsReview, agrees, trail }).toMatchObject({ agrees: true });
  }
  // What was never booked cannot be refunded.
  for (const { booked, atOtherTerminal } of switches) {
    const unfunded = rows.filter(({ rrn, saleRrn }) => saleRrn !== null && booked.has(rrn) && !booked.has(saleRrn));
    expect({ unfunded, atOtherTerminal, trail }).toMatchObject({ unfunded: [], atOtherTerminal: [] });
  }
  // Nothing of one switch was ever sent to the other: a reversal of what never arrived comes from a silence alone.
  for (const [n, { foreign }] of switches.entries()) {
    const other = switches[1 - n]!;
    expect(foreign.filter((rrn) => other.booked.has(rrn))).toEqual([]);
  }
  await eventually(() => {
    const events = receivers.flatMap(({ received }) => received.map(({ body }) => JSON.parse(String(body)) as Webhook));
    for (const { id, disposition } of rows) {
      const ofIt = events.filter(({ serviceReference }) => serviceReference === id);
      const last = ofIt.toSorted((one, two) => one.sequence - two.sequence).at(-1);
      expect({ id, reported: last?.disposition, trail }).toMatchObject({ reported: dispositionName(disposition) });
    }
  });
});

interface Stored {
  readonly id: string;
  readonly rrn: string;
  readonly disposition: DispositionId;
  readonly needsReview: boolean;
  /** Of the sale that a refund returns. */
  readonly saleRrn: string | null;
}

const STORED = `
select t.id, t.rrn, t.disposition, t.needs_review or coalesce(v.needs_review, false) as "needsReview", s.rrn as "saleRrn"
from transactions t
left join transactions s on s.acquirer_id = t.acquirer_id and s.id = t.original_id
left join transactions v on v.acquirer_id = t.acquirer_id and v.original_id = t.id and v.type = ${TransactionType.Void}
where t.type in (${TransactionType.Tap}, ${TransactionType.Refund}) and t.rrn is not null`;
