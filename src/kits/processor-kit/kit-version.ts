/** What a processor that was written for an earlier version of the kit finds changed, and what replaces it. */

/**
 * The version of the kit. A processor states the one that it was written for (`kit: 2`). It grows when a processor that
 * worked can no longer be loaded, or means something else.
 */
export const PROCESSOR_KIT = 2;

/** Where the page of processors lists the changes. */
const PAGE = 'processors/README.md, "Versions of the kit", describes each change';

/** What any version of the kit may have asked of a definition. */
interface AnyDefinition {
  readonly kit?: unknown;
  readonly framing?: object | undefined;
  readonly mac?: object | undefined;
  readonly profile?: { readonly reversal?: object | undefined } | undefined;
}

interface KitChange {
  isOld(definition: AnyDefinition): boolean;
  readonly sentence: string;
}

/** Changes of version 2. Each is found in the definition, because processors of version 1 do not state a version. */
const CHANGES: readonly KitChange[] = [
  {
    isOld: ({ framing = {} }) => 'lengthBytes' in framing || 'lengthIncludesHeader' in framing,
    sentence:
      "framing.lengthBytes and framing.lengthIncludesHeader are replaced by framing.lengthHeader, such as 'binary-2' or 'binary-2-inclusive'",
  },
  {
    isOld: ({ framing = {} }) => 'transportHeader' in framing && framing.transportHeader instanceof Uint8Array,
    sentence: "framing.transportHeader is replaced by { kind: 'tpdu', bytes } or { kind: 'prefix', bytes }",
  },
  {
    isOld: ({ profile }) => ['acknowledged', 'unableToLocate'].some((name) => name in (profile?.reversal ?? {})),
    sentence:
      'profile.reversal.acknowledged and profile.reversal.unableToLocate are replaced by profile.reversal.codes, such as REVERSAL_CODES of the kit',
  },
  {
    isOld: ({ mac = {} }) => 'keyNumber' in mac,
    sentence: 'mac.keyNumber is replaced by mac.read, which returns the number and the MAC, and mac.macBytes is new',
  },
];

/** Why a definition does not fit this version of the kit, with what replaces each part; undefined if it does. */
export function kitFault(definition: AnyDefinition): string | undefined {
  const { kit } = definition;
  if (typeof kit === 'number' && kit > PROCESSOR_KIT) {
    return `kit: written for version ${kit} of the processor kit, this gateway has version ${PROCESSOR_KIT}. Install a later version of Tapwire`;
  }
  const sentences = CHANGES.filter(({ isOld }) => isOld(definition)).map(({ sentence }) => sentence);
  if (sentences.length === 0) return undefined;
  const version = typeof kit === 'number' ? `version ${kit}` : 'an earlier version';
  return `written for ${version} of the processor kit, this gateway has version ${PROCESSOR_KIT}: ${sentences.join('; ')}. ${PAGE}`;
}

/** Explains why an import from the kit failed. @param name what the kit does not export */
export function missingExport(name: string): string {
  return `imports ${name}, which version ${PROCESSOR_KIT} of the processor kit does not have: the name is wrong, or the processor was written for another version. ${PAGE}`;
}
