import type { Problem } from '../../schemas/problem.ts';
import type { KnownRoute } from '../../src/http/route-table.ts';
import { eventually } from '../support/eventually.ts';
import type { Sent } from './row.ts';
import type { Headers } from './things.ts';

export interface ReceivedResponse {
  readonly status: number;
  readonly text: string;
  readonly headers: globalThis.Headers;
}

/** Requests in progress at once: enough to keep a gateway busy, few enough that none waits. */
const AT_ONCE = 12;

export const nameOf = ({ method, url }: Pick<KnownRoute, 'method' | 'url'>) => `${method} ${url}`;

/** 201 and 203 in a 503: the gateway has stored nothing, because the machine is busy with other tests. */
const IS_BUSY = [201, 203];

/** Sends a row's request, again while the gateway is busy. `instead` replaces its body, unchanged. */
export async function ask(...request: Parameters<typeof askOnce>): Promise<ReceivedResponse> {
  const notBusy = async () => {
    const response = await askOnce(...request);
    if (response.status === 503 && IS_BUSY.includes(errorCodeOf(response)!)) throw new Error(response.text);
    return response;
  };
  return await eventually(notBusy);
}

async function askOnce(
  base: string,
  { method, url }: Pick<KnownRoute, 'method' | 'url'>,
  { params = {}, query = {}, headers = {}, body }: Sent,
  credential: Headers,
  instead?: string,
): Promise<ReceivedResponse> {
  const path = url.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String(params[name] ?? 'missing').toWellFormed()),
  );
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  const sent = instead ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(new URL(search.size === 0 ? path : `${path}?${search}`, base), {
    method,
    headers: { ...headers, ...credential, ...(sent !== undefined && { 'content-type': 'application/json' }) },
    ...(sent !== undefined && { body: sent }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/**
 * The content of a response without its own ids, times and figures: if two are equal, they do not reveal which ids
 * exist. For a problem, everything except place and time.
 */
export function gist({ status, text, headers }: ReceivedResponse, named: readonly unknown[]): string {
  if (status < 300 && headers.get('content-type')?.startsWith('text/csv')) return `${status} ${text}`;
  if (status < 300) return `${status} ${JSON.stringify(shapeOf(text === '' ? null : JSON.parse(text)))}`;
  const { instance: _where, requestId: _when, ...rest } = JSON.parse(text) as Problem;
  const names = named.filter((value) => typeof value === 'string');
  return `${status} ${names.reduce((bare, name) => bare.replaceAll(name, '#'), JSON.stringify(rest))}`;
}

/** Words from closed lists, such as `Approved`. */
const WORD = /^[A-Za-z]{1,24}$/;

function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]);
  return typeof value === 'boolean' || (typeof value === 'string' && WORD.test(value)) ? value : typeof value;
}

export function errorCodeOf({ text }: ReceivedResponse): number | undefined {
  return text.startsWith('{') ? (JSON.parse(text) as Partial<Problem>).errorCode : undefined;
}

/** Processes all items, a few at once, and collects the results. */
export async function gather<Item>(
  items: readonly Item[],
  find: (item: Item) => Promise<string | undefined>,
): Promise<string[]> {
  const faults: string[] = [];
  const waiting = items.values();
  const work = async () => {
    for (const item of waiting) {
      const fault = await find(item);
      if (fault !== undefined) faults.push(fault);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return faults;
}
