import type { LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { type LookUpAll, NameLookups } from './name-lookups.ts';

/** Whether the process may connect to an address, IPv4 or IPv6 as text. */
export type MayDial = (address: string, port: number) => boolean;

/** The detail of a connection that was refused here, see `CloseReason`. */
const ADDRESS_REFUSED = 'ADDRESS_REFUSED';

export function addressRefused(): NodeJS.ErrnoException {
  return Object.assign(new Error('The address may not be dialled.'), { code: ADDRESS_REFUSED });
}

const ofThisProcess = new NameLookups();

/**
 * Replaces the system's lookup in `net.connect`. The addresses that are checked are those that are dialled, so a name
 * that changes its address in between (DNS rebinding) gains nothing. One refused address refuses the name, because it
 * is random which address would be dialled.
 *
 * @param resolve by default the operating system's resolver, with one lookup at a time for all switches of the process
 */
export function guardedLookup(
  port: number,
  mayDial: MayDial,
  resolve: LookUpAll = ofThisProcess.resolve,
): LookupFunction {
  return (name, { family, hints, all }, done) => {
    const asked: LookupAllOptions = { all: true };
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
