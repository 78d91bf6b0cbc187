import { appendFileSync, createReadStream, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { KeptResponse } from './clients/tap-calls.ts';

export function responsesPath(folder: string, worker: number): string {
  return join(folder, `${worker}.ndjson`);
}

/** The responses to the clients of one worker, one per line. Those of an hour would not fit in memory. */
export class ResponseFile {
  readonly #path: string;
  #lines: string[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  add(response: KeptResponse): void {
    this.#lines.push(JSON.stringify(response));
  }

  /** Writes the responses that were added since the last call. */
  write(): void {
    if (this.#lines.length === 0) return;
    appendFileSync(this.#path, `${this.#lines.join('\n')}\n`, { mode: 0o600 });
    this.#lines = [];
  }
}

/** The responses that the workers of a test wrote into a folder. */
export async function* readResponses(folder: string): AsyncGenerator<KeptResponse> {
  for (const name of readdirSync(folder)) {
    const lines = createInterface({ input: createReadStream(join(folder, name)) });
    for await (const line of lines) if (line !== '') yield JSON.parse(line) as KeptResponse;
  }
}
