/** `message` is the code, followed by fixed words on what is wrong and where. */
export abstract class TapwireError<Code extends string = string> extends Error {
  readonly code: Code;
  /** True when the same call may succeed later without a change by the caller. */
  readonly retryable: boolean = false;

  constructor(code: Code, words?: string, options?: ErrorOptions) {
    super(words === undefined ? code : `${code}: ${words}`, options);
    this.code = code;
  }

  override get name(): string {
    return this.constructor.name;
  }
}

/** An error that the user of a command can fix: shown as it is, without a stack. */
export abstract class UserFixableError<Code extends string> extends TapwireError<Code> {
  /** A sentence that names the cause. */
  readonly reason: string;

  constructor(code: Code, reason: string, options?: ErrorOptions) {
    super(code, reason, options);
    this.reason = reason;
  }
}

/** What an error says, without its code: a person reads the sentence. */
export function sentenceOf({ code, message }: TapwireError): string {
  return message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message;
}
