import net from 'node:net';
import tls from 'node:tls';
import { addressRefused, guardedLookup, type MayDial } from './guarded-lookup.ts';

export interface SwitchAddress {
  readonly host: string;
  readonly port: number;
}

/** PEM texts. Without `ca` the system's authorities are trusted; `cert` and `key` make it mutual. */
export interface SwitchTls {
  readonly serverName?: string | undefined;
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** The kernel asks a silent peer for a sign of life after this long, for switches without an echo. */
const KEEP_ALIVE_MS = 30_000;

/** A byte stream to or from a switch, over TCP or TLS. */
export interface SwitchSocket {
  readonly stream: net.Socket;
  /** Calls back once bytes can flow: connected and, with TLS, both sides proven. */
  whenOpen(callback: () => void): void;
  /** Ends it in peace: what the kernel still holds is delivered. */
  end(): void;
  /**
   * Ends it now, by a reset. What lies unsent in this process or in the kernel is thrown away, never delivered later: nothing
   * may reach a switch behind its own reversal.
   */
  destroy(): void;
}

/**
 * Begins to connect; errors, such as a certificate that proves nothing or an address that may not be dialled, are the
 * stream's.
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

function connect({ host, port }: SwitchAddress, mayDial: MayDial | undefined): net.Socket {
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS };
  if (!mayDial) return net.connect(options);
  // An address instead of a name is never looked up.
  if (net.isIP(host) === 0 || mayDial(host, port))
    return net.connect({ ...options, lookup: guardedLookup(port, mayDial) });
  const never = new net.Socket();
  process.nextTick(() => never.destroy(addressRefused()));
  return never;
}

/**
 * A connection that the switch made to us, its handshake done.
 *
 * @param tcp what `stream` lies on, itself where it is not TLS
 */
export function acceptedSocket(stream: net.Socket, tcp: net.Socket): SwitchSocket {
  stream.setNoDelay(true);
  stream.setKeepAlive(true, KEEP_ALIVE_MS);
  return switchSocket(stream, tcp, (callback) => process.nextTick(callback));
}

/** Only TCP sockets can be reset, which makes the kernel drop its send buffer too: so TLS resets the one it lies on. */
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
