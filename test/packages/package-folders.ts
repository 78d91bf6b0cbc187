/** The packages that others install, by name: the folder of each with its package.json. */
export const PACKAGES = {
  '@tapwire/emv-tlv': 'src/codecs/emv/package',
  '@tapwire/iso8583': 'src/codecs/iso8583/package',
  '@tapwire/processor-kit': 'src/kits/processor-kit/package',
  '@tapwire/client': 'schemas/package',
  tapwire: 'src/package',
} as const;

export type PackageName = keyof typeof PACKAGES;
