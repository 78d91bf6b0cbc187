import type { HttpTarget } from '../http-line.ts';

/** Who asks. */
export interface Caller {
  /** The headers that say so, each with its line end. */
  readonly headers: string;
}

/** A phone with its merchant's token. */
export function phoneHeaders(token: string, deviceInstallationId: string): string {
  return `authorization: Bearer ${token}\r\nx-device-installation-id: ${deviceInstallationId}\r\n`;
}

/** An integrator's backend. */
export function backendHeaders(apiKey: string): string {
  return `x-api-key: ${apiKey}\r\n`;
}

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

  get(path: string, caller: Caller): Buffer {
    return Buffer.from(`GET ${this.#prefix}${path} HTTP/1.1\r\n${this.#common}${caller.headers}\r\n`, 'latin1');
  }

  post(path: string, caller: Caller, value: object): Buffer {
    const body = JSON.stringify(value);
    const length = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    return Buffer.from(`POST ${this.#prefix}${path} HTTP/1.1\r\n${this.#common}${length}${caller.headers}\r\n${body}`);
  }
}

/** Where a gateway's URL leads. */
export function targetOf(url: URL): HttpTarget {
  const isTls = url.protocol === 'https:';
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || (isTls ? 443 : 80), isTls };
}
