import type { RawRequest } from '#schemas/client';
import type { HttpTarget } from '../http-connection.ts';

/** Writes whole HTTP/1.1 requests, in as few operations as it can: it is done for each arrival. */
export class RequestWriter {
  readonly #prefix: string;
  readonly #common: string;

  /**
   * @param url of the gateway; a path in it is put before every other
   * @param isNewEach whether each request ends its connection
   */
  constructor(url: URL, isNewEach: boolean) {
    this.#prefix = url.pathname.replace(/\/$/, '');
    this.#common = `host: ${url.host}\r\n${isNewEach ? 'connection: close\r\n' : ''}`;
  }

  write({ method, path, headers, body = '' }: RawRequest): Buffer {
    let head = `${method} ${this.#prefix}${path} HTTP/1.1\r\n${this.#common}`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    // Of a method that may have a body the length is said, also when there is none (RFC 9110 8.6).
    if (method !== 'GET') head += `content-length: ${Buffer.byteLength(body)}\r\n`;
    return Buffer.from(`${head}\r\n${body}`);
  }
}

/** Where a gateway's URL leads. */
export function targetOf(url: URL): HttpTarget {
  const isTls = url.protocol === 'https:';
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || (isTls ? 443 : 80), isTls };
}
