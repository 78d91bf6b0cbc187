import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import * as typed from '../../schemas/client.ts';
import type { Operation } from '../../schemas/operation.ts';
import { OPERATIONS } from '../../schemas/operations.ts';
import { PAY_PAGE_OPERATIONS, VIRTUAL_READER_OPERATIONS } from '../../schemas/pay-page.ts';
import { payPageFiles, schemaModules } from '../../src/http/pay-page/page-files.ts';

const ID = '3f1c9a52-7f0e-4a57-9f57-0d9a2b1c8e11';
const SOURCES = new URL('../../src/http/pay-page/', import.meta.url);
const KNOWN: Readonly<Record<string, Operation>> = {
  ...OPERATIONS,
  ...PAY_PAGE_OPERATIONS,
  ...VIRTUAL_READER_OPERATIONS,
};

/** The client of a pay page. */
type Served = Pick<typeof typed, 'createClient' | 'requestOf' | 'responseOf' | 'ProblemError' | 'ResponseError'>;
let served: Served;
let operations: Readonly<Record<string, Operation>>;
beforeAll(async () => {
  const modules = schemaModules(true);
  const addressOf = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`;
  const table = addressOf(modules.get('operations.ts')!);
  ({ OPERATIONS: operations } = await import(/* @vite-ignore */ table));
  const client = modules.get('client.ts')!.replace('./operations.ts', table.replaceAll("'", '%27'));
  served = await import(/* @vite-ignore */ addressOf(client));
});

describe('the client of a pay page', () => {
  test('has the operations that the page calls, each with the same definition', () => {
    const scripts = readdirSync(SOURCES).filter((name) => name.endsWith('.js'));
    const source = scripts.map((name) => readFileSync(new URL(name, SOURCES), 'utf8')).join('\n');
    const called = [...source.matchAll(/(?:\bgateway\.(?=\w+\()|#ask\('|operation: ')(\w+)/g)].map(([, name]) => name!);
    expect(new Set(called)).toEqual(new Set(Object.keys(operations)));
    for (const [name, { response: _response, ...row }] of Object.entries(operations)) {
      const { method, path, shows, under, isIdempotent } = KNOWN[name]!;
      expect(row, name).toEqual({
        method,
        path,
        shows,
        ...(under && { under }),
        ...(isIdempotent && { isIdempotent }),
      });
    }
  });

  test('sends what the typed one sends', () => {
    const credentials = { token: 'jwt' };
    const marks = { correlationId: ID };
    const ofTaps = { headers: { 'x-device-installation-id': 'd' }, body: { merchantReference: 'r' } as never };
    const say = ({ requestOf }: Served) => [
      requestOf('getLinkDetails', { params: { id: ID } }, credentials, marks),
      requestOf('acknowledgeLink', { body: { qrCodeId: ID, status: 'TransactionStarted' } }, credentials, marks),
      requestOf('getCardDataKeys', {}, credentials, marks),
      requestOf('submitTap', ofTaps, credentials, marks),
      requestOf('submitPin', { params: { transactionId: ID }, ...ofTaps }, credentials, marks),
    ];
    expect(say(served)).toEqual(say(typed));
  });

  test('returns a response unchanged, and recognizes a refusal and anything else', () => {
    const read = (status: number, text: string) => () => served.responseOf('getCardDataKeys', { status, text });
    expect(read(200, '{"keys":[],"more":1}')()).toEqual({ keys: [], more: 1 });
    const problem = { status: 404, errorCode: 122, message: 'E122', requestId: ID };
    expect(read(404, JSON.stringify(problem))).toThrow(served.ProblemError);
    expect(read(404, JSON.stringify(problem))).toThrow(expect.objectContaining({ errorCode: 122 }));
    for (const [status, text] of [
      [200, ''],
      [200, '<html>'],
      [502, ''],
      [404, '{"message":"no route"}'],
      [503, 'null'],
    ] as const)
      expect(read(status, text), text).toThrow(served.ResponseError);
  });
});

describe.each([true, false])('the parts of a pay page, with a virtual phone: %j', (hasVirtualPhone) => {
  const { assets } = payPageFiles({ hasVirtualPhone });

  test('import only each other', () => {
    for (const [name, { body }] of assets) {
      const imported = [...body.toString().matchAll(/^(?:import|export) .*?from '([^']+)'/gms)].map(
        ([, path]) => path!,
      );
      for (const path of imported) expect([...assets.keys()], `${name} imports it`).toContain(path.replace('./', ''));
    }
  });

  test('are scripts without types and without schemas', () => {
    const fromSchemas = [...assets].filter(([name]) => name.endsWith('.ts'));
    expect(fromSchemas.map(([name]) => name)).toContain('client.ts');
    for (const [name, { body, type }] of fromSchemas) {
      expect(type).toBe('text/javascript; charset=utf-8');
      expect(body.toString(), name).not.toMatch(/^(?:interface|import type|export type|export interface)|zod'/m);
    }
  });
});
