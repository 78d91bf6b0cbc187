/** One financial request in the books of the switch: a purchase or a refund. The only record that is always true. */
export interface Booking {
  /** DE37 of the request. */
  readonly key: string;
  readonly transactionId: string;
  readonly amountMinor: number;
  /** `unknown`: the request never arrived. */
  state: 'unknown' | 'booked' | 'reversed';
  bookedMinor: number;
  /** Its approval is posted. */
  isCompleted: boolean;
}

/** What the switch has really booked and reversed, regardless of its responses. */
export class Ledger {
  readonly bookings = new Map<string, Booking>();

  /** A request that may arrive. */
  expect(key: string, transactionId: string, amountMinor: number): void {
    if (!this.bookings.has(key))
      this.bookings.set(key, { key, transactionId, amountMinor, state: 'unknown', bookedMinor: 0, isCompleted: false });
  }

  stateOf(key: string): Booking['state'] {
    return this.bookings.get(key)?.state ?? 'unknown';
  }

  /** A request has arrived. One that was booked or reversed before is recognized. */
  book(key: string, bookedMinor: number): void {
    const booking = this.bookings.get(key)!;
    if (booking.state !== 'unknown') return;
    booking.state = 'booked';
    booking.bookedMinor = bookedMinor;
  }

  /** A reversal has arrived. One without an original leaves no trace. */
  reverse(key: string): void {
    const booking = this.bookings.get(key);
    if (booking?.state === 'booked') booking.state = 'reversed';
  }

  /** A completion has arrived. One after a reversal posts the reversed amount. */
  complete(key: string): void {
    const booking = this.bookings.get(key);
    if (!booking || booking.state === 'unknown') return;
    booking.state = 'booked';
    booking.isCompleted = true;
  }

  copyTo(copy: Ledger): void {
    for (const [key, booking] of this.bookings) copy.bookings.set(key, { ...booking });
  }
}
