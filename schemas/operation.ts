import type { z } from 'zod';

/** What a request shows: nothing, a key, a token, whichever there is, or both at once. */
export type Shows = 'nothing' | 'key' | 'token' | 'either' | 'both';

/** What goes in and what comes out. */
export interface OperationParts {
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodType;
  readonly body?: z.ZodType;
  readonly answer: z.ZodType;
  /** Under which public URL it is; the base URL unless given. */
  readonly under?: 'auth' | 'app';
}

export interface Operation extends OperationParts {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/transactions/{id}` */
  readonly path: string;
  readonly shows: Shows;
  /** Takes `Idempotency-Key`: a repeat does no harm. */
  readonly isIdempotent?: true;
}

const by =
  <Method extends Operation['method']>(method: Method) =>
  <const Parts extends OperationParts>(path: string, shows: Shows, parts: Parts) => ({ method, path, shows, ...parts });

export const get = by('GET');
export const post = by('POST');
export const put = by('PUT');
export const patch = by('PATCH');
export const remove = by('DELETE');

/** A POST that takes an idempotency key. */
export function create<const Parts extends OperationParts>(path: string, shows: Shows, parts: Parts) {
  return { ...post(path, shows, parts), isIdempotent: true as const };
}
