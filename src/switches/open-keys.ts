import { CryptoError, ProcessorError, StartError } from '../errors.ts';
import { keyExchangeFaults } from '../processor-kit/key-change.ts';
import type { MacKeys } from '../processor-kit/mac-rule.ts';
import { messageCodec } from '../processor-kit/message-codec.ts';
import type { Processor, SwitchConfig } from '../processor-kit/processor.ts';
import { KeyExchange, type KeyExchangeOptions } from './key-exchange.ts';
import type { ExchangedKeys } from './ports.ts';
import { type KeyStore, WorkingKeys } from './working-keys.ts';

/** A line that is to be authenticated and cannot be must not open: every message on it would be refused, or trusted. */
export function checkMacKeys(
  processor: Processor,
  config: SwitchConfig,
  macKeys: MacKeys | undefined,
  where: string,
): void {
  if (config.macKeys !== undefined && macKeys === undefined) {
    const remedy = 'set HSM_MODULE, or in dev and qa HSM_KEYS_FILE';
    throw new StartError('BAD_PROCESSOR', `${where}: it wants MACs, and there is no HSM that has the keys: ${remedy}`);
  }
  try {
    messageCodec(processor, config, macKeys);
  } catch (error) {
    if (error instanceof CryptoError) {
      const ids = config.macKeys?.map(({ keyId }) => keyId).join(', ');
      throw new StartError('BAD_PROCESSOR', `${where}: the HSM refuses a key of macKeys (${ids}): ${error.message}`);
    }
    if (error instanceof ProcessorError) throw new StartError('BAD_PROCESSOR', `${where}: ${error.reason}`);
    throw error;
  }
}

/** What exchanged keys need of the installation. */
export interface KeyExchangeParts {
  readonly hsm: KeyStore;
  readonly kept: ExchangedKeys;
}

/**
 * Takes up the exchanged keys of one switch where its workers have left them; undefined where it exchanges none.
 *
 * @param parts undefined when the installation has no HSM
 * @throws StartError BAD_PROCESSOR naming what does not go together, or the transport key that is not there
 */
export async function openKeyExchange(
  parts: KeyExchangeParts | undefined,
  options: Omit<KeyExchangeOptions, 'keyChange' | 'config' | 'keys' | 'kept' | 'isAccepted'> & {
    readonly processor: Processor;
    readonly config: SwitchConfig;
  },
  name: string,
): Promise<KeyExchange | undefined> {
  const { processor, config, where, monotonicMs, log } = options;
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
  const onError = (error: unknown) =>
    log.warn(
      { ...where, reason: error instanceof CryptoError ? error.code : 'unknown' },
      'an exchanged key is of no use',
    );
  const keys = await WorkingKeys.open({ ...parts, where, processor, config, monotonicMs, onError });
  const isAccepted = (answer: Parameters<Processor['isNetworkAccepted']>[0]) => processor.isNetworkAccepted(answer);
  return new KeyExchange({ ...options, ...parts, keyChange, config: { ...config, keyExchange }, keys, isAccepted });
}
