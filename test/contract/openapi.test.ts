import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCOPES } from '#schemas/scopes';
import {
  type ApiDocument,
  type NamedOperation,
  operationsOf,
  ownParameters,
  type Schema,
  STORED_DOCUMENT,
} from '../support/api-document.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { request } from '../support/requests.ts';
import { schemaCheck } from '../support/schema-check.ts';

let installation: Installation;
let document: ApiDocument;
let operations: NamedOperation[];
beforeAll(async () => {
  installation = await startInstallation();
  document = (await request(installation.url, '/openapi.json')).body as ApiDocument;
  operations = operationsOf(document);
});
afterAll(() => installation.stop());

test('the document is OpenAPI 3.1, by an independent validator', async () => {
  const validator = new Validator();
  expect(await validator.validate({ ...structuredClone(document) })).toMatchObject({ valid: true });
  expect(validator.version).toBe('3.1');
});

test('the copy in schemas/openapi.json equals what a gateway serves (npm run openapi writes it)', async () => {
  const { servers: _here, ...served } = document;
  const { url, variables } = document.servers[0]!;
  expect(url).toBe(installation.url);
  expect(variables!.env!.enum).toEqual(['dev', 'qa', 'prod']);
  const servers = [{ url: 'https://{env}.tapwire.example', variables }];
  const text = `${JSON.stringify({ ...served, servers }, null, 2)}\n`;
  await expect(text).toMatchFileSnapshot(STORED_DOCUMENT.pathname);
});

describe('every operation', () => {
  const each = (check: (operation: NamedOperation) => unknown) => {
    const faults = operations.flatMap((operation) => {
      const fault = check(operation);
      return fault ? [`${operation.method} ${operation.path}: ${JSON.stringify(fault)}`] : [];
    });
    expect(faults).toEqual([]);
  };

  test('has an id of its own, a summary on one line and one described tag', () => {
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    const announced = new Set(document.tags.map(({ name }) => name));
    each(({ summary }) => !/^[A-Z][^.\n]{3,80}$/.test(summary) && summary);
    each(({ tags }) => (tags.length !== 1 || !announced.has(tags[0]!)) && tags);
  });

  test('accepts credentials that are described, and scopes that exist', () => {
    each(
      ({ security }) =>
        security.flatMap((requirement) =>
          Object.entries(requirement).filter(
            ([scheme, scopes]) =>
              !(scheme in document.components.securitySchemes) || scopes.some((scope) => !(scope in SCOPES)),
          ),
        )[0],
    );
  });

  test('names the codes of each problem, 401 and 403 if it requires a credential', () => {
    each(({ security, responses }) => {
      const problems = Object.entries(responses).filter(([status]) => Number(status) >= 400);
      const unnamed = problems.filter(
        ([, { content }]) => content?.['application/problem+json'] === undefined && !content?.['application/json'],
      );
      const isGuarded = security.length > 0;
      return unnamed[0] ?? (isGuarded && !('401' in responses && '403' in responses) && 'no 401 or 403');
    });
  });

  test('describes each parameter', () => {
    each((operation) => ownParameters(operation).find(({ description }) => !description)?.name);
  });

  test('has an example of each response that matches the schema', () => {
    const check = schemaCheck(document, { isClosed: true });
    const problem: Schema = { $ref: '#/components/schemas/Problem' };
    each(({ responses }) => {
      const media = Object.values(responses).flatMap(({ content = {} }) => Object.values(content));
      return media.flatMap(({ schema, example, examples }) => {
        if (examples) return schema.$ref === problem.$ref ? [] : 'a problem of another schema';
        const isJson = schema.type !== 'string' && Object.keys(schema).length > 0;
        return (isJson && (example === undefined ? 'none' : check(schema, example))) || [];
      })[0];
    });
    const problems = Object.values(document.components.examples);
    expect(problems.flatMap(({ value }) => check(problem, value) ?? [])).toEqual([]);
  });

  test('has an example of its body that matches the schema', () => {
    const check = schemaCheck(document);
    each(({ requestBody }) => {
      const media = requestBody?.content['application/json'];
      return media && check(media.schema, media.example);
    });
  });
});

test('every property of every schema has a description', () => {
  const mute: string[] = [];
  const walk = (name: string, schema: Schema): void => {
    for (const [property, inner] of Object.entries(schema.properties ?? {})) {
      const isTold = inner.description !== undefined || inner.$ref !== undefined;
      if (!isTold) mute.push(`${name}.${property}`);
      walk(`${name}.${property}`, inner);
    }
    for (const inner of [schema.items, ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) if (inner) walk(name, inner);
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) walk(name, schema);
  expect(mute).toEqual([]);
});

test('every example of a property matches it', () => {
  const check = schemaCheck(document);
  const faults: string[] = [];
  const walk = (name: string, schema: Schema): void => {
    const { examples = [], ...bare } = schema;
    for (const example of examples) {
      const fault = check(bare, example);
      if (fault) faults.push(`${name}: ${fault}`);
    }
    for (const [property, inner] of Object.entries(schema.properties ?? {})) walk(`${name}.${property}`, inner);
    for (const inner of [schema.items, ...(schema.anyOf ?? [])]) if (inner) walk(name, inner);
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) walk(name, schema);
  expect(faults).toEqual([]);
});

test('additions to the interface and deprecated parts are flagged', () => {
  for (const { description, ...operation } of operations) {
    expect(operation['x-extension'] === true).toBe(description.includes('Extension of the published interface.'));
  }
  const deprecated = operations.filter((operation) => operation.deprecated).map(({ path }) => path);
  expect(deprecated).toEqual('/consumer/qrCode' in document.paths ? ['/consumer/qrCode'] : []);
});
