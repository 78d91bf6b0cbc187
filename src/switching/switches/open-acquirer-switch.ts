import { terminalScopeFault } from '../../kits/processor-kit/message-identity.ts';
import { AcquirerSwitch } from './acquirer-switch.ts';
import type { AcquirerSwitchOptions } from './acquirer-switch-options.ts';
import type { KeyExchange } from './key-exchange.ts';
import { checkMacKeys, openKeyExchange } from './open-keys.ts';
import { NetworkStans } from './switch-slot.ts';
import { checkPinKeys } from './translate-pin.ts';
import { checkTransport, openTransportOptions } from './transport-options.ts';

/**
 * Opens an acquirer's switch: checks its configuration, loads its exchanged keys, and reserves its STANs.
 *
 * @throws StartError BAD_PROCESSOR if keys, files or addresses in the configuration are not available
 */
export async function openAcquirerSwitch(options: AcquirerSwitchOptions): Promise<AcquirerSwitch> {
  const { acquirerId, processorId, processor, config, macs, pins, stans, dates } = options;
  const where = `processor ${processorId} of acquirer ${acquirerId} (${processor.type})`;
  checkTransport(processor, config, where);
  options.access.check(acquirerId, config, where);
  await checkMacKeys(processor, config, macs, where);
  await checkPinKeys(pins, config.pinKey, where);
  const narrow = config.profile?.stanScope === 'terminal' ? terminalScopeFault(processor, config) : undefined;
  if (narrow !== undefined)
    options.log.warn(
      { acquirerId, processorId, reason: narrow },
      'profile.stanScope terminal is not obeyed, STANs are counted for the acquirer',
    );
  const scope = { acquirerId, tid: `network ${processorId}` };
  const transport = await openTransportOptions(config, where, options);
  let keys: KeyExchange | undefined;
  try {
    let networkStans: NetworkStans | undefined;
    // No key is requested before there is a connection.
    const nextStamp = () => ({ stan: networkStans!.next(), sentAtMs: options.clock.nowMs() });
    keys = await openKeyExchange(options, nextStamp, where);
    // STANs are reserved last, because a processor that cannot be opened is retried again and again.
    networkStans = await NetworkStans.open(async () => (await stans.next(scope, dates.current(acquirerId)))?.stan);
    return new AcquirerSwitch(options, { networkStans, transport, keys });
  } catch (fault) {
    transport.accept?.server.close();
    transport.tls?.close();
    keys?.close();
    throw fault;
  }
}
