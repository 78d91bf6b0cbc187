import { afterAll, beforeAll, expect, test } from 'vitest';
import { OutboundError } from '../../src/basics/errors.ts';
import { createNameResolver, type ResolveName } from '../../src/outbound/guarded-fetch.ts';
import { startNameServer } from './name-server.ts';

const MANY = Array.from({ length: 20 }, (_, n) => `8.8.8.${n + 1}`);

let server: Awaited<ReturnType<typeof startNameServer>>;
let resolve: ResolveName;
beforeAll(async () => {
  server = await startNameServer({
    'shop.example': ['8.8.8.8', '2600:1f18::1'],
    'old.example': ['8.8.4.4'],
    'new.example': ['2600:1f18::2'],
    'many.example': MANY,
    'empty.example': [],
    'broken.example': 'failure',
    'silent.example': 'silence',
  });
  resolve = createNameResolver({ servers: [server.address], timeoutMs: 100 });
});
afterAll(() => server.close());

const refusal = (code: string) => expect.objectContaining({ name: OutboundError.name, code });

test.each([
  ['shop.example', ['8.8.8.8', '2600:1f18::1']],
  ['old.example', ['8.8.4.4']],
  ['new.example', ['2600:1f18::2']],
])('%s has the addresses %j', async (name, addresses) => expect(await resolve(name)).toEqual(addresses));

test('the first eight of many addresses are used', async () => {
  expect(await resolve('many.example')).toHaveLength(8);
});

test.each([
  'localhost',
  'LOCALHOST',
  'app.localhost',
  'localhost.',
])('%s is this machine, without a name server', async (name) => {
  const before = server.asked.length;
  expect(await resolve(name)).toEqual(['127.0.0.1', '::1']);
  expect(server.asked).toHaveLength(before);
});

test.each([
  ['unknown.example', 'NAME_NOT_FOUND'],
  ['empty.example', 'NAME_NOT_FOUND'],
  ['broken.example', 'NAME_LOOKUP_FAILED'],
  ['silent.example', 'NAME_LOOKUP_FAILED'],
])('%s is refused with %s', async (name, code) => {
  await expect(resolve(name)).rejects.toEqual(refusal(code));
});
