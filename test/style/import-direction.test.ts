import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { sourceFiles, targetOf } from './source-files.ts';

/**
 * The allowed import directions: downwards only. A wing, or a folder of a wing, imports only from those with a lower
 * number, except the pairs below. A path belongs to the longest of these names that it begins with.
 */
const LAYERS: Readonly<Record<string, number>> = {
  basics: 0,
  'codecs/bytes': 1,
  'codecs/emv': 2,
  'codecs/crypto': 2,
  'codecs/iso8583': 3,
  outbound: 4,
  'kits/plug-ins': 4,
  'kits/processor-kit': 5,
  'kits/reader-kit': 5,
  payments: 6,
  'switching/connection': 6,
  'switching/hsm': 7,
  'switching/switches': 8,
  auth: 9,
  card: 9,
  'hsm-devices': 9,
  jobs: 9,
  push: 9,
  store: 9,
  webhooks: 9,
  console: 10,
  http: 10,
  observe: 10,
  tools: 11,
  start: 12,
  'main.ts': 12,
  cli: 13,
};

/** Allowed imports within a layer, with the reason. */
const NEIGHBOURS: Readonly<Record<string, readonly string[]>> = {
  auth: ['card'], // seals sign-ins and secrets of users with the installation's keys
  card: ['hsm-devices'], // keys in a PKCS #11 token
  store: ['auth', 'card', 'push', 'webhooks'], // implements their ports on Postgres
  push: ['card', 'webhooks'], // seals push tokens, makes requests as webhooks do
  webhooks: ['card'], // seals its secrets with the installation's keys
  jobs: ['store'], // jobs join its commits
  http: ['observe'], // logs, reads health
  console: ['http', 'observe'], // its routes are routes of the same server, and show the same figures
  'main.ts': ['start'],
};

/**
 * The layers inside src/payments: the model, the ports to adapters, the decisions, and the use cases by subject.
 * Each imports only from the ones before it.
 */
const DOMAIN_LAYERS: Readonly<Record<string, number>> = { model: 0, ports: 1, decisions: 2 };
const USE_CASES = 3;

const roomOf = (path: string) =>
  Object.keys(LAYERS)
    .filter((room) => path === `src/${room}` || path.startsWith(`src/${room}/`))
    .sort((a, b) => b.length - a.length)[0] ?? path;

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
    const wrong = sourceFiles('src/payments').flatMap((file) =>
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
    const domain = sourceFiles('src/payments');
    const wrong = domain.flatMap((file) =>
      file.imports.flatMap((specifier) => {
        const target = targetOf(file, specifier);
        if (!target?.startsWith('src/payments/')) return [];
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
