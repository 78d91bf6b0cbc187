// Fills this folder with what `npm pack` takes: the sources, and beside each module its JavaScript, because Node runs no
// TypeScript inside node_modules. The sources stay for the source maps, and for the modules that browsers receive.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const REPOSITORY = join(HERE, '../..');
const FOLDERS = ['src', 'processors', 'readers', 'schemas'];

for (const made of [...FOLDERS, 'LICENSE']) rmSync(join(HERE, made), { recursive: true, force: true });
if (!process.argv.includes('--clean')) {
  for (const folder of FOLDERS) {
    // The folders named `package` belong to other packages and to this one.
    const filter = (path) => basename(path) !== 'package';
    for (const entry of readdirSync(join(REPOSITORY, folder)).filter(filter)) {
      cpSync(join(REPOSITORY, folder, entry), join(HERE, folder, entry), { recursive: true, filter });
    }
  }
  copyFileSync(join(REPOSITORY, 'LICENSE'), join(HERE, 'LICENSE'));
  const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
  execFileSync(process.execPath, [compiler, '-p', join(HERE, 'tsconfig.json')], { stdio: 'inherit' });
}
