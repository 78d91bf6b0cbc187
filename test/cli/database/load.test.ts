import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LoadResult, loadResult } from '../../../schemas/load.ts';
import { run } from '../../../src/cli/load/load.ts';
import { loadProcessors } from '../../../src/kits/processor-kit/load-processors.ts';
import { type LoadProfile, saveLoadMerchants, writeLoadProfile } from '../../../src/tools/load/load-profile.ts';
import { proveLedger } from '../../../src/tools/load/prove-ledger.ts';
import { Phone } from '../../../src/tools/phone/phone.ts';
import { ledgerServer } from '../../../src/tools/simulator/ledger.ts';
import { listen, stopListening } from '../../../src/tools/simulator/listening.ts';
import { eventually } from '../../support/eventually.ts';
import { type Installation, startInstallation } from '../../support/installation.ts';
import { expectInvariants } from '../../support/invariants.ts';
import { outcomeOf } from '../../support/responses.ts';
import { runHere } from '../../support/run-here.ts';
import { TapwireProcess } from '../../support/tapwire-process.ts';

const MIX = { approve: 4, void: 1, refund: 1, decline: 2, 'decline-51': 1, pin: 1, link: 1, status: 2, list: 1 };

let installation: Installation;
let folder: string;
let books: NonNullable<LoadProfile['books']>;
let merchants: LoadProfile['merchants'];
let stopLedger: () => Promise<void>;
beforeAll(async () => {
  const since = new Date().toISOString();
  // No call waits for a silent switch, and a busy machine may take seconds for a tap.
  installation = await startInstallation({ role: 'none', profile: { deadlineMs: 20_000 } });
  folder = mkdtempSync(join(tmpdir(), 'tapwire-load-'));
  const server = ledgerServer(installation.simulator.ledger);
  const ledgerUrl = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}/ledger`;
  stopLedger = async () => {
    server.closeAllConnections();
    await stopListening(server);
  };
  const owner = { acquirerId: 1, integratorId: 10 };
  merchants = await saveLoadMerchants(installation.database, owner);
  // A running gateway would learn of the merchants seconds later.
  await installation.startGateway();
  const { url, issuer } = installation.profile();
  const { DATABASE_URL: databaseUrl = '' } = installation.environment();
  books = { ledgerUrls: [ledgerUrl], databaseUrl, since };
  const profile: LoadProfile = {
    url,
    issuer,
    merchants,
    apiKey: await installation.apiKey(owner),
    books,
    processes: { gateway: process.pid },
  };
  writeLoadProfile(join(folder, 'load.json'), profile);
  writeFileSync(join(folder, 'mix.json'), JSON.stringify(MIX));
});
afterAll(async () => {
  await stopLedger();
  await installation.stop();
  rmSync(folder, { recursive: true });
});

const resultIn = (name: string): LoadResult => loadResult.parse(JSON.parse(readFileSync(join(folder, name), 'utf8')));

/** A transaction that an earlier run left for a person. */
async function leaveReview(): Promise<void> {
  const { serviceReference } = outcomeOf(await installation.phone().tap({ amount: '10.51', currency: 'ZAR' }));
  await installation.database.query('update transactions set needs_review = true where id = $1', [serviceReference]);
}

test('a load test makes every kind of call, loses none, and proves it with both books', async () => {
  const words = ['--rate', '40', '--duration', '2s', '--phones', '20', '--connections', '8', '--workers', '2'];
  const files = [
    '--mix',
    join(folder, 'mix.json'),
    '--json',
    join(folder, 'a.json'),
    '--report',
    join(folder, 'a.html'),
  ];
  await leaveReview();
  const conditions = ['--fail-if', 'lost>0,errors>0,unexpected>0,max>0ms'];
  const { exitCode, stdout, stderr } = await runHere(run, [...words, ...files, ...conditions], {
    TAPWIRE_DATA: folder,
  });
  // Conditions that hold are named here; every other condition does not hold.
  expect(stderr).toMatch(/^failed: max>0ms: it is [\d.]+ ms\n$/);
  expect(exitCode).toBe(1);
  const result = resultIn('a.json');
  expect(result).toMatchObject({ sent: 80, responded: 80, lost: 0, errors: 0, unsent: 0, endedBy: 'plan' });
  expect(result.ledger).toMatchObject({ ok: true, violations: [] });
  await installation.database.query('update transactions set needs_review = false');
  const { lookedAt } = result.ledger.checks.find(({ check }) => check === 'C')!;
  expect(lookedAt).toBeGreaterThan(50); // the responses of all taps and refunds
  expect(Object.keys(result.scenarios).sort()).toEqual(Object.keys(MIX).sort());
  expect(Object.keys(result.outcomes).sort()).toEqual([
    'Approved',
    'Declined',
    'Found',
    'Refund Approved',
    'Void accepted',
  ]);
  expect(result.requests).toBeGreaterThan(80); // PINs and links take several
  expect(stdout).toContain('ledger: ok');
  const report = readFileSync(join(folder, 'a.html'), 'utf8');
  expect(report).toContain('<h2>Switch connections and queues</h2>');
  expect(report).not.toMatch(/https?:/);
  // A machine that the load fills may report that copies of messages are late or lost.
  await expectInvariants(installation, { areFaultsExpected: true });
});

test('the profile, which signs for every merchant, is readable to its owner alone', () => {
  expect(statSync(join(folder, 'load.json')).mode & 0o777).toBe(0o600);
});

test('Ctrl-C ends it soon, with a report of what was measured', async () => {
  const before = installation.ledger.length;
  const words = ['--rate', '20', '--duration', '1h', '--phones', '4', '--json', join(folder, 'b.json')];
  const load = new TapwireProcess(['load', ...words], { environment: { TAPWIRE_DATA: folder } });
  await eventually(() => expect(installation.ledger.length).toBeGreaterThan(before + 5));
  const { exitCode, stderr } = await load.kill('SIGINT');
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const { endedBy, sent, responded, lost, abandoned, ledger } = resultIn('b.json');
  expect({ endedBy, lost, ok: ledger.ok }).toEqual({ endedBy: 'signal', lost: 0, ok: true });
  expect(responded + abandoned).toBe(sent);
});

test('the comparison after Ctrl-C waits for taps that the test has abandoned', async () => {
  const { database } = installation;
  // The switch responds after 1.5 s.
  const tap = installation.phone().tap({ amount: '30.30', currency: 'ZAR' });
  await eventually(async () => {
    const { rowCount } = await database.query('select from transactions where amount_minor = 3030');
    expect(rowCount).toBe(1);
  });
  const types = await loadProcessors();
  const proof = { books, types, responsesFolder: undefined, settleWithinMs: 60_000, isAsked: () => true };
  expect(await proveLedger(proof)).toMatchObject({ ok: true, violations: [] });
  expect(outcomeOf(await tap).type).toBe('Approved');
});

test('clean removes what load tests have stored, and nothing else', async () => {
  const { database } = installation;
  const { DATABASE_URL } = installation.environment();
  const clean = (settings: NodeJS.ProcessEnv = {}) => runHere(run, ['clean'], { DATABASE_URL, ...settings });
  const ofLoad = `merchant_id like '9____'`;
  const other = outcomeOf(await installation.phone().tap({ amount: '10.00', currency: 'ZAR' })).serviceReference;
  const { rows } = await database.query(`select id from transactions where ${ofLoad} limit 5`);
  const others = async () =>
    (await database.query(`select id, disposition from transactions where not ${ofLoad} order by id`)).rows;
  const before = await others();
  expect(before.length).toBeGreaterThan(0);

  const urls = { BASE_URL: 'https://api.example', APP_URL: 'https://pay.example' };
  const refused = await clean({ TAPWIRE_ENV: 'qa', TAPWIRE_ROLE: 'worker', ...urls });
  expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('only in dev') });
  await database.query(`update transactions set disposition = null where id = $1`, [rows[0].id]);
  expect(await clean()).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('still open') });
  await database.query(`update transactions set disposition = 0 where id = $1`, [rows[0].id]);

  await eventually(async () => expect((await clean()).stdout).toMatch(/^Removed \d+ transactions and \d+ links/));
  expect(await others()).toEqual(before);
  const tables = await database.query(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
  );
  const holding = async (id: string) => {
    const found = [];
    for (const { name } of tables.rows) {
      const { rowCount } = await database.query(`select from ${name} t where t::text like $1 limit 1`, [`%${id}%`]);
      if (rowCount !== 0) found.push(name.replace(/_\d{8}$/, ''));
    }
    return found;
  };
  for (const { id } of rows) expect(await holding(id)).toEqual([]);
  expect(await holding(other)).toContain('transaction_events');
});

test('clean leaves a tap that arrives while it runs', async () => {
  const { database } = installation;
  const { DATABASE_URL } = installation.environment();
  const holder = await database.connect();
  await holder.query('begin; lock table webhook_attempts in access exclusive mode');
  const cleaning = runHere(run, ['clean'], { DATABASE_URL });
  await eventually(async () =>
    expect(
      (await database.query("select from pg_locks where not granted and relation = 'webhook_attempts'::regclass"))
        .rowCount,
    ).toBe(1),
  );
  const phone = new Phone({ ...installation.profile(), merchant: merchants[0]! });
  const { serviceReference, type } = outcomeOf(await phone.tap({ amount: '10.00', currency: 'ZAR' }));
  expect(type).toBe('Approved');
  await holder.query('commit');
  holder.release();
  await cleaning;
  const { rows } = await database.query('select disposition from transactions where id = $1', [serviceReference]);
  expect(rows).toEqual([{ disposition: 0 }]);
});
