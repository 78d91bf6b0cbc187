import type { IsoMessage } from './iso-message.ts';
import type { LocalStamp, OriginalData } from './purchase.ts';
import type { SwitchConfig } from './switch-config.ts';

/** The advice that an approved authorization is to be posted. */
export interface Completion extends LocalStamp {
  /** Of the authorization. */
  readonly original: OriginalData;
  /** What was approved: less than what was asked for after a partial approval. */
  readonly amountMinor: number;
  /** DE38 of the approval. */
  readonly authorizationCode?: string | undefined;
  /** From 1; later ones are repeats. */
  readonly attempt: number;
}

/**
 * How a switch with two messages is told that an approval is to be posted: by an advice, repeated on the schedule of
 * reversals until it is taken (ISO 8583:1987 4.4: an advice cannot be declined).
 */
export interface CompletionAdvice<Config extends SwitchConfig = SwitchConfig, Message extends IsoMessage = IsoMessage> {
  /** Whether this switch wants it; an approved authorization posts by itself otherwise. */
  isWanted(config: Config): boolean;
  build(completion: Completion, config: Config): Message;
  isAcknowledged(response: Message): boolean;
}
