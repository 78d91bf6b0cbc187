import { BlockList, isIP } from 'node:net';

/**
 * Addresses to which a URL from outside may lead: those of the public Internet. Every address that can mean this
 * machine, its neighbours or the infrastructure below it is refused.
 */
export interface AddressPolicy {
  /** Also allows 127.0.0.0/8 and ::1, for receivers on a developer's own machine. */
  readonly allowLoopback: boolean;
}

/** IANA IPv4 Special-Purpose Address Registry (RFC 6890), multicast (RFC 5771) and reserved addresses (RFC 1112). */
const SPECIAL_IPV4 = [
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT; some clouds serve metadata here
  '127.0.0.0/8', // loopback
  '169.254.0.0/16', // link-local: the metadata service of most clouds
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
];

/**
 * Public numbers under which a cloud serves its own machines: metadata, agents and internal services. Most clouds use
 * link-local, carrier-grade NAT (Alibaba: 100.100.100.200), 192.0.0.192 (Oracle) or fc00::/7, which are refused anyway.
 */
const CLOUD_IPV4 = [
  '168.63.129.16/32', // Azure: the wire server
  '161.26.0.0/16', // IBM Cloud: infrastructure services
  '166.8.0.0/14', // IBM Cloud: service endpoints
];

/**
 * IPv6 works the other way round: only global unicast is public. ::/96, ::ffff:0:0/96 (IPv4-mapped), 64:ff9b::/96
 * (NAT64), fc00::/7, fe80::/10, ff00::/8 and future assignments are therefore refused without a list.
 */
const GLOBAL_UNICAST = '2000::/3';

/** Within global unicast (IANA IPv6 Special-Purpose Address Registry). */
const SPECIAL_IPV6 = [
  '2001::/23', // protocol assignments, including Teredo, which embeds an IPv4 address
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which embeds an IPv4 address
  '3fff::/20', // documentation
];

const globalUnicast = listOf([GLOBAL_UNICAST], 'ipv6');
const special = { 4: listOf([...SPECIAL_IPV4, ...CLOUD_IPV4], 'ipv4'), 6: listOf(SPECIAL_IPV6, 'ipv6') } as const;
const loopback = { 4: listOf(['127.0.0.0/8'], 'ipv4'), 6: listOf(['::1/128'], 'ipv6') } as const;

/** @param address IPv4 or IPv6 as text, without brackets; anything else is refused */
export function isAllowedAddress(address: string, { allowLoopback }: AddressPolicy): boolean {
  const version = isIP(address);
  if (version !== 4 && version !== 6) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  if (allowLoopback && loopback[version].check(address, family)) return true;
  if (version === 6 && !globalUnicast.check(address, family)) return false;
  return !special[version].check(address, family);
}

function listOf(networks: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, prefix] = network.split('/') as [string, string];
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}
