import type { ReadStream } from 'node:tty';
import { StartError } from '../../../basics/errors.ts';

/** Longer than any password or key component. */
const MOST_BYTES = 512;
const CTRL_C = 0x03;
const CTRL_D = 0x04;
const BACKSPACE = 0x08;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const DELETE = 0x7f;

/** How a ceremony speaks with a custodian. */
export interface CustodianTerminal {
  say(text: string): void;
  /** What the person types, shown. Only one question is asked at a time. */
  ask(question: string): Promise<string>;
  /** What the person types, not shown. The caller wipes it. */
  askHidden(question: string): Promise<Buffer>;
}

interface Question {
  readonly isShown: boolean;
  readonly typed: Buffer;
  length: number;
  readonly resolve: (line: Buffer) => void;
}

/**
 * The terminal of a person who types secrets. From the start to the end it echoes nothing on its own, not even what is
 * typed between questions. Node restores the terminal when the process ends or a signal ends it; after SIGKILL, `stty
 * sane` does.
 */
export class HiddenTerminal implements CustodianTerminal {
  readonly #input: ReadStream;
  readonly #onCancel: () => void;
  #question: Question | undefined;

  /**
   * @param onCancel called when the person presses Ctrl-C or Ctrl-D
   * @throws StartError BAD_CONFIG if standard input is a file or a pipe, which could keep what it contains
   */
  constructor(input: ReadStream, onCancel: () => void) {
    if (!input.isTTY)
      throw new StartError('BAD_CONFIG', 'Key components must be typed at a terminal, not read from a file or a pipe.');
    this.#input = input;
    this.#onCancel = onCancel;
    input.setRawMode(true);
    input.on('data', this.#onData);
    input.resume();
  }

  say(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  async ask(question: string): Promise<string> {
    return (await this.#read(question, true)).toString('utf8').trim();
  }

  askHidden(question: string): Promise<Buffer> {
    return this.#read(question, false);
  }

  /** Restores the terminal. A question that waits is never answered. */
  close(): void {
    this.#question?.typed.fill(0);
    this.#question = undefined;
    this.#input.off('data', this.#onData);
    this.#input.setRawMode(false);
    this.#input.pause();
  }

  #read(question: string, isShown: boolean): Promise<Buffer> {
    process.stderr.write(question);
    return new Promise((resolve) => {
      this.#question = { isShown, typed: Buffer.alloc(MOST_BYTES), length: 0, resolve };
    });
  }

  readonly #onData = (chunk: Buffer): void => {
    for (const code of chunk) {
      if (code === CTRL_C || code === CTRL_D) this.#onCancel();
      else this.#type(code);
    }
    chunk.fill(0);
  };

  #type(code: number): void {
    const question = this.#question;
    if (question === undefined) return;
    if (code === CARRIAGE_RETURN || code === LINE_FEED) {
      this.#question = undefined;
      process.stderr.write('\n');
      question.resolve(Buffer.from(question.typed.subarray(0, question.length)));
      question.typed.fill(0);
    } else if (code === BACKSPACE || code === DELETE) {
      if (question.length === 0) return;
      question.typed[--question.length] = 0;
      if (question.isShown) process.stderr.write('\b \b');
    } else if (code >= SPACE && question.length < MOST_BYTES) {
      question.typed[question.length++] = code;
      if (question.isShown) process.stderr.write(Buffer.of(code));
    }
  }
}
