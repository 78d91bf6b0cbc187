import { describe, expect, test } from 'vitest';
import { ENUMS } from '#schemas/enums';
import apiDocument from '../../schemas/openapi.json' with { type: 'json' };
import { type ApiTexts, fieldFaults, fieldsOf, operationFaults, operationsOf, summaryFaults } from './api-texts.ts';
import { bannedPhrasesIn } from './banned-phrases.ts';

const document = apiDocument as unknown as ApiTexts;
const operations = operationsOf(document);
const faultsAt = (place: string, faults: readonly string[]) => faults.map((fault) => `${place}: ${fault}`);

describe('the API document reads plainly', () => {
  test('each summary is an instruction of at most eight words', () => {
    expect(operations.flatMap(({ operationId, summary }) => faultsAt(operationId, summaryFaults(summary)))).toEqual([]);
  });

  test('each operation has a description', () => {
    const faults = operations.flatMap((each) => faultsAt(each.operationId, operationFaults(each.description)));
    expect(faults).toEqual([]);
  });

  test('each field, parameter and header is described by a noun phrase', () => {
    const fields = fieldsOf(document);
    expect(fields.length).toBeGreaterThan(500);
    const faults = fields.flatMap(({ place, description }) => faultsAt(place, fieldFaults(description)));
    expect([...new Set(faults)]).toEqual([]);
  });

  test('each code and value has a meaning that begins with a capital letter', () => {
    const { responseCodes, ...lists } = ENUMS;
    const meanings = Object.values(lists).flatMap((list) => list.map(({ meaning }) => meaning));
    const texts = [...meanings, ...responseCodes.map(({ text }) => text)];
    expect(texts.flatMap((text) => (/^[A-Z]/.test(text) ? bannedPhrasesIn(text) : [text]))).toEqual([]);
  });
});

describe('a bad text is found', () => {
  test.each([
    'Find out why a token is refused',
    'List transactions.',
    'Get the status of a link or of an intent by reference',
    'Get the keys of ours',
  ])('a bad text is found in the summary "%s"', (summary) => {
    expect(summaryFaults(summary)).toHaveLength(1);
  });

  test.each([
    'Credentials: none.\n\nSection 4.1 of the published interface.',
    'newest first.',
    'By name',
    'Lists what belongs to nobody.',
  ])('a bad text is found in the description "%s"', (description) => {
    expect(operationFaults(description)).toHaveLength(1);
  });

  test.each([
    undefined,
    'null for never',
    'Of the issuer; empty without one',
    'Time since which the device is away',
  ])('a bad text is found in the field "%s"', (description) => {
    expect(fieldFaults(description)).toHaveLength(1);
  });

  test('a field without a description is found, wherever it is', () => {
    const described = { description: 'Id of the device' };
    const bare = { properties: { id: described, name: {} } };
    const fields = fieldsOf({
      paths: {
        '/devices': {
          post: {
            operationId: 'addDevice',
            summary: 'Add a device',
            description: 'Adds a device.',
            parameters: [{ name: 'limit' }],
            requestBody: { content: { 'application/json': { schema: { anyOf: [bare, { items: bare }] } } } },
            responses: { 400: { description: 'Bad Request', content: { json: { schema: { allOf: [bare, {}] } } } } },
          },
        },
      },
      webhooks: {},
      components: {
        schemas: { Device: { properties: { list: { ...described, items: bare } } } },
        parameters: {},
        headers: {},
      },
    });
    const places = fields.filter(({ description }) => description === undefined).map(({ place }) => place);
    expect(places).toEqual([
      'addDevice limit',
      'addDevice body.name',
      'addDevice body[].name',
      'addDevice 400.name',
      'Device.list[].name',
    ]);
  });
});
