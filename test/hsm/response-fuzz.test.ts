import { afterEach, expect, test } from 'vitest';
import { HsmUnavailable } from '../../src/basics/errors.ts';
import { keyMac, MAC_ALGORITHMS } from '../../src/codecs/crypto/mac.ts';
import { seededRandom } from '../../src/tools/simulator/faults.ts';
import { clearKey, frame, healthyBut, Opened } from './support.ts';

const opened = new Opened();
afterEach(() => opened.closeAll());

const CALLS = 400;
const METHOD = MAC_ALGORITHMS['x9.19'];
const MESSAGE = Buffer.from('message');

test('a device that damages its responses yields the right MAC or HsmUnavailable, and the other device still works', async () => {
  const random = seededRandom(20_261_123);
  const below = (limit: number) => Math.floor(random.next() * limit);
  const right = Buffer.from(keyMac(clearKey('zak'), METHOD)(MESSAGE))
    .toString('hex')
    .toUpperCase();
  const damage = (response: Buffer): Buffer => {
    const bytes = Buffer.from(response);
    const at = below(bytes.length);
    switch (below(5)) {
      case 0: // the header, a code or the length; never the MAC, which no checksum protects
        bytes[below(10)]! ^= 1 << below(8);
        return bytes;
      case 1:
        return bytes.subarray(0, at);
      case 2:
        return Buffer.concat([bytes, bytes.subarray(at)]);
      case 3:
        return Buffer.concat([bytes.subarray(at), bytes]);
      default:
        return bytes;
    }
  };
  const port = await opened.fake(
    healthyBut(({ header, socket }) => socket.write(damage(frame(`${header}M700${right}`)))),
  );
  const { port: good } = await opened.simulator();
  const alone = await opened.hsm([port], { timeLimitMs: 50 });
  const both = await opened.hsm([port, good], { timeLimitMs: 3_000 });
  await expect.poll(() => both.deviceStates()[1]!.status, { interval: 5 }).toBe('ready');
  const request = { keyId: 'zak', method: METHOD, message: MESSAGE, lengthBytes: 8 };
  for (let call = 0; call < CALLS; call++) {
    const mac = await alone.mac(request).catch((error) => error);
    if (!(mac instanceof HsmUnavailable)) expect(Buffer.from(mac).toString('hex').toUpperCase()).toBe(right);
    expect(
      Buffer.from(await both.mac(request))
        .toString('hex')
        .toUpperCase(),
    ).toBe(right);
  }
});
