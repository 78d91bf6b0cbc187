import { execFileSync } from 'node:child_process';
import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/store/postgres/embedded-postgres.ts';
import { type Database, openDatabase } from '../../src/store/postgres/open-database.ts';
import { replicationFindings } from '../../src/tools/doctor/database-findings.ts';
import { makeMemoryFolder } from '../support/memory-folder.ts';

/** A primary, and a standby that is a copy of its files. The tests follow each other as the days of an operator do. */
let folder: string;
let primaryServer: EmbeddedPostgres;
let standbyServer: EmbeddedPostgres | undefined;
let primary: Database;
let standby: Database;

beforeAll(async () => {
  folder = makeMemoryFolder('tapwire-replication-');
  const first = await startEmbeddedPostgres({ directory: join(folder, 'primary'), durable: false });
  const database = await openDatabase(first.url);
  await database.query(`alter system set cluster_name = 'test'`);
  await database.end();
  await first.stop();
  execFileSync('cp', ['-a', join(folder, 'primary'), join(folder, 'standby')]);
  primaryServer = await startEmbeddedPostgres({ directory: join(folder, 'primary'), durable: false });
  primary = await openDatabase(primaryServer.url);
});
afterAll(async () => {
  await standby.end();
  await standbyServer?.stop();
  await primary.end();
  await primaryServer.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function startStandby(): Promise<void> {
  const { hostname, searchParams, username, password } = new URL(primaryServer.url);
  const host = searchParams.get('host') ?? hostname;
  const address = `host=${host} user=${username} password=${password} application_name=second`;
  appendFileSync(join(folder, 'standby', 'postgresql.auto.conf'), `primary_conninfo = '${address}'\n`);
  appendFileSync(join(folder, 'standby', 'standby.signal'), '');
  standbyServer = await startEmbeddedPostgres({ directory: join(folder, 'standby'), durable: false });
  standby = await openDatabase(standbyServer.url);
}

async function require(names: string): Promise<void> {
  await primary.query(`alter system set synchronous_standby_names = '${names}'`);
  await primary.query('select pg_reload_conf()');
}

const SKIPPING =
  'warning: each failover skips STANs, because nothing states that only synchronous standbys are promoted';

async function verdicts(database = primary, isProduction = true): Promise<string[]> {
  const findings = await replicationFindings(database, isProduction);
  return findings.map(({ verdict, description }) => `${verdict}: ${description}`);
}

test('production is warned if it has no standby', async () => {
  expect(await verdicts(primary, false)).toEqual([]);
  expect(await verdicts()).toEqual([expect.stringMatching(/^warning: no standby: /)]);
});

test('a role that may not see standbys leads to a warning and to no claim about them', async () => {
  await primary.query(`create role plain login password 'plain'`);
  const url = new URL(primaryServer.url);
  [url.username, url.password] = ['plain', 'plain'];
  const plain = await openDatabase(url.href);
  try {
    expect(await verdicts(plain)).toEqual(['warning: this role may not see the standbys']);
  } finally {
    await plain.end();
  }
});

test('a required standby that is not connected is a fault, because every commit waits', async () => {
  await require('second');
  await expect
    .poll(() => verdicts())
    .toEqual([expect.stringMatching(/^fault: every commit waits for a synchronous standby/), SKIPPING]);
  await require('');
});

test('an asynchronous standby is a fault in production', async () => {
  await startStandby();
  await expect.poll(() => verdicts()).toEqual([expect.stringMatching(/^fault: no standby is synchronous/)]);
  expect(await verdicts(primary, false)).toEqual([expect.stringMatching(/^warning: no standby is synchronous/)]);
});

test('a synchronous standby is good, also for STANs if only such a standby is promoted', async () => {
  await require('second');
  await expect.poll(() => verdicts()).toEqual([expect.stringMatching(/^good: /), SKIPPING]);
  await primary.query(`alter system set tapwire.promotes_only_synchronous = on`);
  await primary.query('select pg_reload_conf()');
  await expect
    .poll(() => verdicts())
    .toEqual(['good: 1 streaming, 1 synchronous: a failover keeps every confirmed commit']);
});

test('an address that leads to the standby is a fault', async () => {
  expect(await verdicts(standby)).toEqual(['fault: the address leads to a standby, which stores nothing']);
});

test('a standby that does not replay what it receives is reported with its lag', async () => {
  await standby.query('select pg_wal_replay_pause()');
  await primary.query('set synchronous_commit = local');
  await primary.query(`create table large as select n, repeat('x', 1000) from generate_series(1, 80000) n`);
  await expect
    .poll(() => verdicts())
    .toEqual([expect.stringMatching(/^good: /), expect.stringMatching(/^warning: second is \d+ MB behind/)]);
  await standby.query('select pg_wal_replay_resume()');
});

test('the server that took over says when', async () => {
  await require('');
  await standby.query('select pg_promote()');
  const now = new Date().toISOString().slice(0, 13);
  await expect
    .poll(() => verdicts(standby, false))
    .toEqual([expect.stringMatching(new RegExp(`^good: 1 failover so far, the last at ${now}`))]);
});
