import { z } from 'zod';

/**
 * How a switch behaves: data, not code, so that two switches of one type differ by configuration alone
 * (`profile` in the processor's configuration overrides any of the numbers here, see `switch-config.ts`).
 */
export interface ProcessorProfile {
  /** From the write to the last moment an answer counts. */
  readonly deadlineMs: number;
  /** Requests on their way per connection. */
  readonly maxInFlight: number;
  /** An echo is sent after this silence. */
  readonly idleEchoMs: number;
  /** Whether the switch may approve less than was asked: code 10, DE25 41. */
  readonly partialApproval: boolean;
  /** Within what a STAN may not repeat during a business day. */
  readonly stanScope: 'terminal' | 'acquirer';
  readonly codes: ResponseCodes;
  /** Fields, by name, that a response must repeat as the request had them; it is unknown otherwise. DE7 or DE37 is one. */
  readonly echoed: readonly string[];
  /** The one of them that holds DE4, which a partial approval may lower. */
  readonly amountField: string;
  readonly reversal: ReversalProfile;
  readonly network: NetworkCodes;
}

/** DE39 by meaning. A code in none of these lists is unknown. */
export interface ResponseCodes {
  readonly approved: readonly string[];
  /** Approved for the amount that the response carries in DE4. */
  readonly partial: readonly string[];
  readonly declined: readonly string[];
  /** Declined, and a person must look: the switch took the message for another one (94). */
  readonly review: readonly string[];
  readonly pinRequired: readonly PinRequiredCode[];
}

/** A code that asks for the PIN, for the cards of one scheme. */
export interface PinRequiredCode {
  readonly code: string;
  /** Absent: any scheme. */
  readonly scheme?: string | undefined;
  /**
   * The issuer must say so besides (`65` alone is "exceeds frequency limit"), in the way of the scheme: by the single-tap flag
   * of DE48, or by the response code at the end of tag 91. What one scheme says by it means something else to another.
   */
  readonly needs?: 'singleTapFlag' | 'authentication' | undefined;
}

export interface ReversalProfile {
  /** Whether a reversal keeps the STAN of its original (type 1) or takes a new one. */
  readonly keepsStan: boolean;
  /** Seconds before attempt 2, 3, ...; the last delay repeats until `giveUpAfterSeconds`. */
  readonly delaysSeconds: readonly number[];
  readonly giveUpAfterSeconds: number;
  /**
   * Seconds after the original's deadline before its reversal may go on another connection than the one that carried it: how
   * long the switch may still take in bytes of a connection that is gone.
   */
  readonly overtakingGuardSeconds: number;
  readonly codes: ReversalCodes;
}

/** DE39 in the answer to a reversal, by meaning (see `ReversalAnswer`). A code in none of these lists is undecided. */
export interface ReversalCodes {
  readonly acknowledged: readonly string[];
  readonly unableToLocate: readonly string[];
  readonly duplicate: readonly string[];
  readonly refused: readonly string[];
  /** Trouble of the switch or the issuer, which may pass: never final. */
  readonly undecided: readonly string[];
}

/**
 * When reversals are sent and repeated, unless a network wants it otherwise: soon at first, hourly for three days at last.
 *
 * Why five seconds are guard enough: by then the original left a deadline and five seconds ago, 35 or more. TCP repeats
 * what is not acknowledged after 0.2 s, 0.4 s and so on, twice as late each time. For bytes to be still on their way, the path
 * must have been down from the write to the repeat after 25 s without a break, and be up again, as the line that takes the reversal
 * is signed on. Bytes that did reach the switch's host wait for its program alone, which has had a whole deadline to read
 * them. What is left of the danger ends with the acknowledgement: one from another connection is asked for once more a
 * minute later, and by then a kernel has given up on the connection of a dead process (Linux, tcp_orphan_retries: eight
 * repeats, the last after 51 s).
 *
 * A switch needs more that acknowledges a reversal it cannot locate, remembers that, and does not look again for the repeat; so
 * does one with a deadline much shorter than 30 s. A minute covers the last repeat of TCP.
 */
export const REVERSAL_SCHEDULE = {
  delaysSeconds: [5, 30, 120, 600, 1_800, 3_600],
  giveUpAfterSeconds: 72 * 3_600,
  overtakingGuardSeconds: 5,
} as const;

/** DE70 (ISO 8583:1987) or the processing codes that a dialect uses instead. */
export interface NetworkCodes {
  readonly signOn: string;
  readonly signOff: string;
  readonly echo: string;
  readonly keyChange?: string | undefined;
  readonly cutOver?: string | undefined;
}

/** What a network management code asks for; undefined when the table does not have it. */
export function networkKindOf(codes: NetworkCodes, code: string | undefined): keyof NetworkCodes | undefined {
  const rows = Object.entries(codes) as [keyof NetworkCodes, string | undefined][];
  return code === undefined ? undefined : rows.find(([, known]) => known === code)?.[0];
}

/** The numbers of a profile that a configuration may set for one switch. */
export const profileOverrides = z
  .strictObject({
    deadlineMs: z.int().min(50).max(120_000),
    maxInFlight: z.int().min(1).max(65_536),
    idleEchoMs: z.int().min(1_000).max(3_600_000),
    partialApproval: z.boolean(),
    stanScope: z.enum(['terminal', 'acquirer']),
    /** Of the reversals' profile. Ten minutes are longer than any kernel keeps bytes for a connection that is gone. */
    overtakingGuardSeconds: z.int().min(0).max(600),
    /** Of the reversals' profile: seconds before attempt 2, 3, ... A network with rules of its own sets them, or a test. */
    reversalDelaysSeconds: z.array(z.number().min(1).max(86_400)).min(1).max(20),
    /** Of the reversals' profile: when a person must look. */
    reversalGiveUpAfterSeconds: z.int().min(10).max(604_800),
  })
  .partial();
