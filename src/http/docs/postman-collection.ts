import { hash } from 'node:crypto';
import type { DocumentedOperation, DocumentedParameter, Reference } from './reference.ts';
import { sampleBody, sampleSecurity, sampleValue, usualParameters } from './samples.ts';

/** https://schema.postman.com/json/collection/v2.1.0/collection.json */
const FORMAT = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';

/**
 * The operations as a collection (Postman 2.1, which Bruno imports): a folder for each chapter, and variables for the base
 * URL and the credentials.
 */
export function postmanCollection(reference: Reference): object {
  const { chapters, version, serverUrl, securitySchemes, credentials } = reference;
  const folders = chapters.map(({ name, description, operations }) => ({
    name,
    description,
    item: operations.filter(({ isWebhook }) => !isWebhook).map((operation) => itemOf(reference, operation)),
  }));
  return {
    info: {
      name: `Tapwire API ${version}`,
      // The same collection has the same id, so that a second import can replace the first.
      _postman_id: uuidOf(serverUrl),
      description: `Generated from ${serverUrl}/openapi.json. Set the variables of the collection first.`,
      schema: FORMAT,
    },
    variable: [
      { key: 'baseUrl', value: serverUrl },
      ...Object.keys(securitySchemes).map((scheme) => ({ key: scheme, value: credentials[scheme] ?? '' })),
    ],
    item: folders,
  };
}

function itemOf(reference: Reference, operation: DocumentedOperation): object {
  const { summary, description, method } = operation;
  const body = sampleBody(reference, operation);
  const entries = (place: DocumentedParameter['in']) =>
    usualParameters(operation)
      .filter((each) => each.in === place)
      .map((parameter) => entryOf(reference, parameter));
  return {
    name: summary,
    request: {
      method,
      description,
      header: [
        ...sampleSecurity(reference, operation).map(credentialHeader),
        ...entries('header'),
        ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
      ],
      url: urlOf(operation, entries('path'), entries('query')),
      ...(body !== undefined && { body: { mode: 'raw', raw: body, options: { raw: { language: 'json' } } } }),
    },
    response: [],
  };
}

type Entry = ReturnType<typeof entryOf>;

function urlOf({ path, servers }: DocumentedOperation, variable: readonly Entry[], query: readonly Entry[]): object {
  const base = servers?.[0]?.url ?? '{{baseUrl}}';
  const template = path.replace(/\{(\w+)\}/g, ':$1');
  const sent = query.filter(({ disabled }) => !disabled).map(({ key, value }) => `${key}=${encodeURIComponent(value)}`);
  return {
    raw: `${base}${template}${sent.length > 0 ? `?${sent.join('&')}` : ''}`,
    host: [base],
    path: template.slice(1).split('/'),
    query,
    variable,
  };
}

/** Optional parameters are there and switched off. */
function entryOf(reference: Reference, parameter: DocumentedParameter) {
  const { name, description = '', required } = parameter;
  return { key: name, value: sampleValue(reference, parameter), description, ...(!required && { disabled: true }) };
}

function credentialHeader(scheme: string): object {
  return scheme === 'apiKey'
    ? { key: 'x-api-key', value: '{{apiKey}}' }
    : { key: 'Authorization', value: `Bearer {{${scheme}}}` };
}

/** A UUID version 8 (RFC 9562 5.8) made from a text. */
function uuidOf(text: string): string {
  const digits = hash('sha256', text, 'hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}
