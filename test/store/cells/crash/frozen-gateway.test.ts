import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { findingsOf } from '../../../support/cell-books.ts';
import { TwoCells } from '../../../support/cells.ts';
import { eventually } from '../../../support/eventually.ts';
import { GatewayProcess } from '../../../support/gateway-process.ts';
import { AppPhone, ask, createLink } from '../../../support/links.ts';
import { outcomeOf } from '../../../support/responses.ts';
import { letAllDoubtsPass } from '../../../support/transactions.ts';
import { Backend } from '../../../webhooks/backend.ts';
import { ok, startReceiver, status } from '../../../webhooks/receiver.ts';

const EXCHANGES = {
  'type-1': { form: 'cryptogram', keys: ['mac', 'pin'] },
  'type-2': { form: 'keyBlock', keys: ['mac'] },
} as const;
const COMMON = { transportKeyId: 'transport', startedBy: 'us', maxAgeSeconds: 86_400, overlapSeconds: 60 } as const;
const PROCESSES = 2;
const SALE = { amount: '10.00', currency: 'ZAR' };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Two cells whose switch announces keys to one acquirer: two acquirers would be two zones. */
async function startCells(type: keyof typeof EXCHANGES): Promise<TwoCells> {
  const keyExchange = { ...COMMON, ...EXCHANGES[type], keys: [...EXCHANGES[type].keys] };
  const config = { macKeys: [{ number: 7, keyId: 'first-mac' }], keyExchange };
  const cells = await TwoCells.start({ type, config }, (database) =>
    database.query('delete from routes where acquirer_id = 2; delete from processors where acquirer_id = 2'),
  );
  closers.push(() => cells.stop());
  return cells;
}

function membersOf({ pid }: GatewayProcess): number[] {
  const members = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  if (members.length !== PROCESSES) throw new Error(`expected ${PROCESSES} processes, found ${members.length}`);
  return members;
}

/** The primary ends a process that is frozen for half a minute, which happens on a very slow machine. */
function resume(pid: number): void {
  try {
    process.kill(pid, 'SIGCONT');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

describe.each(['type-1', 'type-2'] as const)('an acquirer of %s, served by a group of processes', (type) => {
  test('moves with its keys, webhooks and links, while one of the processes is frozen and continued', async () => {
    const cells = await startCells(type);
    const { installation, databases, gateways } = cells;
    const receiver = await startReceiver(status(500));
    closers.push(() => receiver.close());
    await (await Backend.open(installation)).listenAt(receiver.url);
    await installation.phone().tap(SALE);
    await eventually(() => expect(receiver.received).not.toEqual([]));
    const [unused, scanned] = [await createLink(installation), await createLink(installation)];
    expect((await ask(installation, scanned, `/consumer/qrCodeDetails/${scanned.id}`)).status).toBe(200);
    await gateways.a.stop();
    const group = await GatewayProcess.startGroup(installation, PROCESSES, { CELL_NAME: 'a' });
    const [frozen] = membersOf(group);
    closers.push(() => resume(frozen!));

    const references: string[] = [];
    const responses: Promise<unknown>[] = [];
    /** Some of them reach the process that is frozen, and wait there. */
    const tapAtGroup = () => {
      for (let n = 0; n < 2 * PROCESSES; n++) {
        const merchantReference = randomUUID();
        const response = installation.phoneAt(group.url).tap({ ...SALE, merchantReference });
        responses.push(
          response.then(
            ({ status }) => {
              expect([200, 503]).toContain(status);
              if (status === 200) references.push(merchantReference);
            },
            () => {}, // its process was ended
          ),
        );
      }
    };
    tapAtGroup();
    await Promise.all(responses);
    expect(references).toHaveLength(2 * PROCESSES);

    // Frozen with its connection to the switch: its acquirer is not given up, and is served.
    let freezing = 'copied';
    const onStep = (step: string) => {
      if (step !== freezing) return;
      process.kill(frozen!, 'SIGSTOP');
      freezing = 'nothing';
    };
    await expect(cells.move('a', 'b', { onStep }, { mostHolds: 1 })).rejects.toThrow('so a still serves it');
    resume(frozen!);

    // Frozen after its cell has given the acquirer up, with taps that it has not read.
    freezing = 'gaveUp';
    await cells.move('a', 'b', {
      onStep: (step) => {
        onStep(step);
        if (step === 'gaveUp') tapAtGroup();
      },
    });
    const { rows: before } = await databases.a.query('select count(*) from transactions where acquirer_id = 1');
    resume(frozen!);
    await Promise.all(responses);
    const { rows: after } = await databases.a.query('select count(*) from transactions where acquirer_id = 1');
    expect(after).toEqual(before);
    await group.kill('SIGTERM');

    const keysIn = async (side: 'a' | 'b') =>
      (await databases[side].query('select key_id, use, kcv from exchanged_keys order by key_id')).rows;
    expect(await keysIn('b')).toEqual(expect.arrayContaining(await keysIn('a')));
    expect(await keysIn('a')).not.toEqual([]);
    for (const link of [unused, scanned])
      expect(outcomeOf(await new AppPhone(installation, link).pay()).type).toBe('Approved');
    expect(await installation.switchStats(gateways.b.url)).toMatchObject({ badMacs: 0 });

    receiver.respond = ok;
    const failed = receiver.received[0]!.headers['webhook-id'];
    const earlier = receiver.received.length;
    await eventually(async () => {
      await databases.b.query(`update pgboss.job set start_after = now() where name = 'webhook' and state < 'active'`);
      const ids = receiver.received.slice(earlier).map(({ headers }) => headers['webhook-id']);
      expect(ids).toContain(failed);
    });
    const { rows } = await databases.b.query<{ reference: string }>(
      'select merchant_reference as reference from transactions where merchant_reference = any($1)',
      [references],
    );
    expect(rows.map(({ reference }) => reference).sort()).toEqual(references.sort());
    await eventually(async () => {
      await letAllDoubtsPass(databases.b);
      for (const { check, open, violations } of await findingsOf(cells))
        expect([check, violations, check === 'I1' ? open : 0]).toEqual([check, [], 0]);
    });
  });
});
