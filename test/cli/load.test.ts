import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { run } from '../../src/cli/load/load.ts';
import { readLoadOptions } from '../../src/cli/load/load-options.ts';
import { describeResult, progressLine } from '../../src/cli/load/load-table.ts';
import { writeLoadProfile } from '../../src/tools/load/load-profile.ts';
import { emptySlice } from '../../src/tools/load/tally.ts';
import { resultWith } from '../load/results.ts';
import { runHere } from '../support/run-here.ts';

const folder = mkdtempSync(join(tmpdir(), 'tapwire-load-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** No server listens there. */
const NOWHERE = 'http://127.0.0.1:9';
const merchant = { id: '1', name: 'Shop', mcc: '5411', xTid: 'T1', user: 'till' };
const issuer = {
  iss: 'https://issuer.example',
  kid: 'k1',
  audience: 'tapwire',
  algorithm: 'ES256' as const,
  privateKey: 'none',
  publicKey: 'none',
};
const books = { ledgerUrls: [`${NOWHERE}/ledger`], databaseUrl: 'postgres://x', since: '2026-11-20T12:00:00.000Z' };
writeLoadProfile(join(folder, 'load.json'), {
  url: NOWHERE,
  issuer,
  merchants: [merchant],
  books,
  processes: { it: 1 },
});

const load = (...words: string[]) => runHere(run, words, { TAPWIRE_DATA: folder });
const optionsOf = (...words: string[]) => readLoadOptions(words, { TAPWIRE_DATA: folder })!;

async function gatewayThatSays(description: object) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.end(JSON.stringify(request.url === '/openapi.json' ? description : {}));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

describe('tapwire load', () => {
  test.each([
    ['--rate', '0', '--rate 0: expected arrivals a second'],
    ['--rate', 'fast', '--rate fast'],
    ['--rate', '1e9', '--rate 1e9'],
    ['--duration', '60', '--duration 60: expected a time like 60s'],
    ['--duration', '0s', '--duration 0s'],
    ['--duration', '400h', 'at most 43200 s'],
    ['--arrivals', 'often', '--arrivals often'],
    ['--mix', 'nowhere.json', '--mix nowhere.json: There is no such file'],
    ['--connections', '-1', '--connections'],
    ['--most-connections', '99999', '--most-connections 99999'],
    ['--phones', '0', '--phones 0: expected a whole number from 1'],
    ['--workers', '1000', '--workers 1000'],
    ['--seed', 'x', '--seed x'],
    ['--response-within', '2h', '--response-within 2h'],
    ['--fail-if', 'p99', '--fail-if p99'],
    ['--against', 'gateway', '--against gateway: expected a URL'],
    ['--against', 'ftp://x', '--against ftp://x'],
    ['--against', 'http://user@x', '--against'],
    ['--ledger', 'file:///x', '--ledger file:///x'],
    ['--json', '/nowhere/a.json', '--json /nowhere/a.json: the folder does not exist'],
    ['--report', '/nowhere/a.html', '--report'],
    ['--profile', '/nowhere', 'There is no usable profile at /nowhere'],
    ['--haste', '1', "Unknown option '--haste'"],
  ])('refuses %s %s in one line, with exit code 2', async (flag, word, why) => {
    const { exitCode, stdout, stderr } = await load(`${flag}=${word}`);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(why);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test('reports that there is no response, with exit code 2', async () => {
    const { exitCode, stderr } = await load('--duration', '1s');
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`No response from ${NOWHERE}. Check that the gateway is running`);
  });

  test.each([
    ['reports that it is prod', { servers: [{ variables: { env: { default: 'prod' } } }] }, 'says it is prod'],
    ['does not say what it is', {}, 'does not say which environment it is'],
  ])('does not load a gateway that %s, unless confirmed twice', async (_what, description, why) => {
    const { server, url, asked } = await gatewayThatSays(description);
    const refused = await load('--against', url);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain(`${url} ${why}. To load it nevertheless, add --against-prod --yes-really`);
    expect(asked).toEqual(['/openapi.json']);
    const reported = await load('--against', url, '--against-prod', '--yes-really');
    expect(reported.stderr).toContain('publishes no card data key'); // it continued, and found that this is not a gateway
    server.close();
  });

  test('accepts books and processes only for the profile’s gateway', () => {
    expect(optionsOf().profile).toMatchObject({ books, processes: { it: 1 } });
    const other = optionsOf('--against', 'https://other.example/');
    expect(other.plan.url).toBe('https://other.example');
    expect(other.profile).toMatchObject({ books: undefined, processes: undefined });
    const reported = optionsOf(
      '--against',
      'https://other.example',
      '--ledger',
      'http://l/ledger',
      '--ledger',
      'http://m/ledger',
      '--database',
      'postgres://y',
    );
    expect(reported.profile.books).toMatchObject({
      ledgerUrls: ['http://l/ledger', 'http://m/ledger'],
      databaseUrl: 'postgres://y',
    });
  });

  test('loads a production gateway only if confirmed twice', () => {
    const isAllowed = (...words: string[]) => optionsOf(...words).isProdAllowed;
    expect([isAllowed(), isAllowed('--against-prod'), isAllowed('--yes-really')]).toEqual([false, false, false]);
    expect(isAllowed('--against-prod', '--yes-really')).toBe(true);
  });

  test('leaves links out of its default mix if there is no API key to create them with', () => {
    expect(optionsOf().plan.mix).not.toHaveProperty('link');
    expect(optionsOf().plan.mix).toHaveProperty('approve');
  });
});

describe('its output', () => {
  test('is a line with the rate, the latencies, the errors and the calls in progress', () => {
    const slice = { ...emptySlice(), due: 4_000, responded: 3_996, inFlight: 7 };
    const seen = { second: 11, seconds: 2, slice, total: emptySlice() };
    const line = progressLine(seen, { seconds: 60 });
    expect(line).toBe('  12/60 s  2000 due/s  1998 responses/s  p50 -  p99 -  0 errors  7 in flight');
    expect(progressLine({ ...seen, second: 60 }, { seconds: 60 })).toContain('waiting for responses');
  });

  test('ends with a table of the scenarios, the lost calls, and the result of the books', () => {
    const text = describeResult(resultWith({ lost: 2, reasons: { ECONNRESET: 2 } }));
    expect(text).toMatch(/approve {3}1000 {7}5.00 ms .* 1000 Approved/);
    expect(text).toContain('sent 1000   responded 1000   lost 2   100 per second');
    expect(text).toContain('(2 ECONNRESET)');
    expect(text).toContain('ledger: ok, 1000 approvals compared');
  });

  test('states when money was lost, when there was no ledger, and when the generator was the limit', () => {
    const ledger = { ok: false, description: '1 violation', violations: ['I1 7: is booked at the switch'], checks: [] };
    expect(describeResult(resultWith({ ledger }))).toContain(
      'ledger: NOT OK, 1 violation\nI1 7: is booked at the switch',
    );
    expect(
      describeResult(resultWith({ ledger: { ...ledger, ok: null, description: 'there was no ledger' } })),
    ).toContain('ledger: there was no ledger');
    const generator = {
      isLimit: true,
      description: ['calls were sent up to 50 ms late (p99)'],
      lagP99Ms: 50,
      busy: 1,
      workers: 1,
    };
    expect(describeResult(resultWith({ generator }))).toContain(
      'may have been the limit: calls were sent up to 50 ms late',
    );
  });
});

describe('tapwire load compare', () => {
  const fileOf = (name: string, value: unknown) => {
    const path = join(folder, name);
    writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
    return path;
  };
  const good = fileOf('good.json', resultWith());

  test('ends with 0 if nothing is worse, and with 1 if something is', async () => {
    expect(await load('compare', good, good)).toMatchObject({ exitCode: 0, stderr: '' });
    const slow = fileOf('slow.json', resultWith({ p99Ms: 40 }));
    const { exitCode, stdout } = await load('compare', good, slow);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/p99 +20.0 ms +40.0 ms +\+100.0 % +worse/);
    expect(await load('compare', slow, good)).toMatchObject({ exitCode: 0 });
    expect(await load('compare', good, slow, '--tolerance', '150%')).toMatchObject({ exitCode: 0 });
  });

  test('ends with 1 if money was lost, at any speed', async () => {
    const ledger = { ok: false, description: '1 violation', violations: [], checks: [] };
    const wrong = fileOf('wrong.json', resultWith({ ledger }));
    const { exitCode, stdout } = await load('compare', good, wrong);
    expect(exitCode).toBe(1);
    expect(stdout).toContain('NOT OK, 1 violation');
  });

  test.each([
    ['a missing file', [good, join(folder, 'none.json')], 'There is no such file'],
    ['a file that is not JSON', [good, fileOf('text.json', 'x')], 'It is not JSON'],
    [
      'a file that is not a result',
      [good, fileOf('other.json', { sent: 'all' })],
      'is not a result of tapwire load --json: sent',
    ],
    ['a tolerance of no number', [good, good, '--tolerance', 'much'], '--tolerance much'],
    ['one file alone', [good], 'usage: tapwire load compare'],
  ])('refuses %s with exit code 2', async (_what, words, why) => {
    const { exitCode, stderr } = await load('compare', ...words);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(why);
  });
});
