import net from 'node:net';
import tls from 'node:tls';
import { addressRefused, guardedLookup, type MayDial } from '../../outbound/switch-lookup.ts';

export interface SwitchAddress {
  readonly host: string;
  readonly port: number;
}

/** PEM texts. Without `ca`, the system's certificate authorities are trusted; `cert` and `key` enable mutual TLS. */
export interface SwitchTls {
  readonly serverName?: string | undefined;
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** After this time the kernel probes a silent peer, for switches without an echo. */
const KEEP_ALIVE_MS = 30_000;

/** A byte stream to or from a switch, over TCP or TLS. */
export interface SwitchSocket {
  readonly stream: net.Socket;
  /** Calls back when bytes can flow: connected and, with TLS, both sides authenticated. */
  whenOpen(callback: () => void): void;
  /** Ends the stream normally: the kernel delivers what it still holds. */
  end(): void;
  /**
   * Ends the stream now with a reset. Unsent bytes in this process or in the kernel are discarded and never delivered
   * later: nothing may reach a switch after its own reversal.
   */
  destroy(): void;
}

/**
 * Starts to connect. Errors, such as an invalid certificate or an address that may not be dialled, are emitted by the
 * stream.
 */
export function dialSwitch(address: SwitchAddress, secure?: SwitchTls, mayDial?: MayDial): SwitchSocket {
  const tcp = connect(address, mayDial);
  if (!secure) return switchSocket(tcp, tcp, (callback) => tcp.once('connect', callback));
  const stream = tls.connect({
    socket: tcp,
    servername: secure.serverName ?? (net.isIP(address.host) ? undefined : address.host),
    host: address.host,
    ca: secure.ca,
    cert: secure.cert,
    key: secure.key,
    minVersion: 'TLSv1.2',
  });
  tcp.on('error', (error) => stream.destroy(error));
  return switchSocket(stream, tcp, (callback) => stream.once('secureConnect', callback));
}

function connect({ host, port }: SwitchAddress, mayDial: MayDial = () => true): net.Socket {
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
  // An IP address is never looked up.
  if (net.isIP(host) === 0 || mayDial(host, port))
    return net.connect({ ...options, lookup: guardedLookup(port, mayDial) });
  const never = new net.Socket();
  process.nextTick(() => never.destroy(addressRefused()));
  return never;
}

/**
 * A connection that the switch opened, with its handshake done.
 *
 * @param tcp the TCP socket below `stream`, or `stream` itself without TLS
 */
export function acceptedSocket(stream: net.Socket, tcp: net.Socket): SwitchSocket {
  stream.setNoDelay(true);
  stream.setKeepAlive(true, KEEP_ALIVE_MS);
  return switchSocket(stream, tcp, (callback) => process.nextTick(callback));
}

/**
 * Only TCP sockets can be reset, which also makes the kernel drop its send buffer. TLS therefore resets the TCP
 * socket below.
 */
function switchSocket(stream: net.Socket, tcp: net.Socket, whenOpen: SwitchSocket['whenOpen']): SwitchSocket {
  return {
    stream,
    whenOpen,
    end: () => void stream.destroy(),
    destroy() {
      if (!tcp.destroyed && !tcp.connecting) tcp.resetAndDestroy();
      stream.destroy();
    },
  };
}
