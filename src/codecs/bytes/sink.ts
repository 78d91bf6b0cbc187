/** A writing position in bytes. `position` moves; nothing is written at or after `end`. */
export class Sink {
  readonly target: Uint8Array;
  /** Where the message begins. */
  readonly origin: number;
  readonly end: number;
  position: number;

  constructor(target: Uint8Array, offset: number, end: number) {
    this.target = target;
    this.origin = offset;
    this.position = offset;
    this.end = end;
  }
}
