import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** The versions that were tested; deploy/patroni/README.md names the same. */
const PATRONI = ['patroni[etcd3]==4.1.5', 'psycopg[binary]==3.3.9'];
const VENV = '/opt/patroni';

interface Requirement {
  readonly what: string;
  readonly isMet: () => boolean;
  /** Debian packages that provide it. */
  readonly packages: readonly string[];
}

const REQUIREMENTS: readonly Requirement[] = [
  {
    what: 'Postgres in /usr/lib/postgresql/*/bin',
    isMet: () =>
      succeeds('sh', '-c', 'ls /usr/lib/postgresql/*/bin/postgres && ls /usr/lib/postgresql/*/bin/pg_rewind'),
    packages: ['postgresql'],
  },
  { what: 'etcd', isMet: () => hasCommand('etcd'), packages: ['etcd-server'] },
  { what: 'HAProxy', isMet: () => hasCommand('haproxy'), packages: ['haproxy'] },
  { what: 'ip (iproute2)', isMet: () => hasCommand('ip'), packages: ['iproute2'] },
  {
    what: 'the modules venv and ensurepip of /usr/bin/python3',
    isMet: () => succeeds('/usr/bin/python3', '-c', 'import venv, ensurepip'),
    packages: ['python3-venv'],
  },
];

/**
 * Installs what is missing, as root on Debian: packages without starting their services, and Patroni from PyPI.
 *
 * @returns what is still missing, and how to get it
 */
export function ensureRequirements(): string[] {
  if (process.getuid?.() !== 0) return ['root, for network namespaces and to run Postgres as the user postgres'];
  const packages = REQUIREMENTS.filter(({ isMet }) => !isMet()).flatMap((each) => each.packages);
  if (packages.length > 0 && hasCommand('apt-get')) {
    console.log(`installing ${packages.join(' ')}`);
    // In a run level without services, invoke-rc.d starts none.
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    spawnSync('apt-get', ['update', '-qq'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    const install = ['install', '-qq', '-y', '--no-install-recommends', ...packages];
    spawnSync('apt-get', install, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  const missing = REQUIREMENTS.filter(({ isMet }) => !isMet());
  if (missing.length > 0)
    return missing.map(({ what, packages: names }) => `${what}: apt-get install ${names.join(' ')}`);
  if (!existsSync(`${VENV}/bin/patroni`)) installPatroni();
  if (!succeeds(`${VENV}/bin/patroni`, '--version'))
    return [
      `Patroni: /usr/bin/python3 -m venv ${VENV} && ${VENV}/bin/pip install ${PATRONI.map((it) => `'${it}'`).join(' ')}`,
    ];
  return [];
}

function installPatroni(): void {
  console.log(`installing ${PATRONI.join(' ')} into ${VENV}`);
  // Not the first python3 of PATH: it may be in a folder that the user postgres cannot read.
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  spawnSync('/usr/bin/python3', ['-m', 'venv', VENV], { stdio: [...stdio] });
  spawnSync(`${VENV}/bin/pip`, ['install', '--quiet', ...PATRONI], { stdio: [...stdio] });
}

function hasCommand(name: string): boolean {
  return succeeds('sh', '-c', `PATH=$PATH:/usr/sbin:/sbin command -v ${name}`);
}

function succeeds(program: string, ...args: string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}
