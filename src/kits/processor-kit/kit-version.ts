/**
 * The version of the kit. A processor states the one that it was written for (`kit: 1`). It grows when a processor that
 * worked can no longer be loaded, or means something else.
 */
export const PROCESSOR_KIT = 1;

/** Where the page of processors describes the versions. */
const PAGE = 'processors/README.md, "Versions of the kit", describes each version';

/** Why a definition does not fit this version of the kit; undefined if it does. */
export function kitFault({ kit }: { readonly kit: number }): string | undefined {
  if (kit === PROCESSOR_KIT) return undefined;
  if (kit > PROCESSOR_KIT)
    return `kit: written for version ${kit} of the processor kit, this gateway has version ${PROCESSOR_KIT}. Install a later version of Tapwire`;
  return `kit: must be ${PROCESSOR_KIT}, the version of the processor kit that it was written for. ${PAGE}`;
}

/** Explains why an import from the kit failed. @param name what the kit does not export */
export function missingExport(name: string): string {
  return `imports ${name}, which version ${PROCESSOR_KIT} of the processor kit does not have: the name is wrong, or the processor was written for another version. ${PAGE}`;
}
