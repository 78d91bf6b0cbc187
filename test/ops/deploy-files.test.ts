import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { settings } from '../../src/start/config.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8');

test('everything that the Dockerfile copies is part of the build', () => {
  const copied = [...read('Dockerfile').matchAll(/^COPY (.+) \S+$/gm)].flatMap(([, sources]) => sources!.split(' '));
  expect(copied).toContain('readers');
  const [first, ...others] = read('.dockerignore').trim().split('\n');
  expect(first).toBe('*');
  expect(others.sort()).toEqual(copied.map((source) => `!${source}`).sort());
});

test('the services of the compose files use networks, volumes and secrets that the files declare', () => {
  for (const name of ['docker-compose.yml', 'docker-compose.prod.yml', 'docker-compose.cells.yml']) {
    const file = parse(read(name), { merge: true });
    for (const [service, used] of Object.entries<Record<string, unknown>>(file.services)) {
      const mounted = (used.volumes as string[] | undefined) ?? [];
      const volumes = mounted.map((each) => each.split(':')[0]!).filter((each) => !/^[./]/.test(each));
      const declared = (key: string) => ['default', ...Object.keys(file[key] ?? {})];
      const namesOf = (key: string) => {
        const given = used[key] ?? [];
        return Array.isArray(given) ? given : Object.keys(given as object);
      };
      expect(declared('volumes'), `${name} ${service}`).toEqual(expect.arrayContaining(volumes));
      for (const key of ['networks', 'secrets'])
        expect(declared(key), `${name} ${service}`).toEqual(expect.arrayContaining(namesOf(key)));
      expect(Object.keys(file.services)).toEqual(expect.arrayContaining(namesOf('depends_on')));
    }
  }
});

test('the service of systemd sets settings that exist, and leaves the others to tapwire.env', () => {
  const unit = read('deploy/systemd/tapwire.service');
  expect(unit).toContain('EnvironmentFile=/etc/tapwire/tapwire.env');
  const names = [...unit.matchAll(/^Environment=(.+)$/gm)].flatMap(([, all]) =>
    all!.split(' ').map((each) => each.split('=')[0]),
  );
  expect(settings().map(({ name }) => name)).toEqual(expect.arrayContaining(names));
});

test('the bill of materials lists every dependency, and none of development', () => {
  const cwd = fileURLToPath(ROOT);
  const { stdout, stderr } = spawnSync('npm', ['run', '-s', 'sbom'], { cwd, encoding: 'utf8', maxBuffer: 100_000_000 });
  const { bomFormat, components } = JSON.parse(stdout || stderr);
  expect(bomFormat).toBe('CycloneDX');
  const listed = new Set(components.map(({ purl }: { purl: string }) => purl.replace(/@[^@]+$/, '')));
  const purlOf = (name: string) => `pkg:npm/${name.replace('@', '%40')}`;
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(read('package.json'));
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) expect(listed).toContain(purlOf(name));
  for (const name of ['vitest', '@biomejs/biome', 'playwright-core'].filter((each) => each in devDependencies))
    expect(listed).not.toContain(purlOf(name));
});

const HAS_HELM = spawnSync('helm', ['version']).status === 0;
const HAS_KUBECONFORM = spawnSync('kubeconform', ['-v']).status === 0;

const CHART = fileURLToPath(new URL('deploy/kubernetes', ROOT));
const NEEDED = { 'image.repository': 'registry.example/tapwire', secret: 'tapwire' };
const EVERYTHING = {
  ...{ ...NEEDED, 'settings.CELL_NAME': 'a', 'database.cloudNativePG.enabled': 'true' },
  ...{ 'ingress.enabled': 'true', 'ingress.host': 'pay.example.com', 'ingress.tlsSecret': 'pay' },
  ...{ 'switchTls.secret': 'pem', 'switchTls.items[0].key': 'ca.pem', 'switchTls.items[0].path': '1/ca.pem' },
};

