import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { SAMPLE_CARDS } from '../../../src/card/sample-tap.ts';
import { tapwireHere } from '../../support/run-here.ts';

interface Case {
  readonly number: number;
  readonly title: string;
  readonly do: Readonly<Record<string, unknown>>;
  readonly response?: Record<string, unknown>;
}

/** An approved sale, one with a PIN, one that needs a reversal, a refund and its sale. */
const TITLES = [/ sale, approved$/, /PIN/, /no response: reversal$/, /sale to be refunded$/, /refund of /];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapwire-certify-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function certify(...args: string[]) {
  return tapwireHere(['certify', ...args], { TAPWIRE_DATA: folder }, folder);
}

/** Some cases of the ready plan. */
async function someCases(): Promise<readonly Case[]> {
  const { stdout } = await certify('plan', 'type-1');
  const plan = parse(stdout) as { readonly cases: readonly Case[] };
  expect(plan.cases.length).toBeGreaterThanOrEqual(60);
  return TITLES.map((title) => plan.cases.find((each) => title.test(each.title))!);
}

function writePlan(name: string, chosen: readonly Case[]): string {
  writeFileSync(join(folder, name), stringify({ name: 'A short plan', type: 'type-1', cases: chosen }));
  return name;
}

const idIn = (output: string) => /Run (\S+),/.exec(output)![1]!;

test('a run of a part is resumed to the end, is green against the simulated switch, and keeps no card data', async () => {
  const cases = await someCases();
  const plan = writePlan('plan.yaml', cases);
  const first = await certify(plan, '--only', String(cases[0]!.number));
  expect(first.output).toContain('1 passed, 0 failed, 4 not run');
  expect(first.exitCode).toBe(3);
  const whole = await certify(plan, '--resume', idIn(first.output));
  expect(whole.output).toContain('5 passed, 0 failed, 0 not run');
  expect(whole.exitCode, whole.output).toBe(0);
  expect((await certify('compare', idIn(first.output), idIn(whole.output))).output).toContain('no difference');

  const stored = readdirSync(join(folder, 'certify')).map((name) =>
    readFileSync(join(folder, 'certify', name), 'utf8'),
  );
  expect(stored).toHaveLength(1);
  expect(stored[0]).toContain('411111******1111');
  for (const { pan } of Object.values(SAMPLE_CARDS))
    for (const form of [pan, Buffer.from(pan).toString('hex')]) expect(stored[0]).not.toContain(form);

  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const pem = {
    own: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    public: publicKey.export({ type: 'spki', format: 'pem' }),
  };
  for (const [name, key] of Object.entries(pem)) writeFileSync(join(folder, `${name}.pem`), key);
  const pack = (to: string) => certify('pack', idIn(whole.output), '--key', 'own.pem', '--to', to);
  expect((await pack('evidence.zip')).output).toContain('5 passed, 0 failed, 0 not run');
  expect((await pack('evidence.zip')).output).toContain('exists already');
  expect((await certify('check', 'evidence.zip', '--key', 'public.pem')).output).toContain('as it was signed');
  expect(await certify('check', 'plan.yaml', '--key', 'public.pem')).toMatchObject({ exitCode: 1 });
});

test('a response with another value fails its case, with the field, what was expected and what arrived', async () => {
  const [sale] = await someCases();
  const wrong = { ...sale!, response: { ...sale!.response, 39: '05' } };
  const { exitCode, output } = await certify(writePlan('wrong.yaml', [wrong]));
  expect(output).toContain('response 39: expected 05, got 00');
  expect(output).toContain('0 passed, 1 failed, 0 not run');
  expect(exitCode).toBe(3);
});
