import fc from 'fast-check';

/** Text of any UTF-16 code units, lone surrogates and control characters included. */
export function anyText(maxLength = 100): fc.Arbitrary<string> {
  const unit = fc.oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0xffff }));
  return fc.array(unit, { maxLength }).map((units) => String.fromCharCode(...units));
}
