import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configSchema } from '../../processors/type-1/config.ts';
import type1 from '../../processors/type-1/index.ts';
import type { Framing } from '../../src/codecs/iso8583/network/framing.ts';
import { LENGTH_HEADER_NAMES } from '../../src/codecs/iso8583/network/length-headers.ts';
import { type Simulator, startSimulator } from '../../src/tools/simulator/start-simulator.ts';
import { Acquirer } from './support.ts';

const framings: readonly (readonly [string, Framing])[] = [
  ...LENGTH_HEADER_NAMES.map((name) => [name, { lengthHeader: name, maxFrameBytes: 8_192 }] as const),
  [
    'bcd-2 and a TPDU',
    { ...fixed('bcd-2'), transportHeader: { kind: 'tpdu', bytes: Buffer.from('6000010002', 'hex') } },
  ],
  [
    'ascii-4 and a prefix',
    { ...fixed('ascii-4'), transportHeader: { kind: 'prefix', bytes: Buffer.from('ISO70100000') } },
  ],
];

function fixed(lengthHeader: Framing['lengthHeader']): Framing {
  return { lengthHeader, maxFrameBytes: 8_192 };
}

describe('a type whose framing is another row of the table', () => {
  const events: object[] = [];
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({
      processors: framings.map(([, framing], index) => ({
        processor: { ...type1, type: `framed-${index}`, framing },
        config: type1.exampleConfig,
        port: 0,
      })),
      onEvent: (event) => events.push(event),
    });
  });

  afterAll(() => simulator.close());

  test.each(framings)('%s: the simulator approves a tap and acknowledges its reversal', async (name, framing) => {
    const port = simulator.ports[framings.findIndex(([each]) => each === name)]!;
    const config = configSchema.parse({ ...type1.exampleConfig, addresses: [{ host: '127.0.0.1', port }] });
    const acquirer = new Acquirer({ ...type1, framing }, config);
    const { request, outcome } = await acquirer.tap(10_00);
    expect(outcome).toMatchObject({ kind: 'approved' });
    expect(await acquirer.reverse(request)).toBe('acknowledged');
    acquirer.pool.destroy();
  });

  test('a length that is not a number ends the connection, and is reported without its bytes', async () => {
    const socket = connect(simulator.ports[LENGTH_HEADER_NAMES.indexOf('ascii-4')]!, '127.0.0.1');
    socket.resume().write('PAN 4111111111111111');
    await once(socket, 'close');
    const reports = JSON.stringify(events);
    expect(reports).toContain('the length before a frame is not a number');
    expect(reports).not.toMatch(/PAN|1111/);
  });
});
