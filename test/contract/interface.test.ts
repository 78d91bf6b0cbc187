import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_MERCHANT_REFERENCE_CHARS } from '../../schemas/card-data.ts';
import { ENUMS } from '../../schemas/enums.ts';
import { errorCodeText } from '../../schemas/error-codes.ts';
import { responseCodeText } from '../../schemas/response-codes.ts';
import {
  type NamedOperation,
  operationsOf,
  ownParameters,
  readStoredDocument,
  type Schema,
} from '../support/api-document.ts';
import { type Installation, startInstallation } from '../support/installation.ts';
import { request } from '../support/requests.ts';
import { outcomeOf } from '../support/responses.ts';
import {
  DISPOSITION_VALUES,
  ENDPOINTS,
  ERROR_ROWS,
  LIST_QUERY,
  QR_CODE_STATES,
  RESOURCES,
  RESPONSE_CODE_ROWS,
  STATUS_VALUES,
} from './interface-tables.ts';

const document = readStoredDocument();
const operations = operationsOf(document);

/** The types of a schema as JSON names; an integer is a number. */
function typesOf(schema: Schema): string[] {
  if (schema.$ref) return typesOf(document.components.schemas[schema.$ref.split('/').at(-1)!]!);
  if (schema.anyOf) return [...new Set(schema.anyOf.flatMap(typesOf))];
  const { const: only } = schema as { const?: unknown };
  const types = schema.type ?? (schema.enum ? typeof schema.enum[0] : typeof only);
  return [types].flat().map((type) => (type === 'integer' ? 'number' : String(type)));
}

/** The interface lists it among the other fields; an outcome without an error has none. */
const IN_SOME_RESPONSES = new Set(['TapOnOwnStatus.errorCode']);

const resource = (section: string): Schema => document.components.schemas[RESOURCES[section]!.schema]!;
const find = (call: string): NamedOperation => operations.find(({ method, path }) => `${method} ${path}` === call)!;

describe.each(Object.entries(RESOURCES))('section %s', (_section, { schema, fields }) => {
  const described = document.components.schemas[schema]!;

  test.each(Object.entries(fields))(`${schema}.%s is %s`, (field, type) => {
    const [json, ...more] = type.replace('?', '').split('|');
    const property = described.properties?.[field];
    expect(property, 'it is described').toBeDefined();
    const types = typesOf(property!);
    expect(types).toContain(json);
    // The contract adds null for fields without a value yet.
    expect(types.filter((each) => each !== json && each !== 'null')).toEqual([]);
    if (more.includes('null')) expect(types).toContain('null');
    const isOptional = type.endsWith('?') || schema === 'ReceiptData' || IN_SOME_RESPONSES.has(`${schema}.${field}`);
    if (!isOptional) expect(described.required).toContain(field);
  });
});

describe('section 3', () => {
  const enumOf = (schema: Schema): unknown[] =>
    (schema.enum ? [...schema.enum] : (schema.anyOf ?? []).flatMap(enumOf)).filter((value) => value !== null);

  test('3.1: dispositions are listed, and those of status documents without DeclinedOffline', () => {
    expect(ENUMS.dispositions.map(({ name }) => name)).toEqual(DISPOSITION_VALUES);
    expect(enumOf(resource('2.12').properties!.type!)).toEqual(DISPOSITION_VALUES);
    const five = DISPOSITION_VALUES.filter((value) => value !== 'DeclinedOffline');
    for (const section of ['2.3', '2.4', '2.5', '2.6']) {
      expect(enumOf(resource(section).properties!.disposition!), section).toEqual(five);
    }
  });

  test('3.2: states of links are listed', () => {
    expect(ENUMS.qrCodeStates.map(({ name }) => name)).toEqual(QR_CODE_STATES);
    expect(enumOf(resource('2.3').properties!.qrCodeState!)).toEqual(QR_CODE_STATES);
  });

  test('3.3: statuses are listed', () => {
    expect(ENUMS.statuses.map(({ name }) => name)).toEqual(STATUS_VALUES);
  });
});

