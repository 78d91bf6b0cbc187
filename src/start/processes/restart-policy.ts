/** A process that has run for this long was sound: its end says nothing about the next one. */
const SOUND_AFTER_MS = 60_000;
const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
/**
 * After nine short lives in a row, of which the delays alone take two minutes, another start cures nothing. The whole group then ends, because the
 * program above it (Kubernetes, systemd, Docker) shows a crash loop to people and starts it again later.
 */
export const MOST_SHORT_LIVES = 8;

/** Decides when a process that has ended unexpectedly is replaced. */
export class RestartPolicy {
  #shortLives = 0;

  /** @returns the delay before the replacement starts, or `giveUp` */
  onEnd(livedMs: number): number | 'giveUp' {
    if (livedMs >= SOUND_AFTER_MS) {
      this.#shortLives = 0;
      return 0;
    }
    this.#shortLives++;
    if (this.#shortLives > MOST_SHORT_LIVES) return 'giveUp';
    return Math.min(FIRST_DELAY_MS * 2 ** (this.#shortLives - 1), LONGEST_DELAY_MS);
  }
}
