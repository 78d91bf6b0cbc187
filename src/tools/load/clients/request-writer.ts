import type { RawRequest } from '#schemas/client';
import type { HttpTarget } from '../http-connection.ts';

/** Writes complete HTTP/1.1 requests with as few operations as possible, because it runs for each arrival. */
export class RequestWriter {
  readonly #prefix: string;
  readonly #common: string;

  /**
   * @param url of the gateway; its path is put before every other path
   * @param isNewEach whether each request closes its connection
   */
  constructor(url: URL, isNewEach: boolean) {
    this.#prefix = url.pathname.replace(/\/$/, '');
    this.#common = `host: ${url.host}\r\n${isNewEach ? 'connection: close\r\n' : ''}`;
  }

  write({ method, path, headers, body = '' }: RawRequest): Buffer {
    let head = `${method} ${this.#prefix}${path} HTTP/1.1\r\n${this.#common}`;
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`;
    // A method that may have a body states its length, even if it is 0 (RFC 9110 8.6).
    if (method !== 'GET') head += `content-length: ${Buffer.byteLength(body)}\r\n`;
    return Buffer.from(`${head}\r\n${body}`);
  }
}

/** Host and port of a gateway's URL. */
export function targetOf(url: URL): HttpTarget {
  const isTls = url.protocol === 'https:';
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || (isTls ? 443 : 80), isTls };
}
