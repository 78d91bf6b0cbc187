import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sourceFiles, targetOf } from './source-files.ts';

/**
 * The allowed import directions: downwards only. The folders of one layer do not import each other, except the pairs
 * below.
 */
const LAYERS: Readonly<Record<string, number>> = {
  bytes: 0,
  'errors.ts': 0,
  errors: 0,
  files: 0,
  limits: 0,
  'module-extension.ts': 0,
  'plug-ins': 0,
  emv: 1,
  iso8583: 1,
  crypto: 1,
  connection: 2,
  'processor-kit': 2,
  'reader-kit': 2,
  hsm: 3,
  transactions: 3,
  auth: 4,
  card: 4,
  jobs: 4,
  links: 4,
  store: 4,
  switches: 4,
  webhooks: 4,
  push: 4,
  cells: 5,
  ops: 5,
  docs: 5,
  http: 5,
  simulator: 5,
  phone: 5,
  load: 5,
  cli: 6,
  gateway: 6,
  'main.ts': 6,
  'config.ts': 6,
  config: 6,
};

/** Allowed imports within a layer, with the reason. */
const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  bytes: ['errors'], // without those of requests, which bring zod: the codecs are published without dependencies
  'errors.ts': ['errors'],
  files: ['errors.ts'],
  limits: ['errors.ts'],
  'plug-ins': ['errors.ts', 'module-extension.ts'],
  iso8583: ['emv', 'crypto'], // DE55 is BER-TLV, DE64 a MAC
  auth: ['card'], // seals sign-ins and secrets of users with the installation's keys
  store: ['auth', 'card', 'links', 'push', 'switches', 'webhooks'], // implements their ports on Postgres
  links: ['card'], // seals mandates with the installation's keys
  push: ['card', 'links', 'webhooks'], // seals push tokens, creates the links that it sends, makes requests as webhooks do
  webhooks: ['card'], // seals its secrets with the installation's keys
  jobs: ['store'], // jobs join its commits
  http: ['ops'], // logs, reads health
  load: ['phone', 'simulator', 'ops'], // submits as phones do, draws reproducibly, has the books verified
  cli: ['main.ts', 'gateway', 'config.ts'],
  gateway: ['config.ts'], // constructs with it
  'config.ts': ['config'],
  'main.ts': ['gateway', 'config.ts'],
};

/**
 * The layers inside src/transactions: the model, the ports to adapters, the decisions, and the use cases by subject.
 * Each imports only from the ones before it.
 */
const DOMAIN_LAYERS: Readonly<Record<string, number>> = { model: 0, ports: 1, decisions: 2 };
const USE_CASES = 3;

const roomOf = (path: string) => path.split('/')[1]!;

describe('imports lead downwards', () => {
  const files = sourceFiles('src');

  test('every file of src is in a known folder', () => {
    const homeless = files.filter(({ path }) => !(roomOf(path) in LAYERS)).map(({ path }) => path);
    expect(homeless).toEqual([]);
  });

  test('no file imports from a higher layer, or from a neighbour it does not need', () => {
    const wrong = files.flatMap((file) =>
      file.imports.flatMap((specifier) => {
        const target = targetOf(file, specifier);
        if (!target?.startsWith('src/')) return [];
        const from = roomOf(file.path);
        const to = roomOf(target);
        const isAllowed = from === to || LAYERS[to]! < LAYERS[from]! || NEIGHBOURS[from]?.includes(to);
        return isAllowed ? [] : [`${file.path} imports ${target}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('schemas import nothing of the gateway', () => {
    const wrong = sourceFiles('schemas').flatMap((file) =>
      file.imports
        .filter(
          (specifier) => specifier.startsWith('.') && !posix.join(file.path, '..', specifier).startsWith('schemas/'),
        )
        .map((specifier) => `${file.path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  test.each([
    ['processors', '#processor-kit'],
    ['readers', '#reader-kit'],
  ])('%s import only %s, schemas, packages and their own folder', (folder, kit) => {
    const wrong = sourceFiles(folder).flatMap((file) =>
      file.imports
        .filter((specifier) => !isOpenToPlugIns(specifier, kit))
        .map((specifier) => `${file.path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  test('the domain uses no database, no queue, no HTTP and no socket', () => {
    const forbidden = /^(pg|pg-boss|fastify|node:net|node:tls|node:http|node:fs)/;
    const wrong = sourceFiles('src/transactions').flatMap((file) =>
      file.imports
        .filter((specifier) => forbidden.test(specifier))
        .map((specifier) => `${file.path} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  test('the development oracles tlv and iso_8583 are never imported outside of tests', () => {
    const wrong = sourceFiles('src', 'processors', 'schemas').filter(({ imports }) =>
      imports.some((specifier) => specifier === 'tlv' || specifier === 'iso_8583'),
    );
    expect(wrong.map(({ path }) => path)).toEqual([]);
  });

  test('inside the domain, model, ports, decisions and use cases import only in this order', () => {
    const layerOf = (path: string) => DOMAIN_LAYERS[path.split('/')[2]!] ?? USE_CASES;
    const domain = sourceFiles('src/transactions');
    const wrong = domain.flatMap((file) =>
      file.imports.flatMap((specifier) => {
        const target = targetOf(file, specifier);
        if (!target?.startsWith('src/transactions/')) return [];
        return layerOf(file.path) >= layerOf(target) ? [] : [`${file.path} imports ${target}`];
      }),
    );
    expect(domain.length).toBeGreaterThan(40);
    expect(wrong).toEqual([]);
  });

  test('no files import each other in a circle, types included', () => {
    const graph = new Map(files.map((file) => [file.path, file.imports.map((each) => targetOf(file, each) ?? '')]));
    expect(circlesIn(graph)).toEqual([]);
    expect(circlesIn(new Map([...graph, ['src/a.ts', ['src/b.ts']], ['src/b.ts', ['src/a.ts']]]))).toHaveLength(1);
  });
});

/** Each circle as its files, found by following every path once. */
function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, above: readonly string[]): void => {
    const start = above.indexOf(path);
    if (start >= 0) circles.push([...above.slice(start), path].join(' -> '));
    if (start >= 0 || done.has(path)) return;
    for (const target of graph.get(path) ?? []) visit(target, [...above, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  return circles;
}

function isOpenToPlugIns(specifier: string, kit: string): boolean {
  if (specifier === kit || specifier.startsWith('#schemas/')) return true;
  if (specifier.startsWith('.')) return specifier.startsWith('./') && !specifier.includes('/../');
  return specifier === 'zod' || specifier.startsWith('node:');
}
