import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MoveStep } from '../../../../src/tools/cells/finish-move.ts';
import { findingsOf } from '../../../support/cell-books.ts';
import { Killed, TwoCells } from '../../../support/cells.ts';
import { eventually } from '../../../support/eventually.ts';
import { outcomeOf } from '../../../support/responses.ts';
import { letAllDoubtsPass } from '../../../support/transactions.ts';

const STEPS: readonly MoveStep[] = [
  ...(['checked', 'announced', 'fenced', 'replicating', 'copied', 'held', 'drained', 'closed'] as const),
  ...(['gaveUp', 'arrived', 'tookOver', 'signedOn', 'flipped', 'finished'] as const),
];

/** Between two taps of a phone, shorter than a step of the command; both cells need the processor, too. */
const PAUSE_MS = 30;

let cells: TwoCells;
beforeAll(async () => {
  cells = await TwoCells.start({ maxSessions: 2, profile: { overtakingGuardSeconds: 1 } });
});
afterAll(() => cells.stop());

/** One phone that sells with short pauses, and repeats what was refused with 503 where the proxy sends it then. */
async function sellUntil(isOver: () => boolean, sales: string[], amounts: readonly string[]): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const merchantReference = randomUUID();
    for (;;) {
      const phone = cells.installation.phoneAt(cells.url);
      const response = await phone.tap({ amount: amounts[n % amounts.length]!, currency: 'ZAR', merchantReference });
      if (response.status === 503) {
        await sleep(PAUSE_MS);
        continue;
      }
      expect(response.status).toBe(200);
      sales.push(outcomeOf(response).serviceReference);
      break;
    }
    await sleep(PAUSE_MS);
  }
}

describe('an acquirer that is moved under load, by commands that die at every step', () => {
  test('is moved when the command is called again, and the books of both cells agree with the switch and the phones', async () => {
    const sales: string[] = [];
    let isOver = false;
    const phones = [
      sellUntil(() => isOver, sales, ['10.00', '10.51']),
      sellUntil(() => isOver, sales, ['12.00', '12.68']), // 68 is unknown: reversed
    ];
    for (const [from, to] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      for (const step of STEPS) {
        const onStep = (at: string) => {
          if (at === step) throw new Killed();
        };
        await expect(cells.move(from, to, { onStep }), step).rejects.toThrow(Killed);
      }
      await cells.move(from, to);
      expect(cells.side).toBe(to);
    }
    isOver = true;
    await Promise.all(phones);
    expect(sales.length).toBeGreaterThan(STEPS.length);
    await eventually(async () => {
      await letAllDoubtsPass(cells.database);
      for (const { check, open, violations } of await findingsOf(cells))
        expect([check, violations, ['I1', 'J'].includes(check) ? open : 0]).toEqual([check, [], 0]);
    });
    const { rows } = await cells.database.query<{ id: string }>('select id from transactions where acquirer_id = 1');
    expect(new Set(sales)).toEqual(new Set(rows.map(({ id }) => id)));
  });
});
