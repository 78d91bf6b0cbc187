import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Installation, startInstallation } from '../support/installation.ts';
import { outcomeOf } from '../support/responses.ts';
import { TapwireProcess } from '../support/tapwire-process.ts';

const OLD = { number: 1, keyId: 'mac-1' };
const NEW = { number: 2, keyId: 'mac-2' };

let installation: Installation;
let path: string;
let allKeys: { readonly keyId: string }[];

/** The switch knows both keys from the start; the gateway only the first one. */
beforeAll(async () => {
  installation = await startInstallation({ type: 'type-2', config: { macKeys: [OLD, NEW] }, role: 'none' });
  path = installation.environment().HSM_KEYS_FILE!;
  allKeys = JSON.parse(readFileSync(path, 'utf8')).keys;
  writeFileSync(path, JSON.stringify({ keys: allKeys.filter(({ keyId }) => keyId !== NEW.keyId) }));
  const onlyOld = `jsonb_set(config, '{macKeys}', '[${JSON.stringify(OLD)}]')`;
  await installation.database.query(`update processors set config = ${onlyOld}`);
  await installation.startGateway();
});
afterAll(() => installation.stop());

const run = (...args: string[]) => TapwireProcess.run(args, { environment: installation.environment() });
const tap = async () => outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })).type;
const macKeys = async () =>
  (await installation.database.query(`select config -> 'macKeys' as keys from processors order by acquirer_id limit 1`))
    .rows[0].keys;

test('a MAC key is rotated while taps are approved, without a restart', async () => {
  expect(await tap()).toBe('Approved');
  writeFileSync(path, JSON.stringify({ keys: allKeys }));
  for (const { keyId } of [OLD, NEW]) expect(await run('hsm', 'register', keyId)).toMatchObject({ exitCode: 0 });
  await installation.database.query(`update hsm_keys set created_at = now() - interval '1 minute'`);
  const rotated = await run('hsm', 'rotate', '--successor', NEW.keyId, '--number', '2', OLD.keyId);
  expect(rotated).toMatchObject({ exitCode: 0, output: expect.stringContaining('has replaced') });
  expect(await macKeys()).toEqual([NEW, OLD]);
  // The switch continues to use the old key for its responses, which the gateway still verifies.
  for (let count = 0; count < 20; count++) expect(await tap()).toBe('Approved');
  const { rows } = await installation.database.query('select reason from processor_faults');
  expect(rows).toEqual([]);
});
