import dns from 'node:dns';
import type { LookupFunction } from 'node:net';

/** Whether a connection may be made to this address, IPv4 or IPv6 as text. */
export type MayDial = (address: string, port: number) => boolean;

/** The detail of a connection that was not made, see `CloseReason`. */
export const ADDRESS_REFUSED = 'ADDRESS_REFUSED';

export function addressRefused(): NodeJS.ErrnoException {
  return Object.assign(new Error('The address may not be dialled.'), { code: ADDRESS_REFUSED });
}

type ResolveAll = (
  name: string,
  options: dns.LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: dns.LookupAddress[]) => void,
) => void;

/**
 * What `net.connect` asks instead of the operating system. The addresses that are checked are those that are dialled, so a
 * name that changes its address in between (DNS rebinding) gains nothing. One bad address condemns the name: which of them
 * would be dialled is a matter of chance.
 *
 * @param resolve the operating system's resolver, which knows /etc/hosts
 */
export function guardedLookup(port: number, mayDial: MayDial, resolve: ResolveAll = dns.lookup): LookupFunction {
  return (name, { family, hints, all }, done) => {
    const asked: dns.LookupAllOptions = { all: true };
    if (family !== undefined) asked.family = family;
    if (hints !== undefined) asked.hints = hints;
    resolve(name, asked, (error, addresses) => {
      if (error) return done(error, []);
      if (!addresses.every(({ address }) => mayDial(address, port))) return done(addressRefused(), []);
      if (all) return done(null, addresses);
      return done(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}
