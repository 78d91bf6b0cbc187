import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Disposition } from '../../src/payments/model/disposition.ts';
import { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { type Installation, startInstallation, untilSignedOn } from '../support/installation.ts';
import { expectInvariants } from '../support/invariants.ts';
import { enterPin, tapForPin } from '../support/pins.ts';
import { request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import { storedTransaction } from '../support/transactions.ts';

const SHIFT_CLOCK = new URL('../support/shift-clock.ts', import.meta.url).href;
const MINUTES_MS = 60_000;

/** Nodes whose wall clocks are two minutes ahead of the database's, and two minutes behind. */
let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none', timeScale: 0.1, profile: { deadlineMs: 4_000 } });
});
afterEach(() => expectInvariants(installation));
afterAll(() => installation.stop());

async function startNode(offsetMs: number): Promise<string> {
  const settings = { NODE_OPTIONS: `--import=${SHIFT_CLOCK}`, CLOCK_OFFSET_MS: String(offsetMs) };
  const { url } = await GatewayProcess.start(installation, 'all', settings);
  await eventually(() => untilSignedOn(url));
  return url;
}

test('nodes two minutes ahead and two behind process taps, repeats, PINs and voids of each other as if their clocks agreed', {
  timeout: 600_000,
}, async () => {
  const [ahead, behind] = await Promise.all([startNode(2 * MINUTES_MS), startNode(-2 * MINUTES_MS)]);
  for (const [here, there] of [
    [ahead, behind],
    [behind, ahead],
  ] as const) {
    const phone = installation.phoneAt(here);
    const elsewhere = (url: string) => new Phone(installation.profile('coffee', url), phone.deviceInstallationId);

    // The switch responds after a while. Meanwhile the same request arrives again, at the same node and at the other
    // one.
    const slow = await phone.seal({ amount: '10.10', currency: 'ZAR' });
    const first = phone.submit(slow);
    await eventually(async () => {
      const { rowCount } = await installation.database.query('select from transactions where merchant_reference = $1', [
        slow.merchantReference,
      ]);
      expect(rowCount).toBe(1);
    });
    const responses = [await elsewhere(here).submit(slow), await elsewhere(there).submit(slow), await first];
    expect(responses.map((response) => outcomeOf(response).type)).toEqual(['Approved', 'Approved', 'Approved']);

    const sale = outcomeOf(responses[0]!).serviceReference;
    const headers = { 'x-api-key': await installation.apiKey() };
    expect((await request(there, `/transactions/${sale}/void`, { method: 'POST', headers })).status).toBe(202);
    await untilVoided(sale);

    const asked = await tapForPin(phone, { card: here === ahead ? 'visa' : 'amex' });
    expect(outcomeOf(await enterPin(elsewhere(there), asked)).type).toBe('Approved');

    const withoutResponse = outcomeOf(await phone.tap({ amount: '10.69', currency: 'ZAR' }));
    expect(withoutResponse.type).toBe('Indeterminate');
    await untilVoided(withoutResponse.serviceReference);
  }
});

function untilVoided(id: string): Promise<void> {
  return eventually(async () => {
    expect((await storedTransaction(installation.database, id)).disposition).toBe(Disposition.Voided);
  });
}
