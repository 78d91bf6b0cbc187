import { readFileSync, statSync } from 'node:fs';

/** Settings that are secrets. Each can be given as `<NAME>_FILE`: the path of a file that holds it. */
export const SECRETS = ['DATABASE_URL', 'METRICS_TOKEN'] as const;
export type SecretName = (typeof SECRETS)[number];

/** A secret is a line; a path that leads to something else shall not fill the memory. */
const MAX_SECRET_BYTES = 65_536;

export interface SecretFiles {
  /** With the secrets where they would stand if they had been given themselves. */
  readonly variables: NodeJS.ProcessEnv;
  /** `NAME_FILE: what is wrong`, never what a file holds. */
  readonly faults: readonly string[];
}

/** Puts every secret that is given as a file in its place; one that is given both ways is a fault. */
export function withSecretFiles(variables: NodeJS.ProcessEnv): SecretFiles {
  const found: NodeJS.ProcessEnv = { ...variables };
  const faults: string[] = [];
  for (const name of SECRETS) {
    const path = variables[`${name}_FILE`];
    if (!path) continue;
    if (variables[name] !== undefined) {
      faults.push(`${name}_FILE: ${name} is set, too: one of them must go`);
      continue;
    }
    try {
      found[name] = readSecret(path);
    } catch (error) {
      const { code = 'no file, or too large' } = error as { code?: string };
      faults.push(`${name}_FILE: cannot be read (${code})`);
    }
  }
  return { variables: found, faults };
}

/** Without the line's end that editors append. */
function readSecret(path: string): string {
  const stat = statSync(path);
  if (!stat.isFile() || stat.size > MAX_SECRET_BYTES) throw new RangeError('no file of a secret');
  return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
}
