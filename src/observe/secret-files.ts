import { readFileSync, statSync } from 'node:fs';

/** Settings that are secrets. Each can be given as `<NAME>_FILE`, the path of a file that contains it. */
export const SECRETS = ['DATABASE_URL', 'METRICS_TOKEN', 'OIDC_CLIENT_SECRET'] as const;
export type SecretName = (typeof SECRETS)[number];

/** A secret is one line; the limit prevents a wrong path from filling the memory. */
const MAX_SECRET_BYTES = 65_536;

export interface SecretFiles {
  /** The variables with the secrets as if they had been set directly. */
  readonly variables: NodeJS.ProcessEnv;
  /** `NAME_FILE: what is wrong`, never the content of a file. */
  readonly faults: readonly string[];
}

/** Replaces each secret that is given as a file with its value. A secret that is given both ways is a fault. */
export function withSecretFiles(variables: NodeJS.ProcessEnv): SecretFiles {
  const found: NodeJS.ProcessEnv = { ...variables };
  const faults: string[] = [];
  for (const name of SECRETS) {
    const path = variables[`${name}_FILE`];
    if (!path) continue;
    if (variables[name] !== undefined) {
      faults.push(`${name}_FILE: ${name} is also set; remove one of them`);
      continue;
    }
    try {
      found[name] = readSecret(path);
    } catch (error) {
      const { code = 'not a file, or too large' } = error as { code?: string };
      faults.push(`${name}_FILE: cannot be read (${code})`);
    }
  }
  return { variables: found, faults };
}

/** Reads a secret without the newline that editors append. */
function readSecret(path: string): string {
  const stat = statSync(path);
  if (!stat.isFile() || stat.size > MAX_SECRET_BYTES)
    throw new RangeError('The path is not a file, or the file is too large for a secret.');
  return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
}