describe('section 4', () => {
  test.each(ENDPOINTS)('$section $call exists, and names its section', ({ section, call }) => {
    const isExtended = section === '4.18' && call.startsWith('PUT');
    expect(find(call).description).toContain(
      isExtended ? 'Extension' : `Section ${section} of the published interface.`,
    );
  });

  test.each(ENDPOINTS)('$call accepts the credentials of section 5', ({ call, takes }) => {
    const { security } = find(call);
    const schemes = security.flatMap((requirement) => Object.keys(requirement));
    expect(schemes).toEqual(expect.arrayContaining([...takes]));
    if (takes.length === 0) expect(security).toEqual([]);
  });

  test.each(ENDPOINTS.filter(({ body }) => body))('$call requires its fields', ({ call, body }) => {
    const { requestBody } = find(call);
    const { $ref } = requestBody!.content['application/json']!.schema;
    expect(document.components.schemas[$ref!.split('/').at(-1)!]!.required).toEqual(expect.arrayContaining([...body!]));
  });

  test.each(Object.entries(LIST_QUERY))('4.1: the parameter %s is a %s', (name, type) => {
    const parameter = ownParameters(find('GET /transactions')).find((each) => each.name === name)!;
    expect(parameter.in).toBe('query');
    expect(typesOf(parameter.schema)).toContain(type);
  });

  test('4.2: 400, 404 as the generic variant shows them', () => {
    expect(Object.keys(find('GET /transactions/{id}').responses)).toEqual(
      expect.arrayContaining(['200', '400', '404']),
    );
  });

  test('4.4 and 4.5 require the device in a header, and accept a correlation id', () => {
    for (const { call } of ENDPOINTS.filter(({ section }) => section === '4.4' || section === '4.5')) {
      const operation = find(call);
      const device = ownParameters(operation).find(({ name }) => name === 'X-Device-Installation-Id');
      expect(device).toMatchObject({ in: 'header', required: true });
      expect(JSON.stringify(operation.parameters)).toContain('CorrelationId');
    }
  });

  test('4.11 is deprecated', () => expect(find('POST /consumer/qrCode').deprecated).toBe(true));
});

describe('section 7', () => {
  test.each([
    ['POST /mobile/proximity-token', ['401', '403', '500']],
    ['POST /transactions/mobile', ['400', '401', '403', '500']],
    ['POST /transactions/{transactionId}/submitPinMobile', ['400', '401', '403', '409', '500']],
  ] as const)('7.1, 7.2: %s can respond with %j', (call, statuses) => {
    expect(Object.keys(find(call).responses)).toEqual(expect.arrayContaining([...statuses]));
  });

  test.each(ERROR_ROWS)('7.4: %i to %i is %s', (from, to, name) => {
    const reported = ENUMS.errorCodes.find(({ code }) => code === from);
    if (from === to) expect(reported?.name).toBe(name);
    else expect([from, to].every((code) => errorCodeText(code) !== undefined)).toBe(true);
  });

  test.each(Object.entries(RESPONSE_CODE_ROWS))('7.5: %s is %s', (code, text) => {
    expect(responseCodeText(code.padStart(2, '0'))).toBe(text);
  });
});

describe('section 8: limits', () => {
  const maxOf = (schemaName: string, field: string) =>
    document.components.schemas[schemaName]!.properties![field]!.maxLength;

  test('references have at most 255 characters', () => {
    expect(MAX_MERCHANT_REFERENCE_CHARS).toBe(255);
    expect(maxOf('MobileTransaction', 'merchantReference')).toBe(255);
    expect(maxOf('Applink', 'paymentReference')).toBe(255);
    expect(maxOf('Tt3Applink', 'contractReference')).toBe(255);
  });

  test('an intent session token lives 60 to 720 minutes', () => {
    const { schema } = find('POST /refresh/intentSessionToken').requestBody!.content['application/json']!;
    expect(JSON.stringify(schema)).toMatch(/"minimum":60\b.*"maximum":720\b|"maximum":720\b.*"minimum":60\b/);
  });

  test('values are no longer than their columns', () => {
    const longest = (values: readonly string[]) => Math.max(...values.map(({ length }) => length));
    expect(longest([...QR_CODE_STATES, ...STATUS_VALUES])).toBeLessThanOrEqual(64);
    expect(longest([...DISPOSITION_VALUES, ...ENUMS.transactionTypes.map(({ name }) => name)])).toBeLessThanOrEqual(32);
  });
});

