/** Loaded before a gateway's own code (`NODE_OPTIONS=--import`): shifts its wall clock by CLOCK_OFFSET_MS. */
const offsetMs = Number(process.env.CLOCK_OFFSET_MS);
const RealDate = Date;

class ShiftedDate extends RealDate {
  constructor(...args: []) {
    if (args.length === 0) super(ShiftedDate.now());
    else super(...args);
  }

  static override now(): number {
    return RealDate.now() + offsetMs;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;