function render(release: string, values: Readonly<Record<string, string>>) {
  const set = Object.entries(values).flatMap(([name, value]) => ['--set', `${name}=${value}`]);
  return spawnSync('helm', ['template', release, CHART, '--kube-version', '1.31.0', ...set], { encoding: 'utf8' });
}

const objectsOf = (text: string) => parseAllDocuments(text).flatMap((each) => each.toJSON() ?? []);

describe.skipIf(!HAS_HELM)('the chart', () => {
  test('renders api and worker with probes, budgets and the settings, which exist', () => {
    const objects = objectsOf(render('pay', EVERYTHING).stdout);
    const kinds = ['Cluster', 'Deployment', 'Ingress', 'PodDisruptionBudget', 'PodDisruptionBudget'];
    expect(objects.map(({ kind }) => kind).sort()).toEqual([...kinds, 'Service', 'Service', 'StatefulSet']);
    const known = settings().map(({ name }) => name);
    for (const { spec } of objects.filter(({ kind }) => /Deployment|StatefulSet/.test(kind))) {
      const [container] = spec.template.spec.containers;
      for (const probe of ['readinessProbe', 'livenessProbe', 'startupProbe']) expect(container).toHaveProperty(probe);
      const names = container.env.map(({ name }: { name: string }) => name);
      expect(known).toEqual(expect.arrayContaining(names));
      expect(new Set(names).size).toBe(names.length);
      expect(container.args.slice(2)).toEqual(['start', '--role', expect.stringMatching(/^(api|worker)$/)]);
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
    }
  });

  test('two releases share no name and no selector', () => {
    const namesOf = (release: string) =>
      objectsOf(render(release, EVERYTHING).stdout).flatMap(({ kind, metadata, spec }) => [
        `${kind} ${metadata.name}`,
        ...(spec.selector ? [JSON.stringify(spec.selector)] : []),
      ]);
    const first = namesOf('tapwire-a');
    expect(first.length).toBeGreaterThan(12);
    for (const name of namesOf('tapwire-b')) expect(first).not.toContain(name);
  });

  test('has no database and no ingress unless they are asked for', () => {
    const kinds = objectsOf(render('pay', NEEDED).stdout).map(({ kind }) => kind);
    expect(kinds).not.toContain('Cluster');
    expect(kinds).not.toContain('Ingress');
  });

  test.each([
    ['no image', { secret: 'tapwire' }, 'image'],
    ['no secret', { 'image.repository': 'registry.example/tapwire' }, 'secret'],
    ['an unknown value', { ...NEEDED, replicas: '3' }, 'replicas'],
    ['no worker', { ...NEEDED, 'worker.replicas': '0' }, 'worker'],
    ['a setting in lower case', { ...NEEDED, 'settings.cellName': 'a' }, 'cellName'],
    ['an ingress without a host', { ...NEEDED, 'ingress.enabled': 'true' }, 'ingress'],
    [
      'a PEM file outside the folder of an acquirer',
      { ...NEEDED, 'switchTls.items[0].key': 'x', 'switchTls.items[0].path': '../x' },
      'path',
    ],
  ])('refuses %s', (_, values, named) => {
    const { status, stderr } = render('pay', values);
    expect(status).not.toBe(0);
    expect(stderr).toContain(named);
  });

  test.skipIf(!HAS_KUBECONFORM)('its objects have the schemas of Kubernetes', ({ skip }) => {
    const options = ['-strict', '-skip', 'Cluster', '-kubernetes-version', '1.31.0'];
    const { status, stdout, stderr } = spawnSync('kubeconform', options, {
      input: render('pay', EVERYTHING).stdout,
      encoding: 'utf8',
    });
    if (/failed downloading schema/.test(stdout)) skip('kubeconform cannot reach the schemas');
    expect(status, stdout + stderr).toBe(0);
  });
});
