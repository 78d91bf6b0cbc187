import { afterEach, describe, expect, test } from 'vitest';
import { configSchema } from '../../processors/type-1/config.ts';
import type1 from '../../processors/type-1/index.ts';
import { processorConformance } from '../../src/kits/processor-kit/conformance.ts';
import type { IsoMessage, MacKeys, Processor } from '../../src/kits/processor-kit/index.ts';
import { demoHsm } from '../../src/tools/simulator/demo-hsm.ts';
import { Acquirer } from '../simulator/support.ts';
import { ScriptedSwitch } from '../support/scripted-switch.ts';

const macConfig = { ...type1.exampleConfig, macKeys: [{ number: 1, keyId: 'mac-1' }] };
const hsm = demoHsm([macConfig], 'dev');
const macKeys: MacKeys = (keyId, method) => hsm.keyMac(keyId, method);

/** Type 1 with its MAC where the bitmap asks for it, whose sales have no field of the secondary bitmap. */
const byBitmap = {
  ...type1,
  mac: { ...type1.mac!, field: ['primaryMac', 'mac'] },
  authorization: (...of: Parameters<typeof type1.authorization>) => primaryFields(type1.authorization(...of)),
} as unknown as Processor;

function primaryFields(message: IsoMessage): IsoMessage {
  const { posDataCode, switchData, ...rest } = message;
  return rest as IsoMessage;
}

test('a dialect with its MAC in DE64 or DE128 by the bitmap conforms', () => {
  const { mac } = byBitmap;
  const failed = processorConformance({ ...(type1 as unknown as Processor), mac }).filter(({ passed }) => !passed);
  expect(failed).toEqual([]);
});

describe('a connection whose MACs are in DE64 or DE128 by the bitmap', () => {
  let scripted: ScriptedSwitch;
  let acquirer: Acquirer;

  async function connect(): Promise<void> {
    scripted = await ScriptedSwitch.open({ processor: byBitmap, config: macConfig, macKeys });
    const addresses = [{ host: '127.0.0.1', port: scripted.port }];
    acquirer = new Acquirer(byBitmap, configSchema.parse({ ...macConfig, addresses }), hsm);
  }

  afterEach(async () => {
    acquirer.pool.destroy();
    await scripted.stopListening();
  });

  const fieldsOf = (message: IsoMessage | undefined) => ['primaryMac', 'mac'].filter((name) => message?.[name]);

  test('approves a response whose MAC is in the other field than that of its request', async () => {
    await connect();
    scripted.onRequest = ({ respond }) =>
      respond({}, { change: (response) => Object.assign(response, { posDataCode: 'A00000000000000' }) });
    const { outcome, result } = await acquirer.tap(10_00);
    expect(fieldsOf(scripted.requests[0]?.message)).toEqual(['primaryMac']);
    expect(fieldsOf(result.kind === 'responded' ? result.response : undefined)).toEqual(['mac']);
    expect(outcome).toMatchObject({ kind: 'approved' });
  });

  test('approves a response with its MAC in DE64, and not one with a bad MAC there', async () => {
    await connect();
    const change = (response: IsoMessage) => Object.assign(response, { posDataCode: undefined, switchData: undefined });
    scripted.onRequest = ({ respond }) => respond({}, { change });
    const { outcome, result } = await acquirer.tap(10_00);
    expect(fieldsOf(result.kind === 'responded' ? result.response : undefined)).toEqual(['primaryMac']);
    expect(outcome).toMatchObject({ kind: 'approved' });
    scripted.onRequest = ({ respond }) => respond({}, { change, isMacSpoilt: true });
    expect((await acquirer.tap(10_00)).outcome).toMatchObject({ kind: 'unknown', why: expect.stringMatching(/^MAC/) });
  });
});
