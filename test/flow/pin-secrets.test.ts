import { afterAll, beforeAll, expect, test } from 'vitest';
import { toHex } from '../../src/codecs/bytes/hex.ts';
import { encodePinBlock, parsePin } from '../../src/codecs/crypto/pin-block.ts';
import { DEMO_READER_KEY, demoKey, SoftHsm } from '../../src/codecs/crypto/soft-hsm.ts';
import { Phone } from '../../src/tools/phone/phone.ts';
import { eventually } from '../support/eventually.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { askedFor, RIGHT_PIN, tapForPin, WRONG_PIN } from '../support/pins.ts';
import { outcomeOf, problemOf } from '../support/responses.ts';
import { everythingStored, type SecretMark, secretsIn } from '../support/secrets.ts';

const PIN_BLOCK = 0xdf8a11;
const KSN = 0xdf8a12;
const PAN = '4111111111111111';

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ role: 'none' });
});
afterAll(() => installation.stop());

/** The keys of the installation's readers and switch, to compute what a block becomes. */
const hsm = new SoftHsm({
  environment: 'dev',
  keys: [demoKey(DEMO_READER_KEY, 'dukptBase'), demoKey('zone-pin', 'pin')],
});

/** A block as the reader made it, as the switch gets it, and in clear. */
async function marksOf(pin: string, block: Uint8Array, ksn: Uint8Array): Promise<SecretMark[]> {
  const from = { keyId: DEMO_READER_KEY, format: 0, block, ksn } as const;
  const translated = await hsm.translatePin({ from, to: { keyId: 'zone-pin', format: 0 }, pan: PAN });
  return [
    { name: `block of ${pin} from the reader`, text: toHex(block) },
    { name: `block of ${pin} for the switch`, text: toHex(translated.block) },
    { name: `clear block of ${pin}`, text: toHex(encodePinBlock(0, parsePin(pin), PAN)) },
  ];
}

test('PIN blocks, taken through every path of the PIN step, are in no log line, column, job or response', async () => {
  const { database } = installation;
  const gateway = await GatewayProcess.start(installation, 'all', { LOG_LEVEL: 'trace' });
  const phone = new Phone(installation.profile('coffee', gateway.url));
  const responses: unknown[] = [];
  const marks: SecretMark[] = [];
  const submit = async (asked: Awaited<ReturnType<typeof tapForPin>>, pin: string, where: 'sealed' | 'body') => {
    const reading = phone.enterPin(asked.reading, pin);
    const [block, ksn] = [reading.values.get(PIN_BLOCK)!, reading.values.get(KSN)!];
    marks.push(...(await marksOf(pin, block, ksn)));
    const request = await phone.sealReading(where === 'sealed' ? reading : asked.reading);
    const inBody = where === 'body' && { pinBlock: toHex(block), ksn: toHex(ksn) };
    const response = await phone.submitPin({
      ...request,
      ...inBody,
      transactionId: asked.id,
      pinToken: asked.pinToken,
    });
    responses.push(response);
    return response;
  };

  const asked = await tapForPin(phone);
  const again = askedFor(asked.reading, await submit(asked, WRONG_PIN, 'sealed'));
  problemOf(await submit(asked, RIGHT_PIN, 'body'));
  expect(outcomeOf(await submit(again, RIGHT_PIN, 'body')).type).toBe('Approved');
  problemOf(await submit(again, RIGHT_PIN, 'sealed'));
  const first = phone.enterPin(phone.read({ amount: '10.69', currency: 'ZAR' }), RIGHT_PIN);
  marks.push(...(await marksOf(RIGHT_PIN, first.values.get(PIN_BLOCK)!, first.values.get(KSN)!)));
  const firstResponse = phone.submit(await phone.sealReading(first));

  // While the switch has the request, and after everything has come to rest.
  const stored = await everythingStored(database);
  responses.push(await firstResponse);
  await eventually(async () => {
    const { rowCount } = await database.query('select from transactions where disposition = 5');
    expect(rowCount).toBe(1);
  });
  const storedInTheEnd = await everythingStored(database);
  expect((await gateway.kill('SIGTERM')).exitCode).toBe(0);

  expect(gateway.output).toContain('submitPinMobile');
  expect(storedInTheEnd).toContain('411111******1111');
  expect(secretsIn(toHex(encodePinBlock(0, parsePin(RIGHT_PIN), PAN)), marks)).not.toEqual([]);
  for (const text of [gateway.output, stored, storedInTheEnd, JSON.stringify(responses)]) {
    expect(secretsIn(text, marks)).toEqual([]);
  }
});
