import { exampleOf } from '../openapi/example.ts';
import { curlOf, fetchOf, type SampleRequest, sampleUrl } from './code-samples.ts';
import type { DocumentedOperation, DocumentedParameter, Reference } from './reference.ts';

/** Shell variables for credentials, where the page knows none. */
const VARIABLES = { apiKey: '$TAPWIRE_API_KEY', token: '$TAPWIRE_TOKEN' } as const;

const JSON_TYPE = 'application/json';

/** The value that a sample has for a parameter; empty for an optional one, which samples leave out. */
export function sampleValue(reference: Reference, parameter: DocumentedParameter): string {
  if (!parameter.required) return '';
  const { example, schema } = parameter;
  if (example !== undefined) return String(example);
  return String((schema.examples as readonly unknown[] | undefined)?.[0] ?? exampleOf(schema, reference.schemas));
}

export function sampleBody(reference: Reference, { requestBody }: DocumentedOperation): string | undefined {
  const media = requestBody?.content[JSON_TYPE];
  if (media === undefined) return undefined;
  return JSON.stringify(media.example ?? exampleOf(media.schema, reference.schemas), undefined, 2);
}

/** The requirement that the sample meets: one for which the page has credentials, else the first. */
export function sampleSecurity(reference: Reference, { security }: DocumentedOperation): readonly string[] {
  const schemes = security.map((requirement) => Object.keys(requirement));
  return schemes.find((names) => names.every((name) => name in reference.credentials)) ?? schemes[0] ?? [];
}

export function samplesOf(reference: Reference, operation: DocumentedOperation): { curl: string; fetch: string } {
  const { method, path, parameters, servers } = operation;
  const values = parameters.map((each) => ({ ...each, value: sampleValue(reference, each) }));
  const body = sampleBody(reference, operation);
  const request: SampleRequest = {
    method,
    url: sampleUrl(servers?.[0]?.url ?? reference.serverUrl, path, values),
    headers: [
      ...values
        .filter((each) => each.in === 'header' && each.value !== '')
        .map((each) => [each.name, each.value] as const),
      ...sampleSecurity(reference, operation).map((scheme) => credentialHeader(scheme, reference.credentials[scheme])),
      ...(body === undefined ? [] : [['Content-Type', JSON_TYPE] as const]),
    ],
    body,
  };
  return { curl: curlOf(request), fetch: fetchOf(request) };
}

function credentialHeader(scheme: string, credential?: string): readonly [string, string] {
  if (scheme === 'apiKey') return ['x-api-key', credential ?? VARIABLES.apiKey];
  return ['Authorization', `Bearer ${credential ?? VARIABLES.token}`];
}
