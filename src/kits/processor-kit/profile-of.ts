import { PlugInError } from '../../basics/errors.ts';
import { fromHex } from '../../codecs/bytes/hex.ts';
import { terminalScopeFault } from './message-identity.ts';
import type { Framing, Processor } from './processor.ts';
import type { ProcessorProfile } from './profile.ts';
import type { SwitchConfig } from './switch-config.ts';

/**
 * The profile of one switch: the profile of its type, with the overrides of its configuration. A configuration of an
 * earlier version may count STANs per terminal although two terminals could share a reference: they are counted for the
 * acquirer, which is stricter, so that the switch stays in use.
 */
export function profileOf<Config extends SwitchConfig>(processor: Processor<Config>, config: Config): ProcessorProfile {
  const { overtakingGuardSeconds, reversalDelaysSeconds, reversalGiveUpAfterSeconds, ...numbers } =
    config.profile ?? {};
  const schedule = { delaysSeconds: reversalDelaysSeconds, giveUpAfterSeconds: reversalGiveUpAfterSeconds };
  const { reversal } = processor.profile;
  const isTooNarrow = numbers.stanScope === 'terminal' && terminalScopeFault(processor, config) !== undefined;
  return {
    ...processor.profile,
    ...definedOnly(numbers),
    ...(isTooNarrow && { stanScope: 'acquirer' }),
    reversal: { ...reversal, ...definedOnly({ overtakingGuardSeconds, ...schedule }) },
  };
}

/**
 * The framing of one switch: the framing of its type, with the transport header of its configuration.
 *
 * @throws PlugInError `PLUG_IN_INVALID` if that header's length differs from the dialect's
 */
export function framingOf(processor: Pick<Processor, 'framing' | 'type'>, config: SwitchConfig): Framing {
  const { framing } = processor;
  const { transportHeader } = framing;
  const bytes = fromHex(config.transportHeader ?? '');
  if (config.transportHeader !== undefined && bytes.length !== (transportHeader?.bytes.length ?? 0)) {
    throw new PlugInError('PLUG_IN_INVALID', `${processor.type}: transportHeader must be as long as the dialect’s`);
  }
  return bytes.length === 0 ? framing : { ...framing, transportHeader: { ...transportHeader!, bytes } };
}

function definedOnly<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}
