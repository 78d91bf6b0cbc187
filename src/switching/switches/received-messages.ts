import { within } from '../../basics/limits/within.ts';
import type { IsoMessage } from '../../kits/processor-kit/iso-message.ts';
import { isTrusted, judgeMac, macVerdictOf } from '../../kits/processor-kit/mac-verdict.ts';
import type { AcquirerSwitchOptions } from './acquirer-switch-options.ts';
import type { ReportFault } from './fault-log.ts';
import type { KeyExchange } from './key-exchange.ts';
import { MacWatch } from './mac-watch.ts';
import type { RecentApprovals } from './recent-approvals.ts';
import { SettlementWatch } from './settlement-watch.ts';
import type { StandardFields } from './standard-fields.ts';
import { UnmatchedIntake } from './unmatched-intake.ts';
import type { UnmatchedCounters } from './unmatched-responses.ts';

/**
 * A phone waits for this response. One check can need several calls of the HSM, one for each key, and key announcements that
 * are being imported. The limit leaves a second of `ANSWER_SLACK_SECONDS` for the commit.
 */
const CHECKED_WITHIN_MS = 4_000;

export interface ReceivedMessagesParts extends AcquirerSwitchOptions {
  readonly keys: KeyExchange | undefined;
  readonly fieldsOf: (message: IsoMessage) => StandardFields;
  readonly approvals: RecentApprovals;
  /** By then every request that is in flight now will have been decided. */
  readonly decidedAfterMs: number;
  readonly signOnAgain: (connectionId: string) => void;
  readonly reportFault: ReportFault;
}

/**
 * What the messages of one switch report besides outcomes: whether the keys still match, the switch's business date,
 * and late responses. No request waits for any of it.
 */
export class ReceivedMessages {
  readonly #parts: ReceivedMessagesParts;
  readonly #macs: MacWatch;
  readonly #settlement: SettlementWatch;
  readonly #unmatched: UnmatchedIntake;

  constructor(parts: ReceivedMessagesParts) {
    this.#parts = parts;
    this.#macs = new MacWatch((connectionId) => {
      parts.keys?.distrust();
      parts.signOnAgain(connectionId);
    });
    this.#settlement = new SettlementWatch({ ...parts, isTrusted: (message) => this.#isTrustedNow(message) });
    this.#unmatched = new UnmatchedIntake({
      ...parts,
      judge: (response, connectionId) => this.#judge(response, connectionId),
    });
  }

  /** Only increases. */
  get badMacs(): number {
    return this.#macs.bad;
  }

  get unmatchedCounters(): Readonly<UnmatchedCounters> {
    return { ...this.#unmatched.counters };
  }

  /** A response to a request in flight. Rejects if its MAC is not checked in time: it then decides nothing. */
  async noteResponse(response: IsoMessage, connectionId: string): Promise<void> {
    const judged = this.#judge(response, connectionId);
    await (this.#parts.config.macKeys === undefined ? judged : within(CHECKED_WITHIN_MS, judged));
    if (isTrusted(response)) this.#settlement.noteResponse(response);
  }

  /** A response to no request in flight. */
  takeUnmatched(response: IsoMessage, connectionId: string): void {
    this.#unmatched.take(response, connectionId);
  }

  /** A request that the switch sent on its own initiative. */
  noteRequest(request: IsoMessage): void {
    this.#settlement.noteRequest(request).catch(this.#parts.reportFault);
  }

  /** Resolves when late responses whose MAC was being checked are on their way to the database. */
  close(): Promise<void> {
    return this.#unmatched.close();
  }

  forget(connectionId: string): void {
    this.#macs.forget(connectionId);
  }

  async #judge(response: IsoMessage, connectionId: string): Promise<void> {
    await this.#isTrustedNow(response);
    if (this.#parts.config.macKeys !== undefined) this.#macs.note(connectionId, macVerdictOf(response));
  }

  /** Also checks keys that arrived after the message was read. */
  async #isTrustedNow(message: IsoMessage): Promise<boolean> {
    const { keys } = this.#parts;
    if (keys) return keys.isTrusted(message);
    await judgeMac(message);
    return isTrusted(message);
  }
}
