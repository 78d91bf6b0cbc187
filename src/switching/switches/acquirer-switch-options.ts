import type { Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import type { SwitchRevision } from '../../payments/model/switch-revision.ts';
import type { Clock } from '../../payments/ports/transaction-dependencies.ts';
import type { ConnectionLog } from '../connection/pool-types.ts';
import type { SwitchAccess } from './access/switch-access.ts';
import type { MacHsm } from './hsm-codec.ts';
import type { KeyExchangeParts } from './key-exchange.ts';
import type { BusinessDates, MessageKeeper, Stans } from './ports.ts';
import type { PinTranslation } from './translate-pin.ts';
import type { UnmatchedResponses } from './unmatched-responses.ts';

export interface AcquirerSwitchOptions {
  readonly acquirerId: number;
  readonly processorId: number;
  readonly processor: Processor;
  readonly config: SwitchConfig;
  /** Of the configuration; undefined if the switch has never changed. */
  readonly revision?: SwitchRevision | undefined;
  readonly stans: Stans;
  readonly dates: BusinessDates;
  readonly unmatchedResponses: Pick<UnmatchedResponses, 'take' | 'lookUpAll'>;
  readonly messages: MessageKeeper;
  /** The HSM that authenticates messages; undefined if the installation has none. */
  readonly macs: MacHsm | undefined;
  readonly pins: PinTranslation | undefined;
  /** The key exchange with the switch, whose keys are in the HSM; undefined if none was agreed. */
  readonly keyExchange: KeyExchangeParts | undefined;
  /** Which parts of the machine, its network and its HSM acquirers may use. */
  readonly access: SwitchAccess;
  readonly clock: Clock;
  readonly log: ConnectionLog;
}
