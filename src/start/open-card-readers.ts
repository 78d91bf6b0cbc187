import { InstallationKeys } from '../card/installation-keys.ts';
import { ReadersInUse } from '../card/readers-in-use.ts';
import type { OpenedHsm } from '../hsm-devices/open-hsm.ts';
import type { ReaderFormats } from '../kits/reader-kit/load-readers.ts';
import type { Log } from '../observe/log.ts';
import type { TransactionDependencies } from '../payments/ports/transaction-dependencies.ts';
import type { ReaderRules } from '../payments/settings/check-reader.ts';
import { HsmCalls } from '../switching/hsm/hsm-calls.ts';
import type { Config } from './config.ts';
import type { Stores } from './open-stores.ts';
import { keyOwnershipOf } from './switch-access-of.ts';

/** What opens the card data of readers. */
export interface CardReaders {
  readonly keys: InstallationKeys;
  readonly readers: ReadersInUse;
}

export interface CardReaderParts {
  readonly config: Config;
  readonly formats: ReaderFormats;
  readonly stores: Pick<Stores, 'keys'>;
  readonly clock: TransactionDependencies['clock'];
  readonly hsm: OpenedHsm | undefined;
  readonly log: Log;
}

export function openCardReaders({ config, formats, stores, clock, hsm, log }: CardReaderParts): CardReaders {
  const { keys } = stores;
  const { verifyDukptMac, decipherDukpt } = hsm ?? {};
  const readerHsm =
    verifyDukptMac && decipherDukpt
      ? {
          hsm: { verifyDukptMac: verifyDukptMac.bind(hsm), decipherDukpt: decipherDukpt.bind(hsm) },
          calls: new HsmCalls({ purpose: 'card data', clock, log }),
        }
      : undefined;
  return {
    keys: new InstallationKeys({ keys, nowMs: Date.now, readerHsm }),
    readers: new ReadersInUse(readerRulesOf(config, formats)),
  };
}

/** Which formats and keys terminal profiles may name. */
export function readerRulesOf(config: Config, formats: ReaderFormats): ReaderRules {
  const ownership = keyOwnershipOf(config);
  return { formats, mayUse: (acquirerId, keyId) => ownership.mayUse(acquirerId, keyId) };
}
