import type { IsoMessage } from './iso-message.ts';
import type { LocalStamp, OriginalData } from './purchase.ts';
import type { SwitchConfig } from './switch-config.ts';

/** The advice that an approved authorization must be posted. */
export interface Completion extends LocalStamp {
  /** The original data of the authorization. */
  readonly original: OriginalData;
  /** The approved amount: less than the requested one after a partial approval. */
  readonly amountMinor: number;
  /** DE38 of the approval. */
  readonly authorizationCode?: string | undefined;
  /** From 1; later ones are repeats. */
  readonly attempt: number;
}

/**
 * How a switch with two messages learns that an approval must be posted: an advice, repeated on the schedule of
 * reversals until it is accepted (ISO 8583:1987 4.4: an advice cannot be declined).
 */
export interface CompletionAdvice<Config extends SwitchConfig = SwitchConfig, Message extends IsoMessage = IsoMessage> {
  /** Whether this switch requires it; otherwise an approved authorization posts automatically. */
  isWanted(config: Config): boolean;
  build(completion: Completion, config: Config): Message;
  isAcknowledged(response: Message): boolean;
}
