import { CryptoError, KeyExchangeError, PlugInError, StartError } from '../../basics/errors.ts';
import { namesOfMac } from '../../codecs/crypto/mac.ts';
import { keyExchangeFaults } from '../../kits/processor-kit/key-change.ts';
import { macMethodOf } from '../../kits/processor-kit/message-codec.ts';
import type { MessageStamp, Processor, SwitchConfig } from '../../kits/processor-kit/processor.ts';
import type { ConnectionLog } from '../connection/pool-types.ts';
import { hsmCodec, type MacHsm, tryMacKey } from './hsm-codec.ts';
import { KeyExchange } from './key-exchange.ts';
import { codeOf, KeyFaults } from './key-requests.ts';
import type { ExchangedKeys, ProcessorKey } from './ports.ts';
import { type KeyStore, WorkingKeys } from './working-keys.ts';

/** A connection that requires authentication must not open without it: every message would be refused, or trusted. */
export async function checkMacKeys(
  processor: Processor,
  config: SwitchConfig,
  hsm: MacHsm | undefined,
  where: string,
): Promise<void> {
  if (config.macKeys !== undefined && hsm === undefined) {
    const remedy = 'set HSM_MODULE, or in dev and qa HSM_KEYS_FILE';
    throw new StartError('BAD_PROCESSOR', `${where}: it wants MACs, and there is no HSM that has the keys: ${remedy}`);
  }
  try {
    hsmCodec(processor, config, hsm);
    for (const { keyId } of config.macKeys ?? []) await tryMacKey(processor, config, hsm!, keyId);
  } catch (error) {
    if (error instanceof CryptoError) {
      const ids = config.macKeys?.map(({ keyId }) => keyId).join(', ');
      const algorithm = processor.mac && namesOfMac(macMethodOf(processor.mac, config)).join(' or ');
      throw new StartError(
        'BAD_PROCESSOR',
        `${where}: the HSM refuses a key of macKeys (${ids}) for ${algorithm}: ${error.message}`,
      );
    }
    if (error instanceof PlugInError) throw new StartError('BAD_PROCESSOR', `${where}: ${error.reason}`);
    throw error;
  }
}

/** Dependencies of exchanged keys. */
export interface KeyExchangeParts {
  readonly hsm: KeyStore;
  readonly kept: ExchangedKeys;
}

/** The switch that owns the keys. */
export interface KeyExchangeOwner extends ProcessorKey {
  readonly processor: Processor;
  readonly config: SwitchConfig;
  readonly clock: { readonly monotonicMs: () => number };
  readonly log: ConnectionLog;
  /** Undefined if the installation has no HSM. */
  readonly keyExchange: KeyExchangeParts | undefined;
}

/**
 * Loads the exchanged keys of one switch as its workers have left them; undefined if it exchanges none.
 *
 * @param nextStamp for the gateway's requests for keys
 * @throws StartError BAD_PROCESSOR naming the settings that conflict, or the missing transport key
 */
export async function openKeyExchange(
  { acquirerId, processorId, processor, config, clock, log, keyExchange: parts }: KeyExchangeOwner,
  nextStamp: () => MessageStamp,
  name: string,
): Promise<KeyExchange | undefined> {
  const { keyExchange } = config;
  if (!keyExchange) return undefined;
  const { keyChange } = processor;
  const [fault] = keyExchangeFaults(processor, config);
  if (fault || !keyChange) throw new StartError('BAD_PROCESSOR', `${name}: keyExchange: ${fault}`);
  if (!parts) throw new StartError('BAD_PROCESSOR', `${name}: it exchanges keys, and there is no HSM to take them`);
  await parts.hsm.kcv(keyExchange.transportKeyId).catch((cause: Error) => {
    const { transportKeyId } = keyExchange;
    throw new StartError(
      'BAD_PROCESSOR',
      `${name}: the HSM refuses transportKeyId (${transportKeyId}): ${cause.message}`,
    );
  });
  const where = { acquirerId, processorId };
  const faults = new KeyFaults({ where, monotonicMs: clock.monotonicMs, log });
  const onError = (cause: unknown) =>
    faults.record(new KeyExchangeError('NOT_IMPORTED', { cause, detail: codeOf(cause) }));
  const shared = { ...parts, where, monotonicMs: clock.monotonicMs };
  const keys = await WorkingKeys.open({ ...shared, processor, config, onError });
  const isAccepted = (response: Parameters<Processor['isNetworkAccepted']>[0]) => processor.isNetworkAccepted(response);
  const changing = { keyChange, config: { ...config, keyExchange }, keys, isAccepted };
  return new KeyExchange({ ...shared, ...changing, nextStamp, log, faults });
}
