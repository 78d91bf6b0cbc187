import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { ROOT } from '../style/source-files.ts';
import { PACKAGES, type PackageName } from './package-folders.ts';

export const run = promisify(execFile);

/** The path of a package's tarball. */
export const tarballOf = (name: PackageName) => inject('tarballs')[name];

/** How this machine reaches the registry: behind a proxy that a company runs, nothing can be installed without these. */
const NETWORK_SETTINGS =
  /^(NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(HTTPS?|NO)_PROXY|npm_config_(registry|cafile|.*proxy))$/i;

/** The environment of a stranger: that of the tests has settings of Vite. */
export const ENVIRONMENT = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => NETWORK_SETTINGS.test(name))),
};

/** npm repeats failed requests for much longer than a test may take. */
const INSTALL_WITHIN_MS = 240_000;

/** Installs tarballs in a folder, with the packages that they need, from the registry or npm's cache. */
export async function install(folder: string, ...tarballs: readonly string[]): Promise<void> {
  const options = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  await run('npm', ['install', ...options, ...tarballs], { cwd: folder, env: ENVIRONMENT, timeout: INSTALL_WITHIN_MS });
}

/** The blocks of code of a package's README, in order. */
export function examplesOf(name: PackageName, language: string): string[] {
  const readme = readFileSync(join(ROOT, PACKAGES[name], 'README.md'), 'utf8');
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code]) => code!);
}
