// Runs before every npm script, on any Node >= 18 and without a dependency: `npm ci` when node_modules is missing or
// older than the lockfile. npm writes node_modules/.package-lock.json at the end of a successful install.
import { spawnSync } from 'node:child_process';
import { lstatSync, statSync } from 'node:fs';

const modifiedMs = (path) => statSync(new URL(path, import.meta.url), { throwIfNoEntry: false })?.mtimeMs ?? 0;

// If node_modules is a link, npm would empty the folder of another checkout.
const isLinked = lstatSync(new URL('node_modules', import.meta.url), { throwIfNoEntry: false })?.isSymbolicLink();

if (!isLinked && modifiedMs('node_modules/.package-lock.json') < modifiedMs('package-lock.json')) {
  console.error('tapwire: installing what is missing (npm ci) ...');
  const npm = process.env.npm_execpath;
  const arguments_ = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { cwd: new URL('.', import.meta.url), stdio: ['ignore', 2, 2] };
  const { status } = npm
    ? spawnSync(process.execPath, [npm, ...arguments_], options)
    : spawnSync('npm', arguments_, { ...options, shell: process.platform === 'win32' });
  if (status !== 0) {
    console.error('tapwire: npm ci failed');
    process.exit(1);
  }
}
