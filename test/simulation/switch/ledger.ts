/** One request for money as the switch knows it: a purchase or a refund. The only thing that is always true. */
export interface Booking {
  /** DE37 of the request. */
  readonly key: string;
  readonly transactionId: string;
  readonly amountMinor: number;
  /** `unknown`: the request never came. */
  state: 'unknown' | 'booked' | 'reversed';
  bookedMinor: number;
  /** Its approval is posted. */
  isCompleted: boolean;
}

/** What the switch has really booked and reversed, whatever it says about it. */
export class Ledger {
  readonly bookings = new Map<string, Booking>();

  /** A request that may come. */
  expect(key: string, transactionId: string, amountMinor: number): void {
    if (!this.bookings.has(key))
      this.bookings.set(key, { key, transactionId, amountMinor, state: 'unknown', bookedMinor: 0, isCompleted: false });
  }

  stateOf(key: string): Booking['state'] {
    return this.bookings.get(key)?.state ?? 'unknown';
  }

  /** A request has come. What was booked or reversed before is recognised as such. */
  book(key: string, bookedMinor: number): void {
    const booking = this.bookings.get(key)!;
    if (booking.state !== 'unknown') return;
    booking.state = 'booked';
    booking.bookedMinor = bookedMinor;
  }

  /** A reversal has come. One that finds nothing leaves no trace. */
  reverse(key: string): void {
    const booking = this.bookings.get(key);
    if (booking?.state === 'booked') booking.state = 'reversed';
  }

  /** A completion has come. One that comes behind a reversal posts what was taken back. */
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