describe('a live response has the fields of its section, with name and type', () => {
  let installation: Installation;
  let headers: Record<string, string>;
  beforeAll(async () => {
    installation = await startInstallation();
    headers = { 'x-api-key': await installation.apiKey(), 'content-type': 'application/json' };
  });
  afterAll(() => installation.stop());

  const expectFields = (section: string, response: unknown) => {
    const reported = response as Record<string, unknown>;
    for (const [field, type] of Object.entries(RESOURCES[section]!.fields)) {
      const isAbsent = reported[field] === undefined || reported[field] === null;
      if (isAbsent && (/[?]|null/.test(type) || typesOf(resource(section).properties![field]!).includes('null')))
        continue;
      if (isAbsent && IN_SOME_RESPONSES.has(`${RESOURCES[section]!.schema}.${field}`)) continue;
      const json = Array.isArray(reported[field]) ? 'array' : typeof reported[field];
      expect(json, `${section} ${field}`).toBe(type.replace(/[|?].*/, ''));
    }
  };
  const send = async (method: string, path: string, body?: object) => {
    const response = await request(installation.url, path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(response.status, `${path}: ${JSON.stringify(response.body)}`).toBeLessThan(300);
    return response.body as Record<string, unknown>;
  };

  test('2.12, 2.1 and 2.2: a tap, in the list and alone', async () => {
    const outcome = outcomeOf(await installation.phone().tap({ amount: '100.00', currency: 'ZAR' }));
    expectFields('2.12', outcome);
    const [listed] = (await send('GET', '/transactions?limit=1')) as unknown as Record<string, unknown>[];
    const shown = await send('GET', `/transactions/${outcome.serviceReference}`);
    for (const transaction of [listed!, shown]) {
      expectFields('2.1', transaction);
      expectFields('2.2', transaction.receiptData);
    }
  });

  test('2.8, 2.3, 2.9, 2.4 and 2.10: links, intents, mandates and sessions', async () => {
    const wanted = () => ({
      merchantId: Number(installation.profile().merchant.id),
      paymentReference: randomUUID(),
      amount: '100.00',
      timestamp: new Date().toISOString(),
      currencyCode: 'ZAR',
    });
    const forApp = { isConsumerApp: true, image: { required: true } };
    const link = await send('POST', '/consumer/applink', { ...wanted(), ...forApp });
    expectFields('2.8', link);
    expect(link.qrCode).toMatch(/^data:image\/png;base64,/);
    expectFields('2.3', await send('GET', `/consumer/QRCode/${link.reference}`));
    const intent = await send('POST', '/consumer/intentTransaction', wanted());
    expectFields('2.9', intent);
    expectFields('2.3', await send('GET', `/consumer/QRCode/${intent.id}`));
    const mandate = {
      collectionDay: 25,
      creditorABSN: 'ACME',
      accountNumber: '62001234567',
      idNumber: '8001015009087',
      instalmentAmount: '50.00',
      instalmentVisibility: 'both',
      maxCollectionAmount: '100.00',
      contractReference: 'contract-1',
    };
    const tt3 = await send('POST', '/consumer/tt3Applink', { ...wanted(), ...forApp, ...mandate });
    expectFields('2.4', await send('GET', `/consumer/tt3QRCode/${tt3.reference}`));
    const merchantId = installation.profile().merchant.id;
    expectFields('2.10', await send('POST', '/refresh/intentSessionToken', { merchantId }));
  });
});
