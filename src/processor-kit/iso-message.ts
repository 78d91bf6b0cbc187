/**
 * The contract between Tapwire and a processor type: one folder whose default export is `defineProcessor({ ... })`.
 *
 * A processor is pure and stateless. It takes values (a purchase, a response) and returns values (a message, an
 * outcome). Sockets, clocks, counters, keys and storage belong to the gateway. It answers four questions:
 *
 *   how bytes look      `codec` (the field table, compiled), `framing` (the header), `match` (what pairs a response)
 *   what is sent        `authorization`, `reversal`, `refund`, `networkRequest`, `answerSwitchRequest`
 *   what a reply means  `readOutcome`: approved, declined, pinRequired or unknown; never a guess
 *   how the switch acts `profile` (data, not code), `readRequest` and `simulate` (the switch's side, for tests and
 *   load)
 */

/** A decoded ISO 8583 message: fields by name, text or bytes, composites nested. Its spec gives the exact type. */
export type IsoMessage = { mti: string } & Record<string, unknown>;

/** A message while it is being built. */
export type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
