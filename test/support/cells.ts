import type { Cell } from '../../src/tools/cells/cell-list.ts';
import { type CellSession, openCellSession } from '../../src/tools/cells/cell-session.ts';
import type { MoveOptions, MoveStep } from '../../src/tools/cells/finish-move.ts';
import { type MoveTimes, moveAcquirer } from '../../src/tools/cells/move-acquirer.ts';
import { type Installation, type InstallationOptions, type StartedGateway, startInstallation } from './installation.ts';
import { createTestDatabase, type TestDatabase } from './test-database.ts';

type Side = 'a' | 'b';

/** A file moves an acquirer dozens of times, and each move waits until the gateways know the copied settings. */
const FOLLOWING = { settingsEveryMs: 100 };
export const KNOWN_AFTER_MS = 400;

/** Two cells with one gateway each: `a` has the tenants of every installation, `b` has none. They share the switch. */
export class TwoCells {
  readonly installation: Installation;
  readonly databases: Readonly<Record<Side, TestDatabase['database']>>;
  readonly gateways: Record<Side, StartedGateway>;
  readonly #cells: Readonly<Record<Side, Cell>>;
  readonly #other: TestDatabase;
  readonly #workers: readonly StartedGateway[];
  /** Where the proxy would send the first acquirer's requests. */
  side: Side = 'a';

  private constructor(
    installation: Installation,
    other: TestDatabase,
    cells: Record<Side, Cell>,
    gateways: Record<Side, StartedGateway>,
    workers: readonly StartedGateway[],
  ) {
    this.#workers = workers;
    this.installation = installation;
    this.#other = other;
    this.#cells = cells;
    this.gateways = gateways;
    this.databases = { a: installation.database, b: other.database };
  }

  /** @param prepare changes the tenants before gateways start */
  static async start(
    options: InstallationOptions = {},
    prepare: (database: TestDatabase['database']) => Promise<unknown> = async () => {},
  ): Promise<TwoCells> {
    const installation = await startInstallation({ ...options, role: 'none' });
    await prepare(installation.database);
    const other = await createTestDatabase();
    // In role `api`, a worker of each cell has the connections to switches.
    const startCell = async (settings: NodeJS.ProcessEnv) => {
      if (options.role === 'api')
        workers.push(await installation.startGateway({ ...settings, TAPWIRE_ROLE: 'worker' }, FOLLOWING));
      return installation.startGateway({ ...settings, TAPWIRE_ROLE: options.role ?? 'all' }, FOLLOWING);
    };
    const workers: StartedGateway[] = [];
    const a = await startCell({ CELL_NAME: 'a' });
    const b = await startCell({ CELL_NAME: 'b', DATABASE_URL: other.url });
    const urlOfA = installation.environment().DATABASE_URL!;
    const cells = { a: cellOf('a', urlOfA, a.url, 0), b: cellOf('b', other.url, b.url, 1) };
    return new TwoCells(installation, other, cells, { a, b }, workers);
  }

  get url(): string {
    return this.gateways[this.side].url;
  }

  get database() {
    return this.databases[this.side];
  }

  async sessions(from: Side, to: Side): Promise<{ source: CellSession; target: CellSession }> {
    return { source: await openCellSession(this.#cells[from]), target: await openCellSession(this.#cells[to]) };
  }

  async withSessions<Result>(
    from: Side,
    to: Side,
    act: (sessions: { readonly source: CellSession; readonly target: CellSession }) => Promise<Result>,
  ): Promise<Result> {
    const sessions = await this.sessions(from, to);
    try {
      return await act(sessions);
    } finally {
      await sessions.source.close();
      await sessions.target.close();
    }
  }

  /** Moves the acquirer, as one call of the command does. @returns the steps */
  async move(
    from: Side,
    to: Side,
    { acquirerId = 1, onStep }: Partial<MoveOptions> = {},
    times: MoveTimes = {},
  ): Promise<string[]> {
    const steps: string[] = [];
    const flip = async () => {
      if (acquirerId === 1) this.side = to;
    };
    await this.withSessions(from, to, ({ source, target }) =>
      moveAcquirer(
        {
          ...{ source, target, acquirerId, flip },
          onStep: async (step, detail) => {
            steps.push(step);
            await onStep?.(step, detail);
          },
        },
        { betweenHoldsMs: 200, knownAfterMs: KNOWN_AFTER_MS, ...times },
      ),
    );
    return steps;
  }

  /** A call of the command that dies after the step. */
  async moveUntil(step: MoveStep, from: Side, to: Side): Promise<void> {
    const onStep = (at: MoveStep) => {
      if (at === step) throw new Killed();
    };
    await this.move(from, to, { onStep }).then(
      () => Promise.reject(new Error(`The command did not reach ${step}.`)),
      (error: unknown) => (error instanceof Killed ? undefined : Promise.reject(error)),
    );
  }

  async stop(): Promise<void> {
    await this.gateways.b.stop();
    for (const worker of this.#workers) await worker.stop();
    await this.installation.stop();
    await this.#other.drop();
  }
}

/** A command that dies at a step: its sessions end, and nothing more is called. */
export class Killed extends Error {}

function cellOf(name: Side, databaseUrl: string, url: string, number: number): Cell {
  return { name, url, databaseUrl, replicationUrl: databaseUrl, backend: `cell-${name}`, number };
}
