import { RequestRefused } from './request-errors.ts';

/** What is wrong with one value of a request. */
export interface Fault {
  /** The way to it, name by name. */
  readonly path: readonly PropertyKey[];
  readonly detail: string;
}

/** What must not be so, of which value, and what is told when it is. */
export type Rule = readonly [isBroken: boolean, path: string, detail: string];

export function brokenRules(rules: readonly Rule[]): Fault[] {
  return rules.filter(([isBroken]) => isBroken).map(([, path, detail]) => ({ path: [path], detail }));
}

/** Values that cannot be taken as they stand: 400 with a JSON pointer (RFC 6901) for each fault. */
export function refused(faults: readonly Fault[]): RequestRefused {
  const errors = faults.map(({ path, detail }) => ({ pointer: path.map(step).join(''), detail }));
  return new RequestRefused(400, 104, 'The request does not fit its schema.', errors);
}

/** As `refused`, of one value. */
export function refusedAt(name: string, detail: string): RequestRefused {
  return refused([{ path: [name], detail }]);
}

function step(name: PropertyKey): string {
  return `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A change that does not go with what is there: 409, with a sentence for whoever asked. */
export function conflict(detail: string): RequestRefused {
  return new RequestRefused(409, 134, detail);
}
