import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { JobTable } from '../../src/jobs/job-table.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/store/postgres/embedded-postgres.ts';
import { migrate } from '../../src/store/postgres/migrate.ts';
import { openDatabase } from '../../src/store/postgres/open-database.ts';
import { failOnBug } from './fail-on-bug.ts';
import { makeMemoryFolder } from './memory-folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the template database: migrated, with the job tables installed, and never opened again. */
    templateUrl: string;
  }
}

/**
 * Runs before the first test file that needs Postgres: starts one cluster, not durable, in a folder that is deleted
 * with it.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = makeMemoryFolder('tapwire-test-');
  chmodSync(folder, 0o755); // the cluster's account must be able to pass through
  const cluster = await startEmbeddedPostgres({ directory: join(folder, 'postgres'), durable: false, isLogical: true });
  const stop = async () => {
    await cluster.stop();
    const socketFolder = new URL(cluster.url).searchParams.get('host')!;
    for (const path of [folder, socketFolder]) rmSync(path, { recursive: true, force: true });
  };
  try {
    await prepareTemplate(cluster);
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide('templateUrl', cluster.url);
  return stop;
}

async function prepareTemplate({ url }: EmbeddedPostgres): Promise<void> {
  const database = await openDatabase(url);
  try {
    await migrate(database);
    const jobs = await JobTable.open(database, failOnBug);
    await jobs.close();
  } finally {
    await database.end();
  }
}
