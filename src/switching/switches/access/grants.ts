import { BlockList, isIP, isIPv4 } from 'node:net';

/** What the operator grants to one acquirer; to every acquirer if none is named. */
export interface Grant<What> {
  readonly acquirerId: number | undefined;
  readonly what: What;
}

/** Ports of the addresses of a network. */
export interface NetworkGrant {
  readonly network: BlockList;
  readonly fromPort: number;
  readonly toPort: number;
}

/** Addresses on which an acquirer's switches may connect to the gateway. */
export interface ListenerGrant {
  readonly host: string;
  readonly fromPort: number;
  readonly toPort: number;
}

const LAST_PORT = 65_535;
const PLACE = /^(?:\[(?<six>[^\]]+)\]|(?<four>[^:[\]]+))(?::(?<from>\d{1,5})(?:-(?<to>\d{1,5}))?)?$/;

/**
 * Reads `ACQUIRER=WHAT`; `*` means every acquirer.
 *
 * @returns undefined if the text has another form, or `read` refuses what is granted
 */
export function readGrant<What>(text: string, read: (what: string) => What | undefined): Grant<What> | undefined {
  const [acquirer = '', granted = ''] = text.split(/=(.*)/s, 2);
  const what = /^(\*|[1-9]\d{0,9})$/.test(acquirer) && granted !== '' ? read(granted) : undefined;
  return what === undefined ? undefined : { acquirerId: acquirer === '*' ? undefined : Number(acquirer), what };
}

/** Reads `10.1.0.0/16`, `10.1.0.5:9101`, `[fd00::]:9000-9099`, `[fd00::/8]`; without a port, all ports. */
export function readNetworkGrant(text: string): NetworkGrant | undefined {
  const place = readPlace(text);
  const [address = '', prefix, ...more] = place?.host.split('/') ?? [];
  const version = isIP(address);
  if (!place || version === 0 || more.length > 0) return undefined;
  const bits = prefix === undefined ? undefined : Number(prefix);
  const isPrefix = bits === undefined || (/^\d{1,3}$/.test(prefix!) && bits <= (version === 4 ? 32 : 128));
  if (!isPrefix) return undefined;
  const network = new BlockList();
  network.addSubnet(address, bits ?? (version === 4 ? 32 : 128), version === 4 ? 'ipv4' : 'ipv6');
  return { network, fromPort: place.fromPort ?? 1, toPort: place.toPort ?? LAST_PORT };
}

/** Reads `0.0.0.0:9101`, `[::]:9101-9110`: an address of this machine, never a name, and its ports. */
export function readListenerGrant(text: string): ListenerGrant | undefined {
  const place = readPlace(text);
  if (place?.fromPort === undefined || isIP(place.host) === 0) return undefined;
  return { host: place.host, fromPort: place.fromPort, toPort: place.toPort ?? place.fromPort };
}

/** Reads the id of a key, or the beginning of ids followed by `*`. */
export function readKeyGrant(text: string): string | undefined {
  return /^[^*]{0,64}\*?$/.test(text) ? text : undefined;
}

export function isGrantedTo({ acquirerId }: Grant<unknown>, asking: number): boolean {
  return acquirerId === undefined || acquirerId === asking;
}

export function hasPort({ fromPort, toPort }: { readonly fromPort: number; readonly toPort: number }, port: number) {
  return port >= fromPort && port <= toPort;
}

/**
 * Ignores the zone of a link-local address, which is not part of the address. An IPv4-mapped address is in the
 * networks of its IPv4 address.
 */
export function isInNetwork(network: BlockList, address: string): boolean {
  const [bare = ''] = address.split('%', 1);
  return isIP(bare) !== 0 && network.check(bare, isIPv4(bare) ? 'ipv4' : 'ipv6');
}

function readPlace(
  text: string,
): { host: string; fromPort: number | undefined; toPort: number | undefined } | undefined {
  const groups = PLACE.exec(text)?.groups as { six?: string; four?: string; from?: string; to?: string } | undefined;
  const host = groups?.six ?? groups?.four;
  if (!groups || host === undefined) return undefined;
  const fromPort = groups.from === undefined ? undefined : Number(groups.from);
  const toPort = groups.to === undefined ? fromPort : Number(groups.to);
  const isRange = fromPort === undefined || (fromPort >= 1 && toPort! >= fromPort && toPort! <= LAST_PORT);
  return isRange ? { host, fromPort, toPort } : undefined;
}
