import type { z } from 'zod';

/** Credentials in a request: none, a key, a token, either of them, or both. */
export type Shows = 'nothing' | 'key' | 'token' | 'either' | 'both';

/** Schemas of request and response. */
export interface OperationParts {
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodType;
  readonly body?: z.ZodType;
  readonly response: z.ZodType;
  /** The public URL; the base URL by default. */
  readonly under?: 'auth' | 'app';
}

export interface Operation extends OperationParts {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** `/transactions/{id}` */
  readonly path: string;
  readonly shows: Shows;
  /** Takes `Idempotency-Key`, so that it is safe to repeat. */
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
