import { z } from 'zod';

/**
 * How a switch behaves: data, not code, so that two switches of one type differ in configuration alone. `profile` in
 * the processor's configuration overrides the numbers here (see `switch-config.ts`).
 */
export interface ProcessorProfile {
  /** From the write of a request to the last moment at which a response counts. */
  readonly deadlineMs: number;
  /** Requests in flight per connection. */
  readonly maxInFlight: number;
  /** An echo is sent after this time without traffic. */
  readonly idleEchoMs: number;
  /** Whether the switch may approve less than the requested amount: code 10, DE25 41. */
  readonly partialApproval: boolean;
  /**
   * The scope in which a STAN is unique during a business day. `terminal` is possible only if every field by which a
   * switch may find a message contains the terminal (message-identity.ts).
   */
  readonly stanScope: 'terminal' | 'acquirer';
  readonly codes: ResponseCodes;
  /**
   * Names of fields that a response must repeat unchanged from the request; otherwise the outcome is unknown. DE7 or
   * DE37 is one of them.
   */
  readonly echoed: readonly string[];
  /** The one of them that contains DE4. A partial approval may lower it. */
  readonly amountField: string;
  readonly reversal: ReversalProfile;
  readonly network: NetworkCodes;
}

/**
 * DE39 by meaning, in the codes of the switch. A code in none of these lists is unknown.
 */
export interface ResponseCodes {
  readonly approved: readonly string[];
  /** Approved for the amount in DE4 of the response. */
  readonly partial: readonly string[];
  readonly declined: readonly string[];
  /** Declined, and needs review: the switch took the message for another one (94). */
  readonly review: readonly string[];
  readonly pinRequired: readonly PinRequiredCode[];
  /**
   * For a switch with codes of its own, such as the action codes of ISO 8583:1993: the code of 7.5 of the interface for
   * each. Absent if the switch uses the codes of 7.5 (ISO 8583:1987). Outcomes, scenarios and phones know only those.
   */
  readonly meanings?: Readonly<Record<string, string>> | undefined;
}

/**
 * The code of 7.5 of the interface for a code of the switch; empty if it has none. Left as it is, it would be read as the
 * code of 7.5 with the same digits.
 */
export function meaningOf({ meanings }: ResponseCodes, code: string): string {
  return meanings === undefined ? code : (meanings[code] ?? '');
}

/** A code that requests the PIN for the cards of one scheme. */
export interface PinRequiredCode {
  readonly code: string;
  /** Absent: any scheme. */
  readonly scheme?: string | undefined;
  /**
   * The issuer must also request the PIN in the way of the scheme, because `65` alone is "exceeds frequency limit":
   * with the single-tap flag of DE48, or with the response code at the end of tag 91. The same code has another meaning
   * for other schemes.
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
   * Seconds after the original's deadline before its reversal may be sent on another connection. This is how long the
   * switch may still receive bytes from a connection that was closed.
   */
  readonly overtakingGuardSeconds: number;
  readonly codes: ReversalCodes;
}

/**
 * DE39 in the response to a reversal, in the codes of the switch, by meaning (see `ReversalResponse`). A code in none
 * of these lists is undecided.
 */
export interface ReversalCodes {
  readonly acknowledged: readonly string[];
  readonly unableToLocate: readonly string[];
  readonly duplicate: readonly string[];
  readonly refused: readonly string[];
  /** The switch or the issuer reports a fault, which may be temporary: never final. */
  readonly undecided: readonly string[];
}

/**
 * The default schedule of reversals: short delays at first, then hourly for three days.
 *
 * Why a guard of five seconds is enough: when it ends, the original was sent a deadline and five seconds ago, 35 s or
 * more. TCP retransmits unacknowledged bytes after 0.2 s, 0.4 s and so on, doubling the delay each time. For bytes to
 * be still in transit, the path must have been interrupted from the write until after the retransmission at 25 s, and
 * work again when the connection for the reversal is signed on. Bytes that did reach the switch's host wait only for
 * its program, which has had a whole deadline to read them. The acknowledgement removes the remaining risk: one from
 * another connection is requested again a minute later, and by then a kernel has given up the connection of a dead
 * process (Linux, tcp_orphan_retries: eight retransmissions, the last after 51 s).
 *
 * A longer guard is needed for a switch that acknowledges a reversal it cannot locate, remembers that, and does not
 * search again for the repeat. The same holds for a switch with a deadline much shorter than 30 s. A minute covers the
 * last retransmission of TCP.
 */
export const REVERSAL_SCHEDULE = {
  delaysSeconds: [5, 30, 120, 600, 1_800, 3_600],
  giveUpAfterSeconds: 72 * 3_600,
  overtakingGuardSeconds: 5,
} as const;

/** DE70 (ISO 8583:1987), DE24 (ISO 8583:1993), or the processing codes that a dialect uses instead. */
export interface NetworkCodes {
  readonly signOn: string;
  readonly signOff: string;
  readonly echo: string;
  readonly keyChange?: string | undefined;
  readonly cutOver?: string | undefined;
}

/** The meaning of a network management code; undefined if the table does not contain it. */
export function networkKindOf(codes: NetworkCodes, code: string | undefined): keyof NetworkCodes | undefined {
  const rows = Object.entries(codes) as [keyof NetworkCodes, string | undefined][];
  return code === undefined ? undefined : rows.find(([, known]) => known === code)?.[0];
}

/** Two minutes: three times the deadline of the slowest network in use. */
export const MAX_DEADLINE_MS = 120_000;

/** The numbers of a profile that a configuration may set for one switch. */
export const profileOverrides = z
  .strictObject({
    deadlineMs: z.int().min(50).max(MAX_DEADLINE_MS),
    maxInFlight: z.int().min(1).max(65_536),
    idleEchoMs: z.int().min(1_000).max(3_600_000),
    partialApproval: z.boolean(),
    stanScope: z.enum(['terminal', 'acquirer']),
    /** For reversals. Ten minutes are longer than any kernel keeps bytes for a closed connection. */
    overtakingGuardSeconds: z.int().min(0).max(600),
    /** For reversals: seconds before attempt 2, 3, ... Set for a network with its own rules, or by a test. */
    reversalDelaysSeconds: z.array(z.number().min(1).max(86_400)).min(1).max(20),
    /** Time after which attempts end and the transaction needs review. */
    reversalGiveUpAfterSeconds: z.int().min(10).max(604_800),
  })
  .partial();
