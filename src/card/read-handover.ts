import { indexTlv } from '../emv/tlv.ts';
import { SealError } from '../errors.ts';
import type { OpenHandover } from '../transactions/tap/submit-handover.ts';
import type { HandoverOpener } from './open-handover.ts';

/** A worker's way to a tap that an api process sealed: undefined when it was sealed for other workers, or too long ago. */
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
