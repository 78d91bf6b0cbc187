import { randomUUID } from 'node:crypto';
import { type Repetition, repeatEvery } from '../basics/limits/repeat-every.ts';
import type { ProcessCommand, ProcessFigures } from '../observe/figures.ts';
import type { Health } from '../observe/health.ts';
import type { Database } from '../store/postgres/open-database.ts';
import type { ConsoleSwitches } from './read-figures.ts';
import { forgetFigures, reportFigures } from './store/process-figures.ts';

const REPORT_EVERY_MS = 1_000;

export interface ReporterParts {
  readonly database: Database;
  readonly read: () => Promise<ProcessFigures>;
  readonly health: Health;
  readonly switches: ConsoleSwitches | undefined;
}

/**
 * Publishes the figures of this process to consoles once a second, and executes their commands. Without the
 * database it is silent; readiness already reports that fault.
 */
export class ProcessReporter {
  /** The name of this process in consoles. */
  readonly id = randomUUID();
  readonly #parts: ReporterParts;
  readonly #reporting: Repetition;

  constructor(parts: ReporterParts) {
    this.#parts = parts;
    this.#reporting = repeatEvery(REPORT_EVERY_MS, () => this.#report());
  }

  async stop(): Promise<void> {
    await this.#reporting.stop();
    await forgetFigures(this.#parts.database, this.id).catch(() => {});
  }

  async #report(): Promise<void> {
    const { database, read } = this.#parts;
    const commands = await reportFigures<ProcessCommand>(database, this.id, await read());
    for (const command of commands) this.#obey(command);
  }

  #obey(command: ProcessCommand): void {
    const { health, switches } = this.#parts;
    if ('line' in command) {
      const found = [...(switches ?? [])].find(([name]) => name === command.name)?.[1];
      if (command.do === 'signOff') found?.lines.signOff(command.line);
      else found?.lines.signOn(command.line);
    } else if (command.do === 'drain') health.drain();
    else health.resume();
  }
}
