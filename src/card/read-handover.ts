import { indexTlv } from '../emv/tlv.ts';
import { SealError } from '../errors.ts';
import type { OpenHandover } from '../transactions/tap/submit-handover.ts';
import type { HandoverOpener } from './open-handover.ts';

/**
 * Opens a tap for a worker that an api process sealed; undefined if it was sealed for other workers, or too long
 * ago.
 */
export function readHandovers(opener: HandoverOpener): OpenHandover {
  return (attempt, sealed) => {
    try {
      const bytes = opener.open(attempt, sealed);
      return { general: indexTlv(bytes.general), payment: indexTlv(bytes.payment), bytes };
    } catch (error) {
      if (error instanceof SealError && error.code === 'KEY_GONE') return undefined;
      throw error;
    }
  };
}
