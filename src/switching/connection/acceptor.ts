import net from 'node:net';
import tls from 'node:tls';
import type { AcceptOptions } from './pool-types.ts';
import { acceptedSocket, type SwitchSocket } from './switch-socket.ts';

/** Closes the TLS connection of a switch that has not finished the handshake within this time. */
const HANDSHAKE_TIMEOUT_MS = 5_000;

/**
 * TLS connections that have not finished the handshake, beside those of the switch. A stranger can open these; the oldest
 * makes room for the next, so strangers do not keep out the switch, which takes milliseconds.
 */
const MAX_HANDSHAKES = 32;

/** The server side of TLS as PEM texts. With `ca`, the switch must present a certificate that it issued. */
export interface ServerTls {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | undefined;
}

/** A listening server for `accept` of a pool. @throws the system's error if the address is not available */
export function listenForSwitch(address: { host: string; port: number }, secure?: ServerTls): Promise<net.Server> {
  const server = secure
    ? tls.createServer({
        cert: secure.cert,
        key: secure.key,
        ca: secure.ca,
        requestCert: secure.ca !== undefined,
        rejectUnauthorized: secure.ca !== undefined,
        minVersion: 'TLSv1.2',
        handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
      })
    : net.createServer();
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve(server);
    });
  });
}

/** Accepts connections that a switch opens, from the permitted addresses and up to the permitted number. */
export class Acceptor {
  readonly #options: AcceptOptions;
  readonly #allowed = new net.BlockList();
  readonly #onAccepted: (socket: SwitchSocket, address: string) => void;
  readonly #event: 'connection' | 'secureConnection';
  /** The TCP socket below each TLS socket, by peer address: a TLS socket does not expose it. */
  readonly #tcp = new Map<string, net.Socket>();
  /** TCP sockets whose handshake is not finished, oldest first. */
  readonly #shaking = new Set<net.Socket>();
  readonly #accepted = new Set<net.Socket>();

  /**
   * @param onError called with the system's error if it cannot accept (no file handles left); the acceptor continues
   */
  constructor(
    options: AcceptOptions,
    onAccepted: (socket: SwitchSocket, address: string) => void,
    onError: (error: NodeJS.ErrnoException) => void,
  ) {
    this.#options = options;
    this.#onAccepted = onAccepted;
    options.server.on('error', onError);
    this.#event = options.server instanceof tls.Server ? 'secureConnection' : 'connection';
    for (const address of options.from ?? []) this.#allowed.addAddress(address, familyOf(address));
    options.server.maxConnections = options.maxConnections + MAX_HANDSHAKES + 1;
    options.server.prependListener('connection', this.#check);
    options.server.on(this.#event, this.#accept);
  }

  close(): void {
    const { server } = this.#options;
    server.close();
    server.off(this.#event, this.#accept);
  }

  /** Runs before any handshake: a refused address costs no cryptography. */
  readonly #check = (stream: net.Socket): void => {
    const { from } = this.#options;
    const address = stream.remoteAddress;
    if (from && (address === undefined || !this.#allowed.check(address, familyOf(address)))) {
      stream.destroy();
      return;
    }
    const key = placeOf(stream);
    this.#tcp.set(key, stream);
    if (this.#event === 'secureConnection') this.#shaking.add(stream);
    stream.once('close', () => {
      this.#tcp.delete(key);
      this.#shaking.delete(stream);
    });
    const [oldest] = this.#shaking;
    if (this.#shaking.size > MAX_HANDSHAKES) oldest!.destroy();
  };

  readonly #accept = (stream: net.Socket): void => {
    if (stream.destroyed) return;
    const place = placeOf(stream);
    const tcp = this.#tcp.get(place) ?? stream;
    this.#shaking.delete(tcp);
    if (this.#accepted.size >= this.#options.maxConnections) {
      stream.destroy();
      return;
    }
    this.#accepted.add(stream);
    stream.once('close', () => this.#accepted.delete(stream));
    this.#onAccepted(acceptedSocket(stream, tcp), place);
  };
}

function placeOf({ remoteAddress, remotePort }: net.Socket): string {
  return `${remoteAddress}:${remotePort}`;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return net.isIPv4(address) ? 'ipv4' : 'ipv6';
}
