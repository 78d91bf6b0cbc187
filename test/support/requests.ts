import type { TapRequest } from '../../src/payments/ports/switch-ports.ts';
import type { Phone, PhoneResponse } from '../../src/tools/phone/phone.ts';
import { documentedFetch } from './documented.ts';

/** What a test changes in the request that a phone would send. */
export interface RequestChanges {
  /** Undefined removes a header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Replaces the body of the tap; text is sent unchanged. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface RawResponse extends PhoneResponse {
  readonly headers: Headers;
}

/** Posts a tap as the phone would, with the test's changes. */
export async function postTap(
  url: string,
  phone: Phone,
  { merchantReference, generalCardData, paymentCardData }: TapRequest,
  { headers = {}, body = { merchantReference, generalCardData, paymentCardData }, signal }: RequestChanges = {},
): Promise<RawResponse> {
  const all = {
    authorization: `Bearer ${await phone.token()}`,
    'content-type': 'application/json',
    'x-device-installation-id': phone.deviceInstallationId,
    ...headers,
  };
  return request(url, '/transactions/mobile', {
    method: 'POST',
    headers: all,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal && { signal }),
  });
}

type Sent = Omit<RequestInit, 'headers'> & { readonly headers?: Readonly<Record<string, string | undefined>> };

/** Sends any request, and compares the exchange with the API description; undefined headers are left out. */
export async function request(url: string, path: string, { headers = {}, ...init }: Sent = {}): Promise<RawResponse> {
  const startedAtMs = performance.now();
  const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const response = await documentedFetch(new URL(path, url), { ...init, headers: Object.fromEntries(given) });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  const ms = performance.now() - startedAtMs;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text, ms };
}
