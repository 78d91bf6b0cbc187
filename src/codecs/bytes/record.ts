/** A plain object that is filled by name, in the order in which its values are read. */
export type PlainRecord = Record<string, unknown>;

/** V8 fixes the object size of a constructor at the largest of its first seven objects. */
const OBJECTS_TO_SETTLE = 8;

const SMALL = settledConstructor(8);
const MEDIUM = settledConstructor(16);
const LARGE = settledConstructor(32);
const HUGE = settledConstructor(64);

/**
 * An empty plain object with space for about `expected` values.
 *
 * An object literal with computed names becomes a hash table at its 17th name: 54 ns per value, and slow to read.
 * These objects keep their values inline, so equal sequences of names share a hidden class: 13 ns per value (bench:
 * iso8583, "records"). More values than expected cost only a second allocation.
 */
export function newRecord(expected: number): PlainRecord {
  if (expected <= 16) return expected <= 8 ? new SMALL() : new MEDIUM();
  return expected <= 32 ? new LARGE() : new HUGE();
}

type RecordConstructor = new () => PlainRecord;

function settledConstructor(slots: number): RecordConstructor {
  const PlainObject = plainConstructor();
  for (let object = 0; object < OBJECTS_TO_SETTLE; object++) {
    const record = new PlainObject();
    for (let slot = 0; slot < slots; slot++) record[`slot${slot}`] = undefined;
  }
  return PlainObject;
}

/** V8 reserves at most as much space as the source of a constructor has assignments; these are never executed. */
function plainConstructor(): RecordConstructor {
  const PlainObject = function (this: PlainRecord, isNeverSet?: true): void {
    if (isNeverSet === undefined) return;
    this.a0 = this.a1 = this.a2 = this.a3 = this.a4 = this.a5 = this.a6 = this.a7 = undefined;
    this.b0 = this.b1 = this.b2 = this.b3 = this.b4 = this.b5 = this.b6 = this.b7 = undefined;
    this.c0 = this.c1 = this.c2 = this.c3 = this.c4 = this.c5 = this.c6 = this.c7 = undefined;
    this.d0 = this.d1 = this.d2 = this.d3 = this.d4 = this.d5 = this.d6 = this.d7 = undefined;
    this.e0 = this.e1 = this.e2 = this.e3 = this.e4 = this.e5 = this.e6 = this.e7 = undefined;
    this.f0 = this.f1 = this.f2 = this.f3 = this.f4 = this.f5 = this.f6 = this.f7 = undefined;
    this.g0 = this.g1 = this.g2 = this.g3 = this.g4 = this.g5 = this.g6 = this.g7 = undefined;
    this.h0 = this.h1 = this.h2 = this.h3 = this.h4 = this.h5 = this.h6 = this.h7 = undefined;
  };
  PlainObject.prototype = Object.prototype;
  return PlainObject as unknown as RecordConstructor;
}
